package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/siftkv/sift/compaction"
	"github.com/siftkv/sift/internal/manifest"
)

// A simulation is a database whose tables are spans. Its clock runs in bytes, which
// decide in which order jobs end that run at the same time.
type simulation struct {
	c     *Config
	tree  compaction.Options
	sizer *sizer
	keys  float64
	seq   uint64 // puts so far

	v       *manifest.Version
	content map[uint64]density // by file number
	lastNum uint64

	running []*compaction.Job
	ends    map[*compaction.Job]float64
	now     float64
	settled bool // the picker had nothing to offer, and nothing has changed since

	out Result
}

// Simulate puts a load into a database that has no data, and lets it come to rest.
func Simulate(c Config) (*Result, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	sizer, err := newSizer(&c)
	if err != nil {
		return nil, err
	}
	s := &simulation{
		c: &c, tree: c.tree(), sizer: sizer, keys: float64(c.Keys),
		v: new(manifest.Version), content: map[uint64]density{}, ends: map[*compaction.Job]float64{},
	}
	if err := s.load(); err != nil {
		return nil, err
	}
	s.describe()
	return &s.out, nil
}

// load puts everything, one memtable after the other. One of them holds the last
// of the first puts and then some that are put again.
func (s *simulation) load() error {
	firsts, rewrites := s.keys, math.Round(s.keys*s.c.Overwrites)
	fresh := s.c.memTablePuts(0, s.c.Sequential)
	drawn := s.c.memTablePuts(s.keys, false)
	for done := 0.0; firsts+rewrites > 0; {
		n := min(fresh, firsts)
		again := min(math.Round((1-n/fresh)*drawn), rewrites)
		if n == 0 {
			again = min(drawn, rewrites)
		}
		if err := s.flush(n+again, s.spanOfPuts(done, n, again)); err != nil {
			return err
		}
		done, firsts, rewrites = done+n, firsts-n, rewrites-again
	}
	return s.rest()
}

// spanOfPuts returns the span of n keys that are put for the first time, after
// others, and of draws from all keys. Those that lie anywhere in the range leave about
// as much room at its ends as there is between any two of them.
func (s *simulation) spanOfPuts(others, n, again float64) span {
	if s.c.Sequential && again == 0 {
		return span{at(others / s.keys), at((others + n) / s.keys), density{first: 1}}
	}
	gap := 1 / (n + again + 2) // a single one needs some room, too
	sp := span{start: at(gap), end: at(1 - gap)}
	sp.first = n / s.keys / sp.width()
	sp.again = min(drawn(again, s.keys)/sp.width(), 1)
	return sp
}

// at returns a place in the range of keys.
func at(share float64) uint64 { return uint64(min(max(share, 0), 1) * space) }

// flush fills a memtable and makes a table of it, and waits for what is due then.
func (s *simulation) flush(puts float64, sp span) error {
	batches := puts * float64(s.c.batchBytes())
	first := s.seq + 1
	s.seq += uint64(puts)
	t := s.table(sp, first, s.seq)
	s.out.Puts += puts
	s.out.UserBytes += puts * s.c.pairBytes()
	s.out.BatchBytes += batches
	s.out.LogBytes += puts * float64(s.c.logBytes())
	s.out.FlushBytes += float64(t.Size)
	s.out.Flushes++
	if err := s.apply(&manifest.Edit{Added: []manifest.NewTable{{Level: 0, Meta: t}}}); err != nil {
		return err
	}
	return s.rest()
}

// step waits until the next job ends, and starts what is due then.
func (s *simulation) step() error {
	next := slices.MinFunc(s.running, func(a, b *compaction.Job) int { return cmp.Compare(s.ends[a], s.ends[b]) })
	s.now = s.ends[next]
	if err := s.end(next); err != nil {
		return err
	}
	return s.schedule()
}

// rest waits until nothing is due.
func (s *simulation) rest() error {
	if err := s.schedule(); err != nil {
		return err
	}
	for len(s.running) > 0 {
		if err := s.step(); err != nil {
			return err
		}
	}
	return nil
}

// schedule starts the jobs that are due, up to the number of workers.
func (s *simulation) schedule() error {
	for len(s.running) < s.c.Workers && !s.settled {
		j := compaction.Pick(s.v, s.tree, compaction.State{Running: s.running, OldestSnapshot: compaction.NoSnapshot})
		if j == nil {
			s.settled = true
			return nil
		}
		if j.Trivial {
			s.out.Moves++
			if err := s.apply(j.Edit(nil)); err != nil {
				return err
			}
			continue
		}
		s.running = append(s.running, j)
		s.ends[j] = s.now + float64(j.Size())/float64(len(s.cuts(j))+1)
	}
	return nil
}

// end does a job and installs what it made.
func (s *simulation) end(j *compaction.Job) error {
	s.running = slices.DeleteFunc(s.running, func(r *compaction.Job) bool { return r == j })
	delete(s.ends, j)
	outputs := s.merge(j)
	for _, t := range outputs {
		s.out.CompactBytes += float64(t.Size)
	}
	s.out.ReadBytes += float64(j.Size())
	s.out.Compactions++
	err := s.apply(j.Edit(outputs))
	for _, inputs := range j.Inputs {
		for _, t := range inputs {
			delete(s.content, t.Num)
		}
	}
	return err
}

func (s *simulation) apply(e *manifest.Edit) error {
	next, err := s.v.Apply(e)
	if err != nil {
		return fmt.Errorf("model: BUG: %w", err)
	}
	s.v, s.settled = next, false
	return nil
}
