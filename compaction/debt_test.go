package compaction

import (
	"fmt"
	"testing"
)

// The debt is zero where nothing is due, and otherwise about what the jobs due
// will write. Default options: the unit is 256 MiB.
func TestDebt(t *testing.T) {
	for _, c := range []struct {
		what, tree string
		want       int64 // MiB
	}{
		{"nothing", ``, 0},
		{"level 0 not due", `L0 3[a-z] 2[a-z] 1[a-z]
		                     L6 9[a-z]:700`, 0},
		{"level 0 into the last level", `L0 4[a-z] 3[a-z] 2[a-z] 1[a-z]
		                                 L6 9[a-z]:700`, 4*64 + 700},
		// 1600 MiB at the bottom: two levels, 2.5 times as large from one to
		// the next, so that 640 MiB belong on level 5.
		{"a level within its size", `L5 8[a-z]:640
		                             L6 9[a-z]:1600`, 0},
		{"a level over it", `L5 8[a-z]:800
		                     L6 9[a-z]:1600`, 160 + 160*2},
		{"level 0 makes it go over", `L0 4[a-z] 3[a-z] 2[a-z] 1[a-z]
		                              L5 8[a-z]:544
		                              L6 9[a-z]:1600`, 4*64 + 544 + 160 + 160*2},
	} {
		if got := (Debt(parseTree(t, c.tree), Options{}) + mib/2) / mib; got != c.want {
			t.Errorf("%s: %d MiB, want %d", c.what, got, c.want)
		}
	}
}

// Writers are held back from L0Slow tables on, harder with each one, and at
// L0Stop altogether; never below L0Compact, when no compaction would free them.
func TestPressure(t *testing.T) {
	for _, o := range []Options{{}, {L0Compact: 1, L0Slow: 1, L0Stop: 1}, {L0Compact: 8, L0Slow: 2, L0Stop: 3}} {
		last := 0.0
		for n := range 25 {
			tree := "L0"
			for i := n; i > 0; i-- {
				tree += fmt.Sprintf(" %d[a-z]", i)
			}
			p := Pressure(parseTree(t, tree), o)
			full := o.WithDefaults()
			switch {
			case n < full.L0Slow && p != 0, n >= full.L0Slow && p <= 0, n < full.L0Stop && p == 1, n >= full.L0Stop && p != 1, p < last:
				t.Errorf("%+v: %d tables give %v, after %v", full, n, p, last)
			}
			if p > 0 && Pick(parseTree(t, tree), o, State{OldestSnapshot: NoSnapshot}) == nil {
				t.Errorf("%+v: writers wait at %d tables and nothing is due", full, n)
			}
			last = p
		}
	}
}
