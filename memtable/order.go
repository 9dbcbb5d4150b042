package memtable

import (
	"sync"

	"github.com/google/btree"

	"github.com/siftkv/sift/internal/key"
)

// item stands for an entry in the tree. It holds no pointer, so that the garbage
// collector does not look into the tree's nodes.
type item struct {
	prefix uint64 // what order.common makes of the entry's user key
	ref    ref
}

// pivotRef is the ref of the item that stands for the key of a search.
const pivotRef = ^ref(0)

// degree of the tree: nodes of up to 2*degree-1 items, or 2 KiB. Inserting takes
// about the same at 64 and 128, and more at 16 and 32.
const degree = 64

// order keeps the entries sorted. Everything is guarded by mu, which is held for
// one insert or one batch of an iterator, never longer; only the one goroutine
// that inserts may read tree and common without it.
type order struct {
	arena *arena
	seen  prefixTracker // for the inserting goroutine only

	mu     sync.Mutex
	tree   *btree.BTreeG[item]
	common commonPrefix // what the tree's items are computed with
	search search
	visit  btree.ItemIteratorG[item] // collect; made once, so that searches do not allocate
	one    [1]ref
}

// search is what a walk of the tree looks for and what it has found.
type search struct {
	key       key.Internal // where it begins
	exclusive bool         // leave out key itself
	dst       []ref
	n         int // found
}

func (o *order) init(a *arena) {
	o.arena = a
	o.tree = btree.NewG(degree, o.less)
	o.visit = o.collect
}

func (o *order) less(a, b item) bool {
	if a.prefix != b.prefix {
		return a.prefix < b.prefix
	}
	return key.Compare(o.key(a.ref), o.key(b.ref)) < 0
}

func (o *order) key(r ref) key.Internal {
	if r == pivotRef {
		return o.search.key
	}
	return o.arena.at(r).internal()
}

// insert adds the entry at r. user is its user key, in the arena.
func (o *order) insert(user []byte, r ref) {
	it := item{o.common.of(user), r}
	o.mu.Lock()
	o.tree.ReplaceOrInsert(it)
	o.mu.Unlock()
	if o.seen.note(user) && o.seen.shared != len(o.common) {
		o.rebuild(o.seen.common())
	}
}

// rebuild computes the items anew for another prefix. It makes a second tree
// while readers go on with the first.
func (o *order) rebuild(common commonPrefix) {
	tree := btree.NewG(degree, o.less)
	o.tree.Ascend(func(it item) bool {
		it.prefix = common.of(o.arena.at(it.ref).user())
		tree.ReplaceOrInsert(it)
		return true
	})
	o.mu.Lock()
	o.tree, o.common = tree, common
	o.mu.Unlock()
}

// first copies the places of the first entries to dst and returns how many.
func (o *order) first(dst []ref) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.search = search{dst: dst}
	o.tree.Ascend(o.visit)
	return o.finish()
}

// last copies the places of the last entries to dst, the last of all first.
func (o *order) last(dst []ref) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.search = search{dst: dst}
	o.tree.Descend(o.visit)
	return o.finish()
}

// from copies the places of the first entries at or after k, or with exclusive
// after k, to dst and returns how many.
func (o *order) from(k key.Internal, exclusive bool, dst []ref) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.search = search{key: k, exclusive: exclusive, dst: dst}
	o.tree.AscendGreaterOrEqual(item{o.common.of(k.User), pivotRef}, o.visit)
	return o.finish()
}

// before copies the places of the last entries before k to dst, the last of all
// first, and returns how many.
func (o *order) before(k key.Internal, dst []ref) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.search = search{key: k, exclusive: true, dst: dst}
	o.tree.DescendLessOrEqual(item{o.common.of(k.User), pivotRef}, o.visit)
	return o.finish()
}

// seek returns the place of the first entry at or after k, or 0.
func (o *order) seek(k key.Internal) ref {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.one[0] = 0
	o.search = search{key: k, dst: o.one[:]}
	o.tree.AscendGreaterOrEqual(item{o.common.of(k.User), pivotRef}, o.visit)
	o.finish()
	return o.one[0]
}

// collect takes the next item of a search and reports whether it wants more. Only
// the first item can be the search's own key.
func (o *order) collect(it item) bool {
	s := &o.search
	if s.exclusive {
		s.exclusive = false
		if key.Compare(o.key(it.ref), s.key) == 0 {
			return true
		}
	}
	s.dst[s.n] = it.ref
	s.n++
	return s.n < len(s.dst)
}

// finish forgets the search, so that the caller's memory is not kept, and returns
// the number of places found.
func (o *order) finish() int {
	n := o.search.n
	o.search = search{}
	return n
}
