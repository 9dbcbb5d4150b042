package compaction

import (
	"math"

	"github.com/siftkv/sift/internal/manifest"
)

// lastLevel is where the bulk of the data lies.
const lastLevel = manifest.NumLevels - 1

// directFanout is how many times larger than BaseLevelSize the last level may
// be while level 0 is compacted straight into it. docs/decisions/0007-level-sizes.md
// derives it.
const directFanout = 4

// shape is what the sizes of the levels ought to be.
//
// The tree is filled from the bottom: data goes from level 0 straight to the
// last level, and a level is put between only when the last one has grown so
// large that compacting into it would cost more than the detour. So most of the
// data lie on the last level, whatever the size of the database, and a lookup
// has few levels to ask.
//
//	      level 0    L0Compact tables, about BaseLevelSize
//	  ┌── base       BaseLevelSize × f
//	n ┤   ...        BaseLevelSize × f², ...
//	  └── last       BaseLevelSize × fⁿ = its real size, which fixes f
//
// n is the smallest number of levels for which compacting level 0 into base
// rewrites at most directFanout bytes for each new one where n is 1, and for
// which f stays under Multiplier otherwise.
type shape struct {
	base   int                       // where level 0 is compacted to
	target [manifest.NumLevels]int64 // bytes; of no use for levels above base and the last one
}

func shapeOf(v *manifest.Version, o Options) shape {
	bulk := int64(1)
	for level := 1; level <= lastLevel; level++ {
		bulk = max(bulk, v.Levels[level].Size())
	}
	unit := float64(o.BaseLevelSize)
	ratio := float64(bulk) / unit

	n := 1
	for limit := float64(directFanout); ratio > limit && n < lastLevel; n++ {
		limit *= float64(o.Multiplier)
	}
	s := shape{base: lastLevel + 1 - n}
	fanout := math.Pow(ratio, 1/float64(n))
	for level, size := s.base, unit; level < lastLevel; level++ {
		size *= fanout
		s.target[level] = int64(size)
	}
	s.base = min(s.base, firstUsed(v))
	return s
}

// firstUsed returns the first level under 0 that holds a table. Level 0 must
// not be compacted past it, or new versions would come to lie under old ones.
// If it lies above the base that the sizes ask for, its target is zero, so that
// it is emptied.
func firstUsed(v *manifest.Version) int {
	for level := 1; level < lastLevel; level++ {
		if len(v.Levels[level].Tables) > 0 {
			return level
		}
	}
	return lastLevel
}

// excess returns by how many times a level of the given size is over its
// target; from 1 on it is due.
func (s *shape) excess(level int, size int64, o Options) float64 {
	if target := s.target[level]; target > 0 {
		return float64(size) / float64(target)
	}
	if size == 0 {
		return 0
	}
	return 1 + float64(size)/float64(o.BaseLevelSize)
}
