package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/siftkv/sift"
)

// Lookup is the kind of key that is looked up.
type Lookup string

// The two kinds of lookups of a run.
const (
	Absent  Lookup = "absent"
	Present Lookup = "present"
)

// Measured is what one series of lookups cost.
type Measured struct {
	Counters
	Latency Histogram
	System  SystemReads // what the operating system counted meanwhile
}

// measure looks up c.Lookups keys of a kind, one after the other, and checks
// every answer. Making the key and checking the value are outside the time.
func (c *Config) measure(ctx context.Context, db *sift.DB, kind Lookup, what string) (*Measured, error) {
	s := series{keys: c.Keys, kind: kind, rng: rand.New(rand.NewPCG(mix(c.Seed), uint64(len(kind))))}
	m := new(Measured)
	runtime.GC() // the load's garbage is not the lookups'
	system := StartSystemReads()
	before := count(db)
	for i := range c.Lookups {
		if i%progressPeriod == 0 {
			c.progress(what, i, c.Lookups)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		d, err := s.one(db, i)
		if err != nil {
			return nil, err
		}
		m.Latency.Record(d)
	}
	m.Counters = count(db).since(before)
	m.System = system.Stop()
	return m, nil
}

// A series is the lookups of one kind, with the buffers that they share.
type series struct {
	keys             Keys
	kind             Lookup
	rng              *rand.Rand
	key, value, want []byte
}

// one does the i-th lookup.
func (s *series) one(db *sift.DB, i int) (time.Duration, error) {
	if s.kind == Absent {
		s.key = s.keys.Absent(s.key[:0], i)
	} else {
		i = s.rng.IntN(s.keys.Len())
		s.key = s.keys.Present(s.key[:0], i)
	}
	var err error
	start := time.Now()
	s.value, err = db.AppendGet(s.value[:0], s.key)
	d := time.Since(start)
	return d, s.check(i, err)
}

func (s *series) check(i int, err error) error {
	switch {
	case s.kind == Absent && errors.Is(err, sift.ErrNotFound):
		return nil
	case s.kind == Absent && err == nil:
		return fmt.Errorf("wrong answer: found %q, which was never put", s.key)
	case err != nil:
		return fmt.Errorf("looking up the %s key %q: %w", s.kind, s.key, err)
	}
	if s.want = s.keys.Value(s.want[:0], i); !bytes.Equal(s.value, s.want) {
		return fmt.Errorf("wrong answer: another value than was put for %q", s.key)
	}
	return nil
}
