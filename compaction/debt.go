package compaction

import "github.com/siftkv/sift/internal/manifest"

// Debt estimates the bytes that compactions must write until no level is over
// its size, if nothing more is flushed. It is zero in a tree at rest.
func Debt(v *manifest.Version, o Options) int64 {
	o = o.WithDefaults()
	s := shapeOf(v, o)
	var debt, moving int64
	if l0 := &v.Levels[0]; len(l0.Tables) >= o.L0Compact {
		moving = l0.Size()
		debt = moving + v.Levels[s.base].Size()
	}
	for level := s.base; level < lastLevel; level++ {
		size := v.Levels[level].Size() + moving
		moving = max(size-s.target[level], 0)
		if moving > 0 {
			next := float64(v.Levels[level+1].Size())
			debt += moving + int64(float64(moving)*next/float64(size))
		}
	}
	return debt
}

// Pressure says how hard to hold writers back: 0 not at all, 1 until a
// compaction of level 0 has ended, and between them ever more as level 0 grows
// from L0Slow tables to L0Stop. A level further down that lags shows here too,
// since the picker then works on it first.
func Pressure(v *manifest.Version, o Options) float64 {
	o = o.WithDefaults()
	over := len(v.Levels[0].Tables) - o.L0Slow + 1
	return min(max(float64(over)/float64(o.L0Stop-o.L0Slow+1), 0), 1)
}
