package workload

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// readPresent looks up loaded keys, all alike.
func readPresent(v version) func(c *client) (step, error) {
	return func(c *client) (step, error) {
		return func(int) error {
			c.key = c.keys.Present(c.key[:0], c.rng.IntN(c.cfg.Pairs))
			return c.get(v)
		}, nil
	}
}

// readZipf looks up loaded keys, a few of them most of the time.
func readZipf(c *client) (step, error) {
	c.zipf()
	return func(int) error {
		c.key = c.keys.Present(c.key[:0], c.drawHot())
		return c.get(loaded)
	}, nil
}

func readAbsent(c *client) (step, error) {
	return func(i int) error {
		c.key = c.keys.Absent(c.key[:0], i)
		return c.get()
	}, nil
}

func readDeleted(c *client) (step, error) {
	return func(int) error {
		c.key = c.keys.Present(c.key[:0], deletedKey(c.cfg, c.rng.IntN(half(c.cfg))))
		return c.get()
	}, nil
}

const (
	walkStep = 1000 // pairs that a walk times together: the clock costs more than a pair
	seekNext = 50   // pairs that seekrandom50 walks on
)

// walk reads all pairs. To keep the checks out of the time it folds each pair
// into a number, which the whole walk must bring to what the pairs should give.
func walk(forward bool) func(c *client) (step, error) {
	return func(c *client) (step, error) {
		it, err := c.newIter()
		if err != nil {
			return nil, err
		}
		want := c.foldAll(forward)
		var got fingerprint
		first, next := it.First, it.Next
		if !forward {
			first, next = it.Last, it.Prev
		}
		on, started := false, false
		return func(i int) error {
			n := 0
			t := c.start()
			if !started {
				on, started = first(), true
			}
			for ; on && n < c.spec.StepOps; n++ {
				got.fold(it.Key(), it.Value())
				on = next()
			}
			c.stop(t, n)
			if err := it.Err(); err != nil || i+1 < c.spec.steps(c.cfg.Pairs) {
				return err
			}
			if on || got != want {
				return fmt.Errorf("%w: a walk over %d pairs did not see them all, as they are and in order", ErrWrongAnswer, c.cfg.Pairs)
			}
			return nil
		}, nil
	}
}

// foldAll folds all pairs as a walk should meet them.
func (c *client) foldAll(forward bool) (f fingerprint) {
	for r := range c.cfg.Pairs {
		if !forward {
			r = c.cfg.Pairs - 1 - r
		}
		c.key = c.keys.Ordered(c.key[:0], r)
		c.value = appendValue(c.value[:0], c.key, c.cfg.ValueSize, loaded)
		f.fold(c.key, c.value)
	}
	return f
}

// A fingerprint sums up pairs, in their order, by the end of each key and both
// ends of each value.
type fingerprint uint64

func (f *fingerprint) fold(key, value []byte) {
	sum := uint64(len(key))<<32 + uint64(len(value))
	sum += lastEight(key) * golden
	if len(value) >= 8 {
		sum += binary.LittleEndian.Uint64(value) ^ lastEight(value)>>1
	}
	*f = *f*31 + fingerprint(sum)
}

func lastEight(b []byte) uint64 {
	if len(b) < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(b[len(b)-8:])
}

// seek seeks loaded keys, all alike, and reads on from each. One iterator does
// all of it.
func seek(c *client) (step, error) {
	it, err := c.newIter()
	if err != nil {
		return nil, err
	}
	var s scan
	c.keys.Ordered(nil, 0) // some sets sort themselves now
	return func(int) error {
		r := c.rng.IntN(c.cfg.Pairs)
		c.key = c.keys.Ordered(c.key[:0], r)
		t := c.start()
		err := s.read(it, c.key, 1+seekNext)
		c.stop(t, 1)
		if err != nil {
			return err
		}
		return s.check(c, r, false)
	}, nil
}

// A scan is the pairs that were read from one key on, copied so that they can be
// checked once the clock stands.
type scan struct {
	data  []byte
	ends  []int // of each key and each value in data
	limit int
}

func (s *scan) read(it Iter, from []byte, limit int) error {
	s.data, s.ends, s.limit = s.data[:0], s.ends[:0], limit
	for ok := it.SeekGE(from); ok; ok = it.Next() {
		s.data = append(s.data, it.Key()...)
		s.ends = append(s.ends, len(s.data))
		s.data = append(s.data, it.Value()...)
		s.ends = append(s.ends, len(s.data))
		if len(s.ends) == 2*limit {
			break
		}
	}
	return it.Err()
}

// check checks a scan that began at the r-th key in order: each pair must be the
// next one. Where keys may have been added, others may come between, in order.
func (s *scan) check(c *client, r int, added bool) error {
	versions := []version{loaded}
	start := 0
	var last []byte
	for i := 0; i < len(s.ends); i += 2 {
		key, value := s.data[start:s.ends[i]], s.data[s.ends[i]:s.ends[i+1]]
		start = s.ends[i+1]
		isNext := false
		if r < c.cfg.Pairs {
			c.key = c.keys.Ordered(c.key[:0], r)
			isNext = bytes.Equal(key, c.key)
		}
		switch {
		case isNext:
			r++
		case !added, r < c.cfg.Pairs && bytes.Compare(key, c.key) > 0, i > 0 && bytes.Compare(key, last) <= 0:
			return fmt.Errorf("%w: a scan met %q after %q", ErrWrongAnswer, key, last)
		}
		var ok bool
		if c.scratch, ok = rightValue(c.scratch, key, value, c.cfg.ValueSize, versions...); !ok {
			return c.badValue(key)
		}
		last = key
	}
	if len(s.ends) < 2*s.limit && r < c.cfg.Pairs {
		return fmt.Errorf("%w: a scan ended at %q, before the last key", ErrWrongAnswer, last)
	}
	return nil
}
