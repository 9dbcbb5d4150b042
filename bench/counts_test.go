package bench

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/siftkv/sift"
)

var seed = flag.Uint64("seed", 1, "of the keys and lookups of the tests that count")

// small returns a run that takes a second in memory, and in which every count
// that is promised for a large one holds too; under the race detector a tenth of
// that, with which they fit together.
func small(t *testing.T) *Config {
	t.Helper()
	t.Logf("-seed=%d", *seed)
	n, lookups := 60_000, 20_000
	if raceDetector {
		n, lookups = n/10, lookups/10
	}
	keys := NewGenerated(n, 100, *seed)
	return &Config{
		Keys:       keys,
		BitsPerKey: 10,
		Lookups:    lookups,
		CacheSize:  keys.Bytes() / 20,
		Seed:       *seed,
		Dir:        "run",
		FS:         sift.NewMemFS(),
	}
}

// cells are what a run measured, by shape, filters and lookup.
type cells map[Shape]map[bool]map[Lookup]Cell

// cellsOf runs the main job.
func cellsOf(t *testing.T, c *Config) cells {
	t.Helper()
	cells := cells{
		Fresh:     {false: {}, true: {}},
		Compacted: {false: {}, true: {}},
	}
	err := c.Main(context.Background(), func(shape []Cell) error {
		for _, cell := range shape {
			cells[cell.Shape][cell.Filters][cell.Lookup] = cell
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return cells
}

// smallRun runs the main job once for the tests that look at its counts.
var smallRun = func() func(t *testing.T) (*Config, cells) {
	var c *Config
	var measured cells
	return func(t *testing.T) (*Config, cells) {
		t.Helper()
		if measured == nil {
			c = small(t)
			measured = cellsOf(t, c)
		}
		return c, measured
	}
}()

// What filters promise, as counts of disk reads: compacted, an absent key costs
// its filter's false-positive rate, and a present one a single block; with
// overlapping tables, an absent key costs the sum of their rates. Without filters
// nearly every candidate is read.
func TestCounts(t *testing.T) {
	if raceDetector {
		t.Skip("too few lookups for a rate; the race detector sees the same code in the other tests")
	}
	c, cells := smallRun(t)
	uncached := 1 - float64(c.CacheSize)/float64(c.Keys.Bytes())
	reads := func(shape Shape, filters bool, kind Lookup) float64 {
		cell := cells[shape][filters][kind]
		return cell.PerLookup(cell.DiskReads)
	}
	atMost := func(what string, got, limit float64) {
		t.Logf("%-45s %.4f; at most %.4f", what, got, limit)
		if got > limit {
			t.Errorf("%s: %.4f; want at most %.4f", what, got, limit)
		}
	}
	atLeast := func(what string, got, limit float64) {
		t.Logf("%-45s %.4f; at least %.4f", what, got, limit)
		if got < limit {
			t.Errorf("%s: %.4f; want at least %.4f", what, got, limit)
		}
	}

	atMost("compacted, absent, with filters", reads(Compacted, true, Absent), 0.012)
	atLeast("compacted, absent, without", reads(Compacted, false, Absent), 0.9*uncached)
	atMost("compacted, present, with filters", reads(Compacted, true, Present), 1.02)
	atMost("compacted, present, without", reads(Compacted, false, Present), 1.02)

	with, without := cells[Fresh][true][Absent], cells[Fresh][false][Absent]
	candidates := with.PerLookup(with.Candidates)
	atLeast("fresh, candidate tables", candidates, 3)
	atMost("fresh, absent, with filters", reads(Fresh, true, Absent), 1.15*candidates*with.DesignedRate)
	atLeast("fresh, absent, without", reads(Fresh, false, Absent), 0.9*without.PerLookup(without.Candidates)*uncached)
}

// The counters fit together: each candidate's filter is asked once, and every
// answer is a no, a false positive or the key.
func TestCountersFit(t *testing.T) {
	c, cells := smallRun(t)
	for shape, byFilter := range cells {
		for filters, byLookup := range byFilter {
			for kind, m := range byLookup {
				var found uint64
				if kind == Present {
					found = uint64(c.Lookups)
				}
				checks := uint64(0)
				if filters {
					checks = m.Candidates
				}
				ok := m.Latency.Count() == uint64(c.Lookups) && m.FilterChecks == checks && m.DiskReads > 0 && m.BytesRead > m.DiskReads
				if filters {
					ok = ok && m.FilterChecks == m.FilterNegatives+m.FalsePositives+found && m.DiskReads <= m.FalsePositives+found+16 &&
						m.BitsPerKey >= 9.9 && m.BitsPerKey <= 12 && m.FilterKeys == uint64(c.Keys.Len()) && m.FilterMemory > 0
				} else {
					ok = ok && m.FilterNegatives == 0 && m.FalsePositives == 0 && m.FilterMemory == 0
				}
				if !ok {
					t.Errorf("%s, filters %t, %s: %+v", shape, filters, kind, m.Counters)
				}
			}
		}
	}
}

// An absent key is inside the range of every table: with overlapping tables each
// one is a candidate, and once compacted one is, but for the few keys between two
// tables.
func TestAbsentInsideEveryTable(t *testing.T) {
	c, cells := smallRun(t)
	for _, filters := range []bool{false, true} {
		fresh, compacted := cells[Fresh][filters][Absent], cells[Compacted][filters][Absent]
		n := uint64(c.Lookups)
		if tables := fresh.Candidates / n; fresh.Candidates%n != 0 || tables < freshTables || tables > 2*freshTables {
			t.Errorf("fresh: %d candidates in %d lookups; want as many in each, %d or more", fresh.Candidates, n, freshTables)
		}
		if compacted.Candidates > n || compacted.Candidates < n-n/1000 {
			t.Errorf("compacted: %d candidates in %d lookups", compacted.Candidates, n)
		}
	}
}

// An absent key's lookup allocates nothing, in either shape, with filters or
// without.
func TestAbsentAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	c := small(t)
	for _, filters := range []bool{false, true} {
		db, err := c.load(t.Context(), filters)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, shape := range []Shape{Fresh, Compacted} {
			if shape == Compacted {
				if err := db.Compact(nil, nil); err != nil {
					t.Fatal(err)
				}
			}
			s := series{keys: c.Keys, kind: Absent}
			i := 0
			lookup := func() {
				if _, err := s.one(db, i); err != nil {
					t.Error(err)
				}
				i++
			}
			for range 5000 { // tables are opened, the cache fills
				lookup()
			}
			if n := testing.AllocsPerRun(5000, lookup); n != 0 {
				t.Errorf("%s, filters %t: %v allocations a lookup", shape, filters, n)
			}
		}
	}
}

// On real files, the operating system counts the same reads as the engine.
func TestSystemAgrees(t *testing.T) {
	if _, err := os.Stat(sysReadsFile); err != nil {
		t.Skip("this system does not count read calls")
	}
	c := small(t)
	c.FS, c.Dir, c.Lookups = nil, t.TempDir(), min(c.Lookups, 3000)
	for shape, byFilter := range cellsOf(t, c) {
		for filters, byLookup := range byFilter {
			for kind, m := range byLookup {
				const others = 5 // read calls of the runtime and the test
				if m.System.Calls < m.DiskReads || m.System.Calls > m.DiskReads+others {
					t.Errorf("%s, filters %t, %s: the system counted %d read calls, the engine %d disk reads",
						shape, filters, kind, m.System.Calls, m.DiskReads)
				}
			}
		}
	}
}
