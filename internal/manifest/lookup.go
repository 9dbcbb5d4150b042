package manifest

import (
	"bytes"
	"math/bits"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/internal/key"
)

// Candidate is a table whose bounds hold a key, so that its filter must be
// asked.
type Candidate struct {
	Level  int
	Table  *TableMeta
	Filter *bloom.Filter
}

// levelIndex is what a lookup touches of a level: flat arrays, no pointer
// followed until a key is known to lie between a table's bounds.
//
//	prefix   the bytes that every key of the level starts with
//	slots    one per table, 32 bytes, so that two share a cache line:
//	         {smallest, largest: the 8 bytes after the prefix; filter; table}
//	largest  the slots' largest alone, eight to a cache line, for the search
//
// The 8 bytes start after the common prefix, since on paths and the like the
// first 8 bytes of all keys are the same. A table's own bounds are compared
// only where the 8 bytes tie.
type levelIndex struct {
	prefix  []byte
	largest []uint64
	slots   []slot
}

type slot struct {
	smallest, largest uint64
	filter            *bloom.Filter
	table             *TableMeta
}

func newLevelIndex(tables []*TableMeta) levelIndex {
	if len(tables) == 0 {
		return levelIndex{}
	}
	x := levelIndex{
		prefix:  commonPrefix(tables),
		largest: make([]uint64, len(tables)),
		slots:   make([]slot, len(tables)),
	}
	skip := len(x.prefix)
	for i, t := range tables {
		x.slots[i] = slot{key.Prefix(t.Smallest.User, skip), key.Prefix(t.Largest.User, skip), t.Filter, t}
		x.largest[i] = x.slots[i].largest
	}
	return x
}

// commonPrefix returns the bytes that all bounds, and so all keys between
// them, share.
func commonPrefix(tables []*TableMeta) []byte {
	first := tables[0].Smallest.User
	n := len(first)
	for _, t := range tables {
		n = min(n, key.CommonPrefix(first, t.Smallest.User), key.CommonPrefix(first, t.Largest.User))
	}
	return bytes.Clone(first[:n])
}

// Candidates appends to buf the tables that may hold user, in the order in
// which a lookup must ask them: level 0 newest first, then at most one table of
// each level. It allocates only if buf has no room.
//
// The order is what makes the first version found the right one: a level holds
// nothing newer than the levels above it, and a table of level 0 nothing newer
// than the tables before it.
func (v *Version) Candidates(user []byte, buf []Candidate) []Candidate {
	buf = v.Levels[0].index.scan(user, buf)
	for level := 1; level < NumLevels; level++ {
		x := &v.Levels[level].index
		if len(x.largest) == 0 || !bytes.HasPrefix(user, x.prefix) {
			continue
		}
		if i := x.search(user, key.Prefix(user, len(x.prefix))); i >= 0 {
			s := &x.slots[i]
			buf = append(buf, Candidate{level, s.table, s.filter})
		}
	}
	return buf
}

// scan appends the tables of level 0 that may hold user.
func (x *levelIndex) scan(user []byte, buf []Candidate) []Candidate {
	if !bytes.HasPrefix(user, x.prefix) {
		return buf
	}
	p := key.Prefix(user, len(x.prefix))
	for i := range x.slots {
		if s := &x.slots[i]; s.holds(user, p) {
			buf = append(buf, Candidate{0, s.table, s.filter})
		}
	}
	return buf
}

// search returns the index of the table that may hold user, whose 8 bytes are
// p, or -1.
func (x *levelIndex) search(user []byte, p uint64) int {
	i := lowerBound(x.largest, p)
	if i < len(x.largest) && x.largest[i] == p {
		i += x.searchTied(user, i, p)
	}
	if i < len(x.slots) && x.slots[i].startsAtOrBefore(user, p) {
		return i
	}
	return -1
}

// searchTied returns how many of the tables from i on, whose largest keys tie
// with user in their 8 bytes, end before user.
func (x *levelIndex) searchTied(user []byte, i int, p uint64) int {
	n := len(x.largest) - i
	if p != ^uint64(0) {
		n = lowerBound(x.largest[i:], p+1)
	}
	lo, hi := 0, n
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if bytes.Compare(x.slots[i+mid].table.Largest.User, user) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// holds reports whether user, whose 8 bytes are p, lies between the bounds.
func (s *slot) holds(user []byte, p uint64) bool {
	if p < s.smallest || p > s.largest {
		return false
	}
	return s.startsAtOrBefore(user, p) &&
		(p != s.largest || bytes.Compare(user, s.table.Largest.User) <= 0)
}

func (s *slot) startsAtOrBefore(user []byte, p uint64) bool {
	return s.smallest < p || s.smallest == p && bytes.Compare(s.table.Smallest.User, user) <= 0
}

// lowerBound returns the index of the first element of a that is not less than
// p. The step is arithmetic on the borrow of a subtraction, since the compiler
// makes a branch of an if here, and each second one would be mispredicted:
// 1.4 times as slow in BenchmarkCandidates.
func lowerBound(a []uint64, p uint64) int {
	base, n := 0, len(a)
	for n > 1 {
		half := n >> 1
		_, less := bits.Sub64(a[base+half-1], p, 0)
		base += half & -int(less)
		n -= half
	}
	if base < len(a) && a[base] < p {
		base++
	}
	return base
}
