package model

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
	"github.com/siftkv/sift/sstable"
)

// A sizer says how large a table is. It writes samples with the real writer, since
// what a block, its compression and a shared prefix make of an entry is in no
// formula, and keeps what they said. It is for one goroutine.
type sizer struct {
	c     *Config
	fixed float64        // bytes of a table beside its entries and its filter
	known map[int]sample // by the logarithm of the keys in all the range
}

// A sample is what neighbours in a table take, without the filter.
type sample struct {
	perEntry float64 // bytes of the file
	// ahead is by how much less than its limit a table's entries take when it ends: a
	// block that is being filled is not compressed yet, and counts as it is.
	ahead float64
}

func newSizer(c *Config) (*sizer, error) {
	info, _, err := c.writeSample(1, 1)
	if err != nil {
		return nil, err
	}
	return &sizer{c: c, fixed: float64(info.Size - info.TailOff), known: make(map[int]sample)}, nil
}

// sampleOf returns the sample of a table where the whole range of keys holds so
// many: the more there are, the more two neighbours have in common.
func (s *sizer) sampleOf(keys float64) sample {
	const step = 2 // four times as many keys
	at := math.Log2(max(keys, 1)) / step
	low := math.Floor(at)
	below, above := s.sample(int(low)*step), s.sample((int(low)+1)*step)
	return sample{
		perEntry: below.perEntry + (at-low)*(above.perEntry-below.perEntry),
		ahead:    below.ahead + (at-low)*(above.ahead-below.ahead),
	}
}

func (s *sizer) sample(log int) sample {
	known, ok := s.known[log]
	if ok {
		return known
	}
	keys := math.Exp2(float64(log))
	n := min(max(int(min(sampleBytes/s.c.pairBytes(), keys/2)), sampleLeast), sampleMost)
	info, estimates, err := s.c.writeSample(n, keys)
	if err != nil {
		panic("BUG: a table was written before with the same options: " + err.Error())
	}
	known.perEntry = (float64(info.Size) - s.fixed) / float64(n)
	known.ahead = ahead(estimates, known.perEntry)
	s.known[log] = known
	return known
}

// ahead returns the mean, over all limits between a quarter and all of a table, of the
// limit less the bytes of the entries that were in the table when it was taken to be
// as large.
func ahead(estimates []int64, perEntry float64) float64 {
	var sum, limits float64
	reached := float64(estimates[len(estimates)/4])
	for i, size := range estimates {
		if most := float64(size); most > reached {
			limit := (reached + most) / 2
			sum += (most - reached) * (limit - perEntry*float64(i+1))
			limits += most - reached
			reached = most
		}
	}
	return sum / max(limits, 1)
}

// Sizes of a sample: some hundred blocks.
const (
	sampleBytes = 512 << 10
	sampleLeast = 16
	sampleMost  = 8192
)

// bytes returns the size of a table of so many entries from a range that holds so
// many keys.
func (s *sizer) bytes(entries, keys float64) int64 {
	return int64(entries*s.sampleOf(keys).perEntry + s.fixed + s.filter(entries))
}

// filter returns the bytes of a table's filter in the file.
func (s *sizer) filter(entries float64) float64 {
	if s.c.BitsPerKey == 0 || entries < 1 {
		return 0
	}
	const blockTrailer = 5
	size, err := bloom.FilterSize(bloom.Blocked, uint64(entries+0.5), s.c.BitsPerKey)
	if err != nil {
		return entries * s.c.BitsPerKey / 8 // it is too large for any machine
	}
	return float64(size) + blockTrailer
}

// writeSample writes neighbours out of a range of so many random keys. It also
// returns how large the writer took the table for after each of them.
func (c *Config) writeSample(n int, keys float64) (info sstable.Info, estimates []int64, err error) {
	f, err := vfs.NewMem().Create("sample")
	if err != nil {
		return info, nil, err
	}
	w := sstable.NewWriter(f, sstable.WriterOptions{
		ID: 1, BlockSize: c.BlockSize, RestartInterval: sstable.DefaultRestartInterval, Compression: sstable.Snappy,
	})
	rng := rand.New(rand.NewPCG(1, 2))
	var k, value []byte
	gap := math.Ldexp(1, 64) / max(keys, 2*float64(n)) // half of the range at most
	at := 0.0
	for range n {
		at += max(1, gap*rng.ExpFloat64())
		k = c.appendKey(k[:0], uint64(at), rng)
		value = c.appendValue(value[:0], rng)
		seq := 1 + rng.Uint64N(uint64(keys)+1)
		if err := w.Add(key.Make(k, seq, key.Set), value); err != nil {
			return info, nil, fmt.Errorf("model: sample of a table: %w", err)
		}
		estimates = append(estimates, w.EstimatedSize())
	}
	if info, err = w.Finish(); err != nil {
		return info, nil, fmt.Errorf("model: sample of a table: %w", err)
	}
	return info, estimates, f.Close()
}

// appendKey appends a key: a number, in digits if they fit, and then chance.
func (c *Config) appendKey(dst []byte, x uint64, rng *rand.Rand) []byte {
	start := len(dst)
	number := binary.BigEndian.AppendUint64(nil, x)
	if c.KeySize >= 2*len(number) {
		dst = hex.AppendEncode(dst, number)
	} else {
		dst = append(dst, number...)
	}
	const digits = "0123456789abcdef"
	for len(dst)-start < c.KeySize {
		dst = append(dst, digits[rng.Uint64()&15])
	}
	return dst
}

// appendValue appends a value that repeats itself after the share of it that
// compression leaves.
func (c *Config) appendValue(dst []byte, rng *rand.Rand) []byte {
	start := len(dst)
	fresh := int(math.Ceil(c.ValueRatio * float64(c.ValueSize)))
	for len(dst)-start < fresh {
		dst = binary.LittleEndian.AppendUint64(dst, rng.Uint64())
	}
	dst = dst[:start+fresh]
	for len(dst)-start < c.ValueSize {
		dst = append(dst, dst[len(dst)-fresh])
	}
	return dst
}
