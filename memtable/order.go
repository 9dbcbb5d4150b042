package memtable

import (
	"sync"

	"github.com/google/btree"

	"github.com/siftkv/sift/internal/key"
)

// item stands for an entry in the order. It holds no pointer, so that the garbage
// collector does not look into the tree's nodes.
type item struct {
	prefix uint64 // what order.common makes of the entry's user key
	ref    ref
}

// pivotRef is the ref of the item that stands for the key of a search.
const pivotRef = ^ref(0)

const (
	itemBytes  = 16
	sliceBytes = 24 // a slice header, on 64-bit systems
	// treeBytes is what an item takes in the tree, whose nodes are ln 2 full after
	// inserts in random order. Measured: 24 in random order, 17 in descending
	// order, 34 when several ascending streams are mixed.
	treeBytes = 24
)

// degree of the tree: nodes of up to 2*degree-1 items, or 2 KiB. Inserting takes
// about the same at 64 and 128, and more at 16 and 32.
const degree = 64

// order keeps the entries sorted: those that came in ascending order in a run, the
// others in a tree. Everything is guarded by mu, which is held for one insert or
// for one batch of an iterator, never longer; only the one goroutine that inserts
// may read without it.
type order struct {
	arena *arena
	seen  prefixTracker // for the inserting goroutine only

	mu     sync.Mutex
	run    run
	tree   *btree.BTreeG[item]
	common commonPrefix // what the items are computed with
	search search
	pivot  key.Internal              // where it begins; owned
	visit  btree.ItemIteratorG[item] // collect; made once, so that searches do not allocate
	one    [1]ref
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
		return o.pivot
	}
	return o.arena.at(r).internal()
}

// insert adds the entry at r. user is its user key, in the arena.
func (o *order) insert(user []byte, r ref) {
	it := item{o.common.of(user), r}
	o.mu.Lock()
	if o.run.empty() || o.less(o.run.last(), it) {
		o.run.add(it)
	} else {
		o.tree.ReplaceOrInsert(it)
	}
	o.mu.Unlock()
	if o.seen.note(user) && len(o.seen.common()) != len(o.common) {
		o.rebuild(o.seen.common())
	}
}

// rebuild computes the items anew for another prefix. It copies them while readers
// go on with what there is.
func (o *order) rebuild(common commonPrefix) {
	recompute := func(it item) item {
		it.prefix = common.of(o.arena.at(it.ref).user())
		return it
	}
	var r run
	for p := o.run.start(); o.run.has(p); p = o.run.next(p) {
		r.add(recompute(o.run.at(p)))
	}
	tree := btree.NewG(degree, o.less)
	o.tree.Ascend(func(it item) bool {
		tree.ReplaceOrInsert(recompute(it))
		return true
	})
	o.mu.Lock()
	o.run, o.tree, o.common = r, tree, common
	o.mu.Unlock()
}

// size returns the bytes that run and tree take.
func (o *order) size() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.run.bytes + int64(o.tree.Len())*treeBytes
}
