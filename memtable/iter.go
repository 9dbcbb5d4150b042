package memtable

import (
	"slices"

	"github.com/siftkv/sift/internal/key"
)

// Sizes of the batches that an iterator copies from the tree. The first after a
// seek is small, because most seeks look at few entries.
const (
	firstBatch = 8
	maxBatch   = 64
)

// iter walks a MemTable that may be written to meanwhile.
//
// The tree has no cursor, so iter copies the places of the next entries, a batch
// under one short lock, and walks its copy. (Cloning the tree for each iterator
// lost: docs/decisions/0004-memtable-iterators.md.) The copy is in ascending
// order in both directions, so a change of direction within it costs nothing.
type iter struct {
	m     *MemTable
	cur   entry // the entry at buf[at]; nil: not on an entry
	at, n int
	batch int // size of the last batch
	buf   [maxBatch]ref
}

func (it *iter) Valid() bool       { return it.cur != nil }
func (it *iter) Key() key.Internal { return it.cur.internal() }
func (it *iter) Value() []byte     { return it.cur.value() }
func (it *iter) Error() error      { return nil }

func (it *iter) Close() error {
	it.m, it.cur = nil, nil
	return nil
}

func (it *iter) First() bool {
	it.batch = firstBatch
	return it.ascending(it.m.order.first(it.buf[:it.batch]))
}

func (it *iter) Last() bool {
	it.batch = firstBatch
	return it.descending(it.m.order.last(it.buf[:it.batch]))
}

func (it *iter) SeekGE(k key.Internal) bool {
	it.batch = firstBatch
	return it.ascending(it.m.order.from(k, false, it.buf[:it.batch]))
}

func (it *iter) SeekLT(k key.Internal) bool {
	it.batch = firstBatch
	return it.descending(it.m.order.before(k, it.buf[:it.batch]))
}

func (it *iter) Next() bool {
	switch {
	case it.cur == nil:
		return false
	case it.at+1 < it.n:
		return it.stand(it.at + 1)
	}
	it.widen()
	return it.ascending(it.m.order.from(it.Key(), true, it.buf[:it.batch]))
}

func (it *iter) Prev() bool {
	switch {
	case it.cur == nil:
		return false
	case it.at > 0:
		return it.stand(it.at - 1)
	}
	it.widen()
	return it.descending(it.m.order.before(it.Key(), it.buf[:it.batch]))
}

func (it *iter) widen() { it.batch = min(2*it.batch, maxBatch) }

// ascending takes the batch of n places in buf and stands on the first.
func (it *iter) ascending(n int) bool {
	it.n = n
	return it.stand(0)
}

// descending takes the batch of n places in buf, the last entry first, and stands
// on that entry.
func (it *iter) descending(n int) bool {
	it.n = n
	slices.Reverse(it.buf[:n])
	return it.stand(n - 1)
}

func (it *iter) stand(at int) bool {
	it.at, it.cur = at, nil
	if at >= 0 && at < it.n {
		it.cur = it.m.arena.at(it.buf[at])
	}
	return it.cur != nil
}
