package memtable

import "sort"

// run holds the entries that came in ascending order, each after every one that
// was in the run before it. Keys that are loaded in order all end up here, at a
// quarter of what the tree costs in time and half of what it costs in memory;
// the tree gets the others. The two overlap as they like: whoever walks one
// merges the other.
//
// Blocks never move. They grow from small to large, so that a run of a few
// entries takes a few bytes. The owner's lock guards a run.
type run struct {
	blocks [][]item // none is empty
	bytes  int64    // allocated
}

// Sizes of blocks, in items.
const (
	minBlock = 8
	maxBlock = 512
)

func (r *run) empty() bool { return len(r.blocks) == 0 }

func (r *run) last() item {
	b := r.blocks[len(r.blocks)-1]
	return b[len(b)-1]
}

// add appends an item that is greater than the last.
func (r *run) add(it item) {
	n := len(r.blocks) - 1
	if n >= 0 && len(r.blocks[n]) < cap(r.blocks[n]) {
		r.blocks[n] = append(r.blocks[n], it)
		return
	}
	size := minBlock
	if n >= 0 {
		size = min(2*cap(r.blocks[n]), maxBlock)
	}
	before := cap(r.blocks)
	r.blocks = append(r.blocks, append(make([]item, 0, size), it))
	r.bytes += int64(size)*itemBytes + int64(cap(r.blocks)-before)*sliceBytes
}

// place is a position in a run: of an item, or just before the first, or just
// after the last.
type place struct{ block, i int }

func (r *run) start() place { return place{0, 0} }
func (r *run) end() place   { return place{len(r.blocks), 0} }

// has reports whether there is an item at p.
func (r *run) has(p place) bool { return p.block >= 0 && p.block < len(r.blocks) }
func (r *run) at(p place) item  { return r.blocks[p.block][p.i] }

// search returns the place of the first item that is not less than it.
func (r *run) search(it item, less func(a, b item) bool) place {
	// The block is the last one whose first item is less than it.
	b := sort.Search(len(r.blocks), func(b int) bool { return !less(r.blocks[b][0], it) }) - 1
	if b < 0 {
		return r.start()
	}
	block := r.blocks[b]
	i := sort.Search(len(block), func(i int) bool { return !less(block[i], it) })
	if i == len(block) {
		return place{b + 1, 0}
	}
	return place{b, i}
}

func (r *run) next(p place) place {
	if p.i+1 < len(r.blocks[p.block]) {
		return place{p.block, p.i + 1}
	}
	return place{p.block + 1, 0}
}

func (r *run) prev(p place) place {
	if p.i > 0 {
		return place{p.block, p.i - 1}
	}
	if p.block == 0 {
		return place{-1, 0}
	}
	return place{p.block - 1, len(r.blocks[p.block-1]) - 1}
}
