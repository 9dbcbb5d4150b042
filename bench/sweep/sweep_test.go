package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/bench"
	"github.com/siftkv/sift/bloom"
)

// small returns a grid that takes a moment, a smaller one under the race detector:
// what is compared with it allows for chance by the number of lookups.
func small() Grid {
	g := Default()
	g.Pairs, g.Lookups = 5000, 1500
	if raceDetector {
		g.Pairs, g.Lookups = 2000, 300
	}
	g.Caches = []int64{g.DataBytes() / 20, g.DataBytes() / 2}
	return g
}

func cellsOf(t *testing.T, g Grid) []Cell {
	t.Helper()
	var cells []Cell
	if err := g.Run(t.Context(), func(group []Cell) error {
		cells = append(cells, group...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(cells) != g.Cells() {
		t.Fatalf("%d cells; want %d", len(cells), g.Cells())
	}
	return cells
}

// The same seed counts the same, another one does not. Only the speed differs.
func TestCountsRepeat(t *testing.T) {
	text := func(g Grid) string {
		cells := cellsOf(t, g)
		for i := range cells {
			cells[i].LookupsPerSec, cells[i].Seed = 0, 0
		}
		b, err := json.Marshal(cells)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	g := small()
	g.Pairs, g.Lookups = 1000, 200
	first := text(g)
	if second := text(g); first != second {
		t.Errorf("two equal sweeps counted differently:\n%s\n%s", first, second)
	}
	if g.Seed = 2; first == text(g) {
		t.Error("another seed counted the same")
	}
}

// What theory says of every cell holds: without a cache's help an absent key costs
// a read for each table whose filter is wrong, a present one as many as half of the
// other tables in addition to its own; and a cache only ever helps.
func TestCellsMeetTheory(t *testing.T) {
	g := small()
	g.Caches, g.Bits = []int64{0}, []float64{5, 10}
	for _, c := range cellsOf(t, g) {
		runs := 1.0
		if c.Shape == Overlapping {
			runs = overlappingRuns
		}
		want := c.Absent*runs*c.DesignedRate + (1-c.Absent)*(1+(runs-1)/2*c.DesignedRate)
		n := float64(c.Lookups)
		// Reads of one lookup are between 0 and runs, so no variance is above that of
		// a coin between the two; a filter's is that of a rare event.
		deviation := math.Sqrt(runs * max(want, 1/n) / n)
		if math.Abs(c.ReadsPerLookup-want) > 5*deviation {
			t.Errorf("%s, %s at %v bits: %v reads a lookup; theory says %v ± %v", Title(&c), c.Filter, c.BitsPerKey, c.ReadsPerLookup, want, deviation)
		}
		if c.CacheInstead > c.WithoutFilter+5*deviation {
			t.Errorf("%s: a cache of %d bytes made it worse: %v instead of %v", Title(&c), c.FilterBytes, c.CacheInstead, c.WithoutFilter)
		}
	}
}

// The sweep's lookup is the engine's: a database with the same pairs reads as often.
// Overlapping, it may have another number of tables, so that what is compared are
// the reads in vain for each table in vain, without a cache; compacted, with one.
func TestAgreesWithTheEngine(t *testing.T) {
	const someCache = 20_000
	for _, cacheBytes := range []int64{1, someCache} {
		g := small()
		g.Kinds, g.Bits, g.Absent, g.Caches = []bloom.Kind{bloom.Blocked}, []float64{10}, []float64{0, 1}, []int64{cacheBytes}
		cells := cellsOf(t, g)
		c := bench.Config{
			Keys: bench.NewGenerated(g.Pairs, g.ValueSize, g.Seed), BitsPerKey: 10, Lookups: g.Lookups,
			CacheSize: cacheBytes, Seed: g.Seed, Dir: "db", FS: sift.NewMemFS(),
		}
		err := c.Main(t.Context(), func(theirs []bench.Cell) error {
			for i := range theirs {
				if cacheBytes == 1 || theirs[i].Shape == bench.Compacted {
					agrees(t, cells, &theirs[i], cacheBytes == 1)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func agrees(t *testing.T, cells []Cell, e *bench.Cell, inVain bool) {
	t.Helper()
	for i := range cells {
		m := &cells[i]
		same := (m.Shape == Overlapping) == (e.Shape == bench.Fresh) && (m.Absent == 1) == (e.Lookup == bench.Absent) && (m.Filter != NoFilter) == e.Filters
		if !same {
			continue
		}
		got, want := m.ReadsPerLookup, e.PerLookup(e.DiskReads)
		if inVain {
			found := 1 - m.Absent
			got = (got - found) / max(m.Candidates-found, 1e-9)
			want = (want - found) / max(e.PerLookup(e.Candidates)-found, 1e-9)
		}
		// Two counts of as many lookups, of which each reads or not.
		deviation := math.Sqrt(2 * want * max(1-want, 0) / float64(m.Lookups))
		opening := 2 / float64(m.Lookups) // the engine's first lookup opens the table
		if math.Abs(got-want) > 4*deviation+opening {
			t.Errorf("%s, %s: %.4f reads; the engine has %.4f ± %.4f", Title(m), m.Filter, got, want, deviation)
		}
	}
}

// The rule, at its edges, and the sentence that says it.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name                   string
		without, with, instead float64
		want                   Verdict
		says                   string
	}{
		{"saves much more than cache", 8, 0.1, 7.5, Pays, "Filters pay: blocked at 10 bits a key (12 KiB) leave 0.1 of 8 disk reads a lookup; as cache the same memory would leave 7.5."},
		{"saves twice what cache would", 1, 0.5, 0.75, Pays, "Filters pay"},
		{"saves as much as cache", 1, 0.6, 0.6, Even, "Filters or cache, it makes little difference"},
		{"saves half of what cache would", 1, 0.75, 0.5, Wasted, "Filters are wasted memory"},
		{"saves nothing", 1, 1, 1, Wasted, "Filters are wasted memory"},
		{"saves less than is notable", 1, 0.995, 1, Wasted, "Filters are wasted memory"},
		{"does worse by chance", 1, 1.001, 1, Wasted, "Filters are wasted memory"},
		{"saves where cache does worse by chance", 1, 0.9, 1.1, Pays, "Filters pay"},
	} {
		group := []Cell{
			{Filter: NoFilter, ReadsPerLookup: c.without, WithoutFilter: c.without},
			{Filter: "blocked", BitsPerKey: 10, FilterBytes: 12 << 10, ReadsPerLookup: c.with, WithoutFilter: c.without, CacheInstead: c.instead},
		}
		if got := group[1].Judge(); got != c.want {
			t.Errorf("%s: %s; want %s", c.name, got, c.want)
		}
		if got := Say(group); !strings.HasPrefix(got, c.says) {
			t.Errorf("%s: %q; want %q", c.name, got, c.says)
		}
	}
	none := []Cell{{Filter: NoFilter}}
	if none[0].Judge() != "" || Say(none) != "" {
		t.Error("something is said of filters that are not there")
	}
}

// The filters to take are the smallest that do notably no worse than the best.
func TestBest(t *testing.T) {
	group := []Cell{
		{Filter: NoFilter, ReadsPerLookup: 1},
		{Filter: "a", FilterBytes: 5, ReadsPerLookup: 0.1},
		{Filter: "b", FilterBytes: 10, ReadsPerLookup: 0.015},
		{Filter: "c", FilterBytes: 15, ReadsPerLookup: 0.006},
	}
	if got := Best(group); got.Filter != "b" {
		t.Errorf("%s; want b", got.Filter)
	}
	group = append(group, Cell{Filter: "blocked", FilterBytes: 20, ReadsPerLookup: 0.2})
	if got := Best(group); got.Filter != "blocked" {
		t.Errorf("%s, which a database does not build; want blocked", got.Filter)
	}
}

// The end of the context ends a sweep, and a grid that cannot be is refused before
// anything is done, with all that is wrong.
func TestRefusals(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	because := errors.New("because")
	cancel(because)
	g := small()
	if err := g.Run(ctx, func([]Cell) error { return nil }); !errors.Is(err, because) {
		t.Errorf("ended with %v", err)
	}
	bad := Grid{Pairs: 1, ValueSize: -1, Kinds: []bloom.Kind{99}, Bits: []float64{math.NaN()}, Shapes: []Shape{"flat"}, Absent: []float64{2, math.NaN()}, Caches: []int64{-1}}
	err := bad.Validate()
	for _, want := range []string{"1 pairs", "-1 bytes", "0 lookups", "share of 2", "share of NaN", "cache of -1", `"flat"`, "kind(99)"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the faults do not name %q: %v", want, err)
		}
	}
	g.Absent = nil
	if g.Validate() == nil {
		t.Error("an axis without values is taken")
	}
}

// What the same memory would do as cache is what a cache of that size in addition
// does: the lookups are the same.
func TestCacheInstead(t *testing.T) {
	g := small()
	g.Kinds, g.Bits, g.Shapes, g.Absent = []bloom.Kind{bloom.Blocked}, []float64{40}, []Shape{Overlapping}, []float64{0.5}
	g.Caches = []int64{30_000}
	with := cellsOf(t, g)[1]
	g.Caches[0] += with.FilterBytes
	if larger := cellsOf(t, g)[0]; with.CacheInstead != larger.ReadsPerLookup || with.CacheInstead >= with.WithoutFilter {
		t.Errorf("as cache %v of %v, and a cache of that size reads %v", with.CacheInstead, with.WithoutFilter, larger.ReadsPerLookup)
	}
}

// An answer that is wrong ends a sweep: here the tables hold other keys than those
// that are looked up, and then other values.
func TestWrongAnswers(t *testing.T) {
	g := small()
	tab, err := g.build(t.Context(), Compacted)
	if err != nil {
		t.Fatal(err)
	}
	for name, keys := range map[string]*bench.Generated{
		"is found: false": bench.NewGenerated(g.Pairs, g.ValueSize, g.Seed+1),
		"another value":   bench.NewGenerated(g.Pairs, g.ValueSize+1, g.Seed),
	} {
		tab.keys = keys
		if _, err := tab.measure(t.Context(), tab.filters[0], 0, 0); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v; want an error with %q", err, name)
		}
	}
}
