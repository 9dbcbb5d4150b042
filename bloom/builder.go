package bloom

import (
	"errors"
	"fmt"
	"math"
)

// MaxBitsPerKey is the largest number of bits per key that a Builder accepts.
const MaxBitsPerKey = 64

// chunkLen is the number of hashes that a Builder allocates at once. Chunks are
// never copied, so that a large set costs no more than 8 bytes a key.
const chunkLen = 8 << 10

// A Builder collects the hashes of a set's keys and encodes a filter for
// exactly that many. It is not safe for use by several goroutines.
//
// Until Finish a Builder holds 8 bytes a key; see [Builder.PeakMemory].
type Builder struct {
	kind       Kind
	bitsPerKey float64

	full [][]uint64 // chunks of chunkLen hashes
	cur  []uint64   // the chunk being filled
	last uint64     // the hash added last, if any was
}

// NewBuilder returns a Builder of filters with bitsPerKey bits for each key. It
// refuses an unknown kind and a number that is NaN, zero, negative or above
// [MaxBitsPerKey].
func NewBuilder(kind Kind, bitsPerKey float64) (*Builder, error) {
	if kind >= numKinds {
		return nil, fmt.Errorf("bloom: no filter of %v", kind)
	}
	if !(bitsPerKey > 0 && bitsPerKey <= MaxBitsPerKey) {
		return nil, fmt.Errorf("bloom: %v bits per key, want more than 0 and at most %d", bitsPerKey, MaxBitsPerKey)
	}
	return &Builder{kind: kind, bitsPerKey: bitsPerKey}, nil
}

// Add adds a key by its hash. A hash equal to the one before it is dropped: the
// versions of one key are neighbours in a sorted table.
func (b *Builder) Add(h uint64) {
	if h == b.last && len(b.cur) > 0 {
		return
	}
	if len(b.cur) == cap(b.cur) {
		b.grow()
	}
	b.cur = append(b.cur, h)
	b.last = h
}

// AddKey adds a key. It does not keep it.
func (b *Builder) AddKey(key []byte) { b.Add(Hash(key)) }

func (b *Builder) grow() {
	if len(b.cur) > 0 {
		b.full = append(b.full, b.cur)
	}
	b.cur = make([]uint64, 0, chunkLen)
}

// Len returns the number of keys added since the last Finish, adjacent
// duplicates counted once.
func (b *Builder) Len() int { return len(b.full)*chunkLen + len(b.cur) }

// Finish returns the encoded filter of all keys added since the last Finish and
// makes the Builder ready for the next set. A set without keys is valid: its
// filter says "no" to everything. The caller owns the result, which begins on a
// cache line.
func (b *Builder) Finish() ([]byte, error) {
	data, err := b.encode()
	b.full, b.cur = nil, b.cur[:0]
	return data, err
}

func (b *Builder) encode() ([]byte, error) {
	h := header{kind: b.kind, n: uint64(b.Len()), designN: uint64(b.Len())}
	var size uint64
	switch b.kind {
	case Blocked:
		h.scheme, h.probes = schemeChain32, blockedProbes(b.bitsPerKey)
		h.units = blockedLines(h.n, b.bitsPerKey)
		size = h.units * lineBytes
	case Classic:
		h.scheme, h.probes = schemeChain64, classicProbes(b.bitsPerKey)
		h.units = classicBits(h.n, b.bitsPerKey)
		size = h.units / 8
	}
	if size > math.MaxInt-headerSize-lineBytes {
		return nil, errors.New("bloom: filter is larger than memory")
	}
	h.designRate = h.rate()
	data := Alloc(headerSize + int(size))
	body := data[headerSize:]
	b.each(func(hashes []uint64) {
		if b.kind == Blocked {
			addBlockedGo(body, h.probes, hashes)
		} else {
			addClassic(body, h.units, h.probes, hashes)
		}
	})
	h.seal(data)
	return data, nil
}

// each calls fn with every chunk of hashes.
func (b *Builder) each(fn func(hashes []uint64)) {
	for _, c := range b.full {
		fn(c)
	}
	fn(b.cur)
}
