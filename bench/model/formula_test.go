package model

import (
	"fmt"
	"math"
	"testing"
)

// geometryOf makes a geometry with round numbers.
func geometryOf(entry, flush, unit float64) *geometry {
	c := Default()
	c.Tree.BaseLevelSize = int64(unit)
	return &geometry{c: &c, entry: entry, flush: flush, incoming: flush * float64(c.Tree.L0Compact), unit: unit}
}

// The number of levels and their sizes are those of docs/decisions/0007: one level up to
// four times the base size, then one more for each factor of ten; a level that was put
// in is filled before the last one grows on.
func TestFormulaLevels(t *testing.T) {
	g := geometryOf(100, 25, 100) // the base size is 100
	for _, c := range []struct {
		total, last float64
		n           int
	}{
		{1, 1, 1},
		{400, 400, 1},
		{500, 400, 2}, // 100 of 200 that the base level may hold
		{600, 400, 2},
		{1100, 814.5898, 2},            // x + sqrt(100 x) = 1100
		{4632.4555, 4000, 2},           // 4000 + sqrt(100 × 4000)
		{5600, 4072.2982, 3},           // x + 100 (x/100)^(1/3) + 100 (x/100)^(2/3)
		{500_000_000, 461246279.35, 6}, // far over what six levels are for
	} {
		n, last := g.levels(c.total)
		if n != c.n || math.Abs(last-c.last) > 1e-6*c.last {
			t.Errorf("%v bytes are in %d levels, the last of %.4f; want %d and %.4f", c.total, n, last, c.n, c.last)
		}
	}
}

// A byte that is flushed costs what was worked out by hand.
func TestFormulaCost(t *testing.T) {
	g := geometryOf(100, 25, 100) // a compaction takes 100 from level 0
	for _, c := range []struct {
		what        string
		total, want float64
		p           Policy
	}{
		{"it meets 200 for each 100 in the only level", 200, 1 + 2, Levelled},
		{"the base level has 150, and nothing leaves it", 550, 1 + 1.5, Levelled},
		{"bases of 300, then 900: 1 + 3, 1 + 3", 1200, 8, Levelled},
		{"100 × 4, × 4², × 4³", 400 + 1600 + 6400, 1 + 4 + 1 + 4 + 1 + 4, Levelled},
		{"lazy: once to the upper level, and into one that is three times as large", 1200, 1 + 1 + 3, Lazy},
		{"lazy: twice, and into one that is four times as large", 8400, 1 + 1 + 1 + 4, Lazy},
	} {
		if got := g.cost(c.p, c.total); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v; want %v", c.what, got, c.want)
		}
	}
}

// The formula is within a sixth of the simulation, and mostly above it: it does not
// know that the picker takes the table with the least under it. The sizes of levels
// are the same to 2 %.
func TestFormulaAgainstSimulation(t *testing.T) {
	for _, overwrites := range []float64{0, 2} {
		for _, keys := range []uint64{10_000_000, 30_000_000, 300_000_000} { // puts
			t.Run(fmt.Sprintf("%d/%v", keys, overwrites), func(t *testing.T) {
				t.Parallel()
				c := Default()
				c.Overwrites = overwrites
				c.Keys = uint64(float64(keys) / (1 + overwrites))
				r, err := Simulate(c)
				if err != nil {
					t.Fatal(err)
				}
				e, err := Formula(c, Levelled)
				if err != nil {
					t.Fatal(err)
				}
				got, want := e.Amplification, r.Amplification()
				t.Logf("formula %.2f, simulation %.2f", got.Compact, want.Compact)
				if ratio := got.Compact / want.Compact; ratio < 0.93 || ratio > 1.167 {
					t.Errorf("compactions write %.2f by the formula, %.2f by the simulation", got.Compact, want.Compact)
				}
				if e.Levels != r.Depth() {
					t.Errorf("%d levels by the formula, %d by the simulation", e.Levels, r.Depth())
				}
				if overwrites == 0 && math.Abs(e.TableBytes/r.TableBytes()-1) > 0.02 {
					t.Errorf("%.4g bytes by the formula, %.4g by the simulation", e.TableBytes, r.TableBytes())
				}
			})
		}
	}
}
