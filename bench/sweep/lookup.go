package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/sstable"
)

// measured is what a series of lookups cost, in total.
type measured struct {
	lookups                                      uint64
	reads, candidates, negatives, falsePositives uint64
	busy                                         time.Duration
}

func (m *measured) perLookup(total uint64) float64 {
	return float64(total) / float64(max(m.lookups, 1))
}

func (m *measured) perSecond() float64 { return float64(m.lookups) / max(m.busy, 1).Seconds() }

// falsePositiveRate is 1 where no filter was asked for a key that it lacks.
func (m *measured) falsePositiveRate() float64 {
	if m.negatives+m.falsePositives == 0 {
		return 1
	}
	return float64(m.falsePositives) / float64(m.negatives+m.falsePositives)
}

// A session is lookups one after the other.
type session struct {
	t       *tables
	filters *filterSet
	readers []*sstable.Reader
	m       measured

	key, value, want []byte
}

// measure looks up the grid's number of keys, of which a share is absent, after
// half as many that only fill the cache. The keys are the same for all filters.
func (t *tables) measure(ctx context.Context, f *filterSet, absent float64, cacheBytes int64) (m measured, err error) {
	var stats sstable.Stats
	readers, err := t.open(cacheBytes, &stats)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, closeAll(readers)) }()
	s := &session{t: t, filters: f, readers: readers}
	rng := rand.New(rand.NewPCG(t.grid.Seed, 1))
	warm := t.grid.Lookups / 2
	before := uint64(0)
	for i := range warm + t.grid.Lookups {
		const look = 1 << 10
		if i%look == 0 && ctx.Err() != nil {
			return m, context.Cause(ctx)
		}
		if i == warm {
			s.m, before = measured{}, stats.Reads.Load()
		}
		if err := s.one(rng, i, absent); err != nil {
			return m, err
		}
	}
	s.m.reads = stats.Reads.Load() - before
	return s.m, nil
}

// one does the i-th lookup and checks its answer. Making the key and checking the
// value are outside of the time.
func (s *session) one(rng *rand.Rand, i int, absent float64) error {
	isAbsent := rng.Float64() < absent
	k := rng.IntN(s.t.grid.Pairs)
	if isAbsent {
		s.key = s.t.keys.Absent(s.key[:0], i)
	} else {
		s.key = s.t.keys.Present(s.key[:0], k)
	}
	start := time.Now()
	found, err := s.get()
	s.m.busy += time.Since(start)
	s.m.lookups++
	switch {
	case err != nil:
		return err
	case found == isAbsent:
		return fmt.Errorf("wrong answer: %q is found: %v", s.key, found)
	case isAbsent:
		return nil
	}
	if s.want = s.t.keys.Value(s.want[:0], k); !bytes.Equal(s.value, s.want) {
		return fmt.Errorf("wrong answer: another value than was put for %q", s.key)
	}
	return nil
}

// get is the engine's lookup without memtables: the newest table whose range holds
// the key comes first; its filter may say no; else one block is read.
func (s *session) get() (found bool, err error) {
	hash := bloom.Hash(s.key)
	for i, reader := range slices.Backward(s.readers) {
		r, f := s.t.runs[i], s.filters.byRun[i]
		if bytes.Compare(s.key, r.first) < 0 || bytes.Compare(s.key, r.last) > 0 {
			continue
		}
		s.m.candidates++
		if !f.MayContain(hash) {
			s.m.negatives++
			continue
		}
		if s.value, _, found, err = reader.Get(s.value[:0], s.key, key.MaxSeq); found || err != nil {
			return found, err
		}
		if f != nil {
			s.m.falsePositives++
		}
	}
	return false, nil
}
