package model

import (
	"flag"
	"math"
	"testing"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/internal/vfs"
)

var largeKeys = flag.Int("model.large", 0, "hold the model against loads of so many keys in real files too; ten million take 2 GB and some minutes")

// small returns a configuration in the proportions of the defaults, with memtables
// and tables of so many bytes.
func small(keys uint64, size int64) Config {
	c := Default()
	c.Keys, c.MemTableSize, c.TableSize, c.Tree.BaseLevelSize = keys, size, size, 4*size
	return c
}

// What the model says of a load is what the engine then does: as many flushes, what
// was written to 10 %, the bytes and entries of each level to 10 % of all, and disk
// reads for absent keys within the 99 % interval of the prediction, for present ones
// within that of 99.9 %.
//
// The loads are small, so that this takes a moment; -model.large has large ones.
func TestModelAgainstEngine(t *testing.T) {
	for _, load := range everydayLoads() {
		t.Run(load.name, func(t *testing.T) {
			t.Parallel()
			r := compare(t, load.c, sift.NewMemFS(), "db", load.lookups)
			if r.Depth() != load.depth {
				t.Errorf("%d levels are in use; this load is here for %d", r.Depth(), load.depth)
			}
		})
	}
	for _, load := range largeLoads() {
		t.Run(load.name, func(t *testing.T) { compare(t, load.c, vfs.OS(), t.TempDir(), load.lookups) })
	}
}

// A load is what is put, and how many keys are looked up then.
type load struct {
	name    string
	c       Config
	depth   int // levels under level 0 that are in use
	lookups int
}

func everydayLoads() []load {
	with := func(c Config, change func(*Config)) Config {
		change(&c)
		return c
	}
	return []load{
		{"one level", small(30_000, 256<<10), 1, 50_000},
		{"two levels", small(100_000, 128<<10), 2, 50_000},
		{"three levels", small(82_500, 32<<10), 3, 50_000},
		// which of two jobs ends first is chance, and which keys the filters get
		{"two workers", with(small(60_000, 128<<10), func(c *Config) { c.Workers = 2 }), 2, 0},
		{"overwrites", with(small(60_000, 128<<10), func(c *Config) { c.Overwrites = 1 }), 2, 50_000},
		{"large values", with(small(20_000, 128<<10), func(c *Config) { c.ValueSize = 1000 }), 2, 50_000},
		{"another shape", with(small(60_000, 64<<10), func(c *Config) {
			c.Tree.L0Compact, c.Tree.BaseLevelSize, c.Tree.Multiplier, c.BitsPerKey = 2, 100_000, 4, 6
		}), 3, 50_000},
	}
}

// largeLoads are as large as is asked for: with default options, and with tables of
// 3 MiB, of which ten million keys make three levels.
func largeLoads() []load {
	if *largeKeys == 0 {
		return nil
	}
	c := Default()
	c.Keys = uint64(*largeKeys)
	return []load{
		{"large, defaults", c, 0, 1_000_000},
		{"large, small tables", small(c.Keys, 3<<20), 0, 1_000_000},
	}
}

// compare holds the model against the engine.
func compare(t *testing.T, c Config, fs vfs.FS, dir string, lookups int) *Result {
	t.Helper()
	r, err := Simulate(c)
	if err != nil {
		t.Fatal(err)
	}
	e := openEngine(t, c, fs, dir)
	e.load()
	m := e.db.Metrics()
	w := m.Writes
	near(t, "flushes", float64(r.Flushes), float64(w.Flushes), 0.01*float64(w.Flushes)+0.5)
	near(t, "bytes logged", r.BatchBytes, float64(w.Logged), 0.5)
	near(t, "bytes flushed", r.FlushBytes, float64(w.FlushedBytes), 0.1*float64(w.FlushedBytes))
	near(t, "bytes compacted", r.CompactBytes, float64(w.CompactedOut), 0.1*float64(w.CompactedOut))
	near(t, "write amplification", (r.BatchBytes+r.FlushBytes+r.CompactBytes)/r.BatchBytes, w.Amplification(), 0.1*w.Amplification())
	near(t, "filter memory", r.FilterBytes, float64(m.Filters.Memory), 0.02*float64(m.Filters.Memory))
	var size, entries float64
	for _, l := range m.Levels {
		size, entries = size+float64(l.Size), entries+float64(l.Entries)
	}
	near(t, "bytes of tables", r.TableBytes(), size, 0.03*size)
	for i, l := range m.Levels {
		if l.Tables > 0 || r.Levels[i].Tables > 0 {
			t.Logf("level %d: model %d tables, engine %d", i, r.Levels[i].Tables, l.Tables)
			near(t, "  bytes", float64(r.Levels[i].Bytes), float64(l.Size), 0.1*size)
			near(t, "  entries", r.Levels[i].Entries, float64(l.Entries), 0.1*entries)
		}
	}
	if lookups > 0 {
		compareReads(t, r, e, lookups)
	}
	return r
}

// compareReads looks up keys with all tables open and no block in a cache.
func compareReads(t *testing.T, r *Result, e *engine, lookups int) {
	t.Helper()
	e.lookups(e.openAll(), false)
	want := r.Reads(e.c)
	inFilters := filterVariance(t, r.Runs, e.c.BitsPerKey)
	n := float64(lookups)
	// Quantiles of the normal distribution, two-sided. Present keys are those of the
	// same filters, so that they are not another chance to find what is wrong, but one
	// to be wrong about what is right.
	const percent99, permille999 = 2.576, 3.291
	near(t, "reads of an absent key", want.Absent, e.lookups(lookups, true)/n, percent99*math.Sqrt(want.Absent/n+inFilters))
	inVain := max(want.Present-1, 1/n)
	again := inVain / float64(e.c.Keys) // there are only so many keys, and which of them are unlucky is chance too
	near(t, "reads of a present key", want.Present, e.lookups(lookups, false)/n, permille999*math.Sqrt(inVain/n+again+inFilters))
}

// filterVariance returns the variance of the sum of the runs' rates: filters of
// other keys have other rates, the more so the fewer keys there are.
func filterVariance(t *testing.T, runs []Run, bits float64) (variance float64) {
	t.Helper()
	for _, run := range runs {
		b, err := bloom.NewBuilder(bloom.Blocked, bits)
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(run.Entries / run.Tables) {
			b.Add(bloom.Hash(keyAt(i)))
		}
		data, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		f, err := bloom.Open(data)
		if err != nil {
			t.Fatal(err)
		}
		d := bloom.Measure(f, 1, 1).Deviation * run.Covered
		variance += d * d / run.Tables
	}
	return variance
}

func near(t *testing.T, what string, model, engine, tolerance float64) {
	t.Helper()
	t.Logf("%-22s model %14.6g   engine %14.6g   %+.2f %%", what, model, engine, 100*(model/engine-1))
	if !(math.Abs(model-engine) <= tolerance) {
		t.Errorf("%s: the model says %v, the engine %v; no more than %v apart was promised", what, model, engine, tolerance)
	}
}
