package model

import (
	"math"

	"github.com/siftkv/sift/bloom"
)

// A Policy says how many runs a level may hold.
type Policy string

const (
	// Levelled keeps each level but level 0 as one run. It is what the engine does.
	Levelled Policy = "levelled"
	// Lazy is lazy levelling: the last level is one run, and each level above it
	// collects runs until there are as many as a level is times larger than the one
	// above, which then become one run of the next. The engine does not have it.
	// Dayan, Idreos: Dostoevsky, SIGMOD 2018, https://doi.org/10.1145/3183713.3196927.
	Lazy Policy = "lazy levelling"
)

// Formula returns what the formulas say of a load.
func Formula(c Config, p Policy) (*Estimate, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s, err := newSizer(&c)
	if err != nil {
		return nil, err
	}
	return newGeometry(&c, s).estimate(p), nil
}

// A geometry is the sizes that the formulas are about, in bytes of tables.
type geometry struct {
	c        *Config
	entry    float64 // of an entry, filter included
	flush    float64 // of a table that a memtable becomes
	incoming float64 // of what one compaction of level 0 takes from it
	unit     float64 // Tree.BaseLevelSize
}

// newGeometry returns them for a number of keys. The sizer is that of the same
// options.
func newGeometry(c *Config, s *sizer) *geometry {
	g := &geometry{c: c, unit: float64(c.tree().BaseLevelSize)}
	g.entry = s.sampleOf(float64(c.Keys)).perEntry + c.BitsPerKey/8
	puts := min(c.memTablePuts(0, c.Sequential), max(float64(c.Keys), 1))
	g.flush = float64(s.bytes(puts, puts))
	g.incoming = g.flush * float64(c.tree().L0Compact)
	return g
}

// directFanout is how many times BaseLevelSize the last level may be while level 0 is
// compacted straight into it, as package compaction has it.
const directFanout = 4

// full returns how large the last of n levels may become before there is one more.
func (g *geometry) full(n int) float64 {
	return directFanout * g.unit * math.Pow(float64(g.c.tree().Multiplier), float64(n-1))
}

// levels returns how many levels there are under level 0 and what the last one holds,
// in a database of so many bytes. A level that was put in is filled before the last
// one grows on.
func (g *geometry) levels(total float64) (n int, last float64) {
	for n = 1; n < NumLevels-1 && total > g.full(n)+g.above(n, g.full(n)); n++ {
	}
	last = total
	for range 30 { // what lies above depends on what lies below; a few rounds settle it
		last = max(total-g.above(n, last), total/2)
	}
	if n > 1 {
		last = max(last, g.full(n-1))
	}
	return n, last
}

// cost returns the bytes that compactions write for each byte that is flushed, while
// the database has so many. A byte that goes down a level is written, and with it what
// it meets there: for levelled, as much as the level is larger than the one above. It
// goes down no further than to the first level that is not full.
//
// O'Neil, Cheng, Gawlick, O'Neil: The log-structured merge-tree, Acta Informatica 33
// (1996), https://doi.org/10.1007/s002360050048, theorem 3.1: components whose sizes
// are a geometric series cost the least. Dostoevsky, section 3, for lazy levelling.
func (g *geometry) cost(p Policy, total float64) float64 {
	n, last := g.levels(total)
	if n == 1 {
		return 1 + last/g.incoming
	}
	if p == Lazy {
		return float64(n) + g.lazyFanout(n, last)
	}
	oldLast := g.full(n - 1)
	grown := total - g.above(n-1, oldLast) - oldLast // since there are n levels
	cost, above := 1.0, g.incoming
	for i := 1; i < n; i++ {
		size, old := g.target(i, n, last), 0.0
		if i > 1 {
			old = g.target(i-1, n-1, oldLast) // the same level, when it was the one nearer to the top
		}
		if grown < size-old {
			return cost + (old+max(grown, 0))/above
		}
		grown -= size - old
		cost += size/above + 1
		above = size
	}
	return cost + last/above
}

// lazyFanout returns how many runs of a level become one of the next, with n levels and
// runs on the first one that are what comes from level 0 at once.
func (g *geometry) lazyFanout(n int, last float64) float64 {
	return max(1, math.Pow(last/g.incoming, 1/float64(n)))
}

// target returns what the i-th level under level 0 holds of n whose sizes are a
// geometric series up to the last.
func (g *geometry) target(i, n int, last float64) float64 {
	return g.unit * math.Pow(last/g.unit, float64(i)/float64(n))
}

// above returns what all n levels but the last hold.
func (g *geometry) above(n int, last float64) (sum float64) {
	for i := 1; i < n; i++ {
		sum += g.target(i, n, last)
	}
	return sum
}

// compacted returns the bytes that compactions write for a load. A database grows
// while it is loaded, so that the first keys cost less than the last; one that is
// overwritten does not, and a version that is overwritten ends on the last level.
func (g *geometry) compacted(p Policy) float64 {
	total := g.entry * float64(g.c.Keys)
	if total <= g.incoming || g.c.Sequential && g.c.Overwrites == 0 {
		return 0 // nothing is due, or tables move down as they are
	}
	var sum float64
	if !g.c.Sequential {
		const steps = 400
		growth := math.Pow(total/g.incoming, 1.0/steps)
		for i, size := 0, g.incoming; i < steps; i++ {
			next := size * growth
			sum += (next - size) * g.cost(p, (size+next)/2)
			size = next
		}
	}
	return sum + total*g.c.Overwrites*(g.cost(p, total)-1)
}

func (g *geometry) estimate(p Policy) *Estimate {
	c := g.c
	keys := float64(c.Keys)
	e := &Estimate{Keys: c.Keys, Policy: p, FilterBytes: keys * c.BitsPerKey / 8}
	if keys == 0 {
		return e
	}
	total := keys * g.entry
	var last float64
	e.Levels, last = g.levels(total)
	if total <= g.incoming {
		e.Levels = 0
	}
	runs := g.runs(p, e.Levels, total, last)
	for _, r := range runs {
		e.Runs += r.number
		e.TableBytes += r.number * r.bytes
	}
	e.Tables = e.TableBytes / float64(c.TableSize)
	user := c.puts() * c.pairBytes()
	e.Amplification = WriteAmplification{
		Log:     float64(c.logBytes()) / c.pairBytes(),
		Flush:   g.flush / (min(c.memTablePuts(0, c.Sequential), keys) * c.pairBytes()),
		Compact: g.compacted(p) / user,
	}
	g.reads(e, runs)
	e.setSpace(*c)
	return e
}

// A runClass is runs that are alike. Their number need not be whole: it is a mean.
type runClass struct{ number, bytes float64 }

// runs returns what a lookup asks, from top to bottom, once everything is put. Of
// level 0, and of each level that lazy levelling fills with runs, it is half of what
// there may be. Keys that were put in order lie in one table at most.
func (g *geometry) runs(p Policy, levels int, total, last float64) []runClass {
	if g.c.Sequential && g.c.Overwrites == 0 {
		return []runClass{{1, total}}
	}
	if levels == 0 {
		return []runClass{{max(total/g.flush, 1), min(g.flush, total)}}
	}
	runs := []runClass{{float64(g.c.tree().L0Compact-1) / 2, g.flush}}
	for i := 1; i < levels; i++ {
		if p == Lazy {
			fanout := g.lazyFanout(levels, last)
			runs = append(runs, runClass{(fanout - 1) / 2, g.incoming * math.Pow(fanout, float64(i-1))})
			continue
		}
		runs = append(runs, runClass{1, g.target(i, levels, last)})
	}
	// What was overwritten, and lies above, lies here too.
	if g.c.Overwrites == 0 {
		for _, r := range runs {
			total -= r.number * r.bytes
		}
	}
	return append(runs, runClass{1, max(total, g.flush)})
}

func (g *geometry) reads(e *Estimate, runs []runClass) {
	sizes := make([]bloom.Run, len(runs))
	met := make([]place, len(runs))
	var all float64
	for _, r := range runs {
		all += r.number * r.bytes
	}
	for i, r := range runs {
		share := r.number * r.bytes / all
		sizes[i] = bloom.Run{Keys: uint64(share * float64(g.c.Keys)), Kind: bloom.Blocked, Weight: r.number}
		met[i] = place{density: density{first: share}, covered: r.number, rate: rateForBits(g.c.BitsPerKey)}
	}
	open := opening(e.Tables, g.c.MaxOpenFiles)
	e.Uniform = expectedReads(met).times(open)
	for i, rate := range monkey(sizes, g.c.BitsPerKey) {
		met[i].rate = rate
	}
	e.setMonkey(expectedReads(met).times(open))
	if g.c.BitsPerKey > 0 {
		e.MonkeyBytes = float64(g.c.Keys) / 8 * monkeyBits(sizes, g.c.BitsPerKey, e.Uniform.Absent/open)
	}
}

func (r Reads) times(x float64) Reads { return Reads{r.Absent * x, r.Present * x} }

// monkeyBits returns the average bits a key with which absent keys cost as many reads
// as are given, to a hundredth of what there are.
func monkeyBits(runs []bloom.Run, most, reads float64) float64 {
	low, high := 0.0, most
	for high-low > most/100 {
		mid := (low + high) / 2
		wasted := 0.0
		for i, rate := range monkey(runs, mid) {
			wasted += runs[i].Weight * rate
		}
		if wasted > reads {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}
