package compaction

import (
	"bytes"

	"github.com/siftkv/sift/internal/manifest"
)

// below tells whether a tombstone may have something to hide in the tables that
// are older than what is being compacted. It is asked for ascending user keys,
// so that it walks each level once.
type below struct {
	overlapping []*manifest.TableMeta   // tables of level 0, in any order
	runs        [][]*manifest.TableMeta // levels, each sorted and disjoint
}

// newBelow covers the levels of v from the given one down.
func newBelow(v *manifest.Version, from int) below {
	var b below
	for level := from; level < manifest.NumLevels; level++ {
		tables := v.Levels[level].Tables
		switch {
		case len(tables) == 0:
		case level == 0:
			b.overlapping = tables
		default:
			b.runs = append(b.runs, tables)
		}
	}
	return b
}

// mayHold reports whether a table's bounds hold user, which must not be less
// than in the call before.
func (b *below) mayHold(user []byte) bool {
	for _, t := range b.overlapping {
		if t.Overlaps(user, user) {
			return true
		}
	}
	for i, run := range b.runs {
		for len(run) > 0 && bytes.Compare(run[0].Largest.User, user) < 0 {
			run = run[1:]
		}
		b.runs[i] = run
		if len(run) > 0 && bytes.Compare(run[0].Smallest.User, user) <= 0 {
			return true
		}
	}
	return false
}
