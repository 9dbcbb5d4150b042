package iterator

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/siftkv/sift/internal/key"
)

// tables is a Source. It fails the test when more than one part is open.
type tables struct {
	t      *testing.T
	parts  [][]Entry
	bounds [][2]key.Internal
	fault  *fault
	open   int
}

func (s *tables) Len() int { return len(s.parts) }

func (s *tables) Bounds(i int) (smallest, largest key.Internal) {
	return s.bounds[i][0], s.bounds[i][1]
}

func (s *tables) Open(i int) (Iterator, error) {
	if s.open != 0 {
		s.t.Error("opened a part while another one is open")
	}
	if s.fault.strikes() {
		return nil, errInjected
	}
	s.open++
	return &part{faulty{Iterator: Slice(s.parts[i]), fault: s.fault}, s}, nil
}

type part struct {
	faulty
	source *tables
}

func (p *part) Close() error {
	p.source.open--
	if p.fault.strikes() {
		return errInjected
	}
	return p.faulty.Close()
}

// cut splits entries into tables at random places, and widens the bounds of some
// as far as their neighbours allow, as a range deletion does. A table may have no
// entry at all.
func cut(t *testing.T, rng *rand.Rand, entries []Entry, f *fault) *tables {
	s := &tables{t: t, fault: f}
	for len(entries) > 0 {
		n := 1 + rng.IntN(min(8, len(entries)))
		smallest, largest := entries[0].Key, entries[n-1].Key
		lo, hi := 0, n
		switch rng.IntN(6) {
		case 0:
			lo = 1
		case 1:
			hi = n - 1
		case 2:
			lo = n
		}
		s.parts = append(s.parts, entries[min(lo, hi):hi])
		s.bounds = append(s.bounds, [2]key.Internal{smallest, largest})
		entries = entries[n:]
	}
	return s
}

// all returns what the tables hold.
func (s *tables) all() []Entry {
	var entries []Entry
	for _, p := range s.parts {
		entries = append(entries, p...)
	}
	return entries
}

// TestConcatModel: any walk shows what a slice of all entries shows, with at most
// one part open at a time and none in the end.
func TestConcatModel(t *testing.T) {
	eachSeed(t, 500, func(t *testing.T, rng *rand.Rand) {
		s := cut(t, rng, randomEntries(rng, rng.IntN(60)), new(fault))
		it := Concat(s)
		checkWalk(t, it, s.all(), randomSteps(rng, s.all(), 200))
		if err := it.Close(); err != nil || s.open != 0 {
			t.Fatalf("Close: %v, %d open", err, s.open)
		}
	})
}

// TestConcatFaults: opening, any step and closing a part may fail. The last close
// of all is outside the walk, so its own error is looked at here.
func TestConcatFaults(t *testing.T) {
	eachSeed(t, 100, func(t *testing.T, rng *rand.Rand) {
		s := cut(t, rng, randomEntries(rng, rng.IntN(40)), nil)
		entries := s.all()
		open := func(f *fault) Iterator {
			if s.open != 0 {
				t.Fatalf("%d left open", s.open)
			}
			s.fault = f
			return Concat(s)
		}
		checkFaults(t, open, entries, randomSteps(rng, entries, 60))
	})
}

// TestConcatOpensOnlyWhatItNeeds: a seek into the middle opens one part.
func TestConcatOpensOnlyWhatItNeeds(t *testing.T) {
	part := counters(1, 1, 300)[0]
	s := &tables{t: t, fault: new(fault)}
	for i := 0; i < len(part); i += 10 {
		s.parts = append(s.parts, part[i:i+10])
		s.bounds = append(s.bounds, [2]key.Internal{part[i].Key, part[i+9].Key})
	}
	opens := &opened{tables: s}
	it := Concat(opens)
	it.SeekGE(part[155].Key)
	it.SeekLT(part[155].Key)
	it.Next()
	if opens.n != 1 {
		t.Errorf("opened %d parts, want 1", opens.n)
	}
	if n := testing.AllocsPerRun(100, func() { it.SeekGE(part[155].Key) }); n > 1 {
		t.Errorf("%v allocations for a seek within the open part", n) // the one is the test's own closure
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
}

type opened struct {
	*tables
	n int
}

func (o *opened) Open(i int) (Iterator, error) { o.n++; return o.tables.Open(i) }

// TestMergeOfConcat: levels under memtables, faults everywhere.
func TestMergeOfConcat(t *testing.T) {
	eachSeed(t, 30, func(t *testing.T, rng *rand.Rand) {
		entries := randomEntries(rng, 30)
		parts := deal(rng, entries, 3)
		level := cut(t, rng, parts[0], nil)
		for i := range level.parts { // no entry may hide in widened bounds here
			level.parts[i] = nil
		}
		rest := parts[0]
		for i, b := range level.bounds {
			for len(rest) > 0 && key.Compare(rest[0].Key, b[1]) <= 0 {
				level.parts[i] = append(level.parts[i], rest[0])
				rest = rest[1:]
			}
		}
		open := func(f *fault) Iterator {
			level.fault = f
			return Merge(Concat(level), &faulty{Iterator: Slice(parts[1]), fault: f}, &faulty{Iterator: Slice(parts[2]), fault: f})
		}
		checkFaults(t, open, entries, randomSteps(rng, entries, 40))
	})
}

// TestConcatEmpty: a run of no tables is empty, and its errors are none.
func TestConcatEmpty(t *testing.T) {
	it := Concat(&tables{t: t, fault: new(fault)})
	if it.First() || it.Last() || it.SeekGE(key.Internal{}) || it.SeekLT(key.Internal{}) || it.Next() || it.Prev() {
		t.Fatal("found an entry in nothing")
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		t.Fatal(err)
	}
}
