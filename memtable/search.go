package memtable

import "github.com/siftkv/sift/internal/key"

// search is the state of one walk of the order, which follows the tree and, at
// every item of the tree, puts in the items of the run that come before it.
type search struct {
	skip bool  // leave out the pivot's key itself, which can only be the first item
	back bool  // descending
	run  place // the next item of the run
	dst  []ref
	n    int // found
}

// first copies the places of the first entries to dst and returns how many.
func (o *order) first(dst []ref) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.search = search{dst: dst, run: o.run.start()}
	o.tree.Ascend(o.visit)
	return o.finish()
}

// last copies the places of the last entries to dst, the last of all first, and
// returns how many.
func (o *order) last(dst []ref) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.search = search{dst: dst, back: true, run: o.run.prev(o.run.end())}
	o.tree.Descend(o.visit)
	return o.finish()
}

// from copies the places of the first entries at or after k, or with skip after
// k, to dst and returns how many.
func (o *order) from(k key.Internal, skip bool, dst []ref) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.walkFrom(k, skip, dst)
}

// seek returns the place of the first entry at or after k, or 0.
func (o *order) seek(k key.Internal) ref {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.walkFrom(k, false, o.one[:]) == 0 {
		return 0
	}
	return o.one[0]
}

// walkFrom is from with mu held.
func (o *order) walkFrom(k key.Internal, skip bool, dst []ref) int {
	o.search = search{skip: skip, dst: dst}
	pivot := o.setPivot(k)
	o.search.run = o.run.search(pivot, o.less)
	o.tree.AscendGreaterOrEqual(pivot, o.visit)
	return o.finish()
}

// before copies the places of the last entries before k to dst, the last of all
// first, and returns how many.
func (o *order) before(k key.Internal, dst []ref) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.search = search{skip: true, back: true, dst: dst}
	pivot := o.setPivot(k)
	o.search.run = o.run.prev(o.run.search(pivot, o.less))
	o.tree.DescendLessOrEqual(pivot, o.visit)
	return o.finish()
}

// setPivot returns the item that stands for k. It copies k, so that a lookup does
// not force its caller's key to the heap.
func (o *order) setPivot(k key.Internal) item {
	o.pivot.User = append(o.pivot.User[:0], k.User...)
	o.pivot.Trailer = k.Trailer
	return item{o.common.of(k.User), pivotRef}
}

// collect takes the next item of the tree, after the items of the run that come
// before it, and reports whether the search wants more.
func (o *order) collect(it item) bool {
	s := &o.search
	for o.run.has(s.run) && o.less(o.run.at(s.run), it) != s.back {
		if !o.takeFromRun() {
			return false
		}
	}
	return o.take(it)
}

// takeFromRun takes the next item of the run.
func (o *order) takeFromRun() bool {
	s := &o.search
	it := o.run.at(s.run)
	if s.back {
		s.run = o.run.prev(s.run)
	} else {
		s.run = o.run.next(s.run)
	}
	return o.take(it)
}

// take adds one item to what was found and reports whether there is room for
// another.
func (o *order) take(it item) bool {
	s := &o.search
	if s.skip {
		s.skip = false
		if key.Compare(o.key(it.ref), o.pivot) == 0 {
			return true
		}
	}
	s.dst[s.n] = it.ref
	s.n++
	return s.n < len(s.dst)
}

// finish takes what is left of the run, lets go of the caller's memory and returns
// the number of places found.
func (o *order) finish() int {
	s := &o.search
	for s.n < len(s.dst) && o.run.has(s.run) {
		o.takeFromRun()
	}
	n := s.n
	*s = search{}
	return n
}
