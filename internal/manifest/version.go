package manifest

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"sort"

	"github.com/siftkv/sift/internal/key"
)

// NumLevels is the number of levels. It is part of the format: an edit with a
// level beyond it is corrupt.
const NumLevels = 7

// Version is the arrangement of all tables at one moment. The zero Version is
// an empty database.
//
// Invariants, which Apply checks:
//  1. Level 0 is ordered newest first, by sequence number and never by file
//     number. Where two of its tables overlap in keys, every version in the one
//     that stands first is newer than every version in the other.
//  2. The tables of every other level are sorted and share no user key.
//  3. No file number and no table id occurs twice.
//
// A Version is immutable. Any goroutine may read it.
type Version struct {
	Levels [NumLevels]Level
}

// Level is the tables of one level, in lookup order: level 0 newest first, the
// others by key.
type Level struct {
	Tables []*TableMeta
	size   int64
	index  levelIndex
}

// Size returns the bytes of the level's tables.
func (l *Level) Size() int64 { return l.size }

// Size returns the bytes of all tables.
func (v *Version) Size() int64 {
	var n int64
	for i := range v.Levels {
		n += v.Levels[i].size
	}
	return n
}

// NumTables returns the number of tables.
func (v *Version) NumTables() int {
	n := 0
	for i := range v.Levels {
		n += len(v.Levels[i].Tables)
	}
	return n
}

// All walks every table with its level, from level 0 down.
func (v *Version) All() iter.Seq2[int, *TableMeta] {
	return func(yield func(int, *TableMeta) bool) {
		for level := range v.Levels {
			for _, t := range v.Levels[level].Tables {
				if !yield(level, t) {
					return
				}
			}
		}
	}
}

// Snapshot returns the edit that makes v out of an empty version.
func (v *Version) Snapshot() *Edit {
	e := &Edit{Added: make([]NewTable, 0, v.NumTables())}
	for level, t := range v.All() {
		e.Added = append(e.Added, NewTable{level, t})
	}
	return e
}

// Apply returns the version that e makes of v. It fails, and v is as it was, if
// the result would break an invariant: for an edit read from a file that is
// corruption, for a new one a bug.
func (v *Version) Apply(e *Edit) (*Version, error) {
	next := *v
	var changed [NumLevels]bool
	for _, d := range e.Deleted {
		if err := next.remove(d, &changed); err != nil {
			return nil, err
		}
	}
	if err := next.add(e.Added, &changed); err != nil {
		return nil, err
	}
	for level := range next.Levels {
		if !changed[level] {
			continue
		}
		if err := next.Levels[level].finish(level); err != nil {
			return nil, err
		}
	}
	return &next, nil
}

// own makes the level's table list safe to change: it was shared with the
// version before.
func (v *Version) own(level int, changed *[NumLevels]bool) *Level {
	if level < 0 || level >= NumLevels {
		return nil
	}
	l := &v.Levels[level]
	if !changed[level] {
		l.Tables = slices.Clone(l.Tables)
		changed[level] = true
	}
	return l
}

func (v *Version) remove(d DeletedTable, changed *[NumLevels]bool) error {
	l := v.own(d.Level, changed)
	if l == nil {
		return fmt.Errorf("table %06d deleted from level %d", d.Num, d.Level)
	}
	i := slices.IndexFunc(l.Tables, func(t *TableMeta) bool { return t.Num == d.Num })
	if i < 0 {
		return fmt.Errorf("table %06d deleted from level %d, which does not hold it", d.Num, d.Level)
	}
	l.Tables = slices.Delete(l.Tables, i, i+1)
	return nil
}

func (v *Version) add(added []NewTable, changed *[NumLevels]bool) error {
	if len(added) == 0 {
		return nil
	}
	nums := make(map[uint64]struct{}, len(added))
	ids := make(map[uint64]struct{}, len(added))
	for _, a := range added {
		if err := a.Meta.check(); err != nil {
			return err
		}
		nums[a.Meta.Num] = struct{}{}
		ids[a.Meta.ID] = struct{}{}
	}
	if len(nums) < len(added) || len(ids) < len(added) {
		return fmt.Errorf("a table is added twice among %d", len(added))
	}
	for level, t := range v.All() {
		_, sameNum := nums[t.Num]
		_, sameID := ids[t.ID]
		if sameNum || sameID {
			return fmt.Errorf("table %06d (id %016x) is added, but level %d holds it", t.Num, t.ID, level)
		}
	}
	for _, a := range added {
		l := v.own(a.Level, changed)
		if l == nil {
			return fmt.Errorf("table %06d added to level %d", a.Meta.Num, a.Level)
		}
		l.Tables = append(l.Tables, a.Meta)
	}
	return nil
}

// finish orders a changed level, checks it, and builds what lookups need.
func (l *Level) finish(level int) error {
	l.size = 0
	for _, t := range l.Tables {
		l.size += t.Size
	}
	check := (*Level).checkDisjoint
	if level == 0 {
		slices.SortFunc(l.Tables, newestFirst)
		check = (*Level).checkAges
	} else {
		slices.SortFunc(l.Tables, func(a, b *TableMeta) int { return key.Compare(a.Smallest, b.Smallest) })
	}
	if err := check(l); err != nil {
		return fmt.Errorf("level %d: %w", level, err)
	}
	l.index = newLevelIndex(l.Tables)
	return nil
}

// newestFirst orders level 0. Tables of equal age come from one memtable and
// share no key, so that their order is a matter of being repeatable.
func newestFirst(a, b *TableMeta) int {
	switch {
	case a.MaxSeq > b.MaxSeq:
		return -1
	case a.MaxSeq < b.MaxSeq:
		return 1
	}
	return key.Compare(a.Smallest, b.Smallest)
}

func (l *Level) checkDisjoint() error {
	for i := 1; i < len(l.Tables); i++ {
		a, b := l.Tables[i-1], l.Tables[i]
		if bytes.Compare(a.Largest.User, b.Smallest.User) >= 0 {
			return fmt.Errorf("tables %v and %v overlap", a, b)
		}
	}
	return nil
}

// checkAges finds overlapping tables of which neither is the newer one. Only
// tables whose sequence numbers interleave need a look at their keys.
func (l *Level) checkAges() error {
	for i, a := range l.Tables {
		for _, b := range l.Tables[i+1:] {
			if b.MaxSeq < a.MinSeq {
				break
			}
			if a.Overlaps(b.Smallest.User, b.Largest.User) {
				return fmt.Errorf("tables %v and %v overlap in keys and in age", a, b)
			}
		}
	}
	return nil
}

// Overlaps returns the tables of a level that may hold a key in [lo, hi], in
// lookup order. A nil bound is open. The caller must not change the result.
func (v *Version) Overlaps(level int, lo, hi []byte) []*TableMeta {
	tables := v.Levels[level].Tables
	if level == 0 {
		var out []*TableMeta
		for _, t := range tables {
			if t.Overlaps(lo, hi) {
				out = append(out, t)
			}
		}
		return out
	}
	from, to := 0, len(tables)
	if lo != nil {
		from = sort.Search(to, func(i int) bool { return bytes.Compare(tables[i].Largest.User, lo) >= 0 })
	}
	if hi != nil {
		to = from + sort.Search(to-from, func(i int) bool { return bytes.Compare(tables[from+i].Smallest.User, hi) > 0 })
	}
	return tables[from:to:to]
}

// AnyOverlap reports whether a table on level from or below may hold a key in
// [lo, hi]. A nil bound is open.
func (v *Version) AnyOverlap(from int, lo, hi []byte) bool {
	for level := from; level < NumLevels; level++ {
		if len(v.Overlaps(level, lo, hi)) > 0 {
			return true
		}
	}
	return false
}
