package sstable

import (
	"bytes"
	"encoding/binary"
	"sort"

	"github.com/siftkv/sift/internal/key"
)

// blockIter walks the entries of one block in both directions.
//
//  1. On an entry, off is its offset, next that of the entry behind it, and
//     key, trailer and value are its fields. Off the end, off = next = the
//     length of the entries.
//  2. passed describes the entries between the entry's restart and the entry,
//     or is empty.
//
// Going back: entries say how to go forward only. The first prev in a restart
// interval decodes it once from its restart and keeps, of each key on the way,
// the bytes that the next key overwrote. Undoing those, one prev costs what one
// next costs, and the kept bytes are at most the interval's own.
//
// After a method reported false, bad says whether the block is malformed.
type blockIter struct {
	block
	off, next int
	key       []byte // owned, never nil
	trailer   key.Trailer
	value     []byte // aliases the block
	bad       bool

	passed []passedEntry
	undo   []byte // the overwritten ends of the passed keys, joined
}

// A passedEntry is an entry before the current one in its restart interval.
type passedEntry struct {
	off    int
	shared int // bytes of its key that the key behind it kept
	undo   int // where in undo the rest of its key begins
}

// reset puts the iterator on the body of another block, unpositioned. It
// reports false for a malformed body.
func (it *blockIter) reset(body []byte) bool {
	b, ok := parseBlock(body)
	it.block = b
	if it.key == nil {
		it.key = make([]byte, 0, 64)
	}
	it.bad = !ok
	it.toEnd()
	return ok
}

func (it *blockIter) toEnd() bool {
	it.off, it.next = len(it.entries), len(it.entries)
	it.passed, it.undo = it.passed[:0], it.undo[:0]
	return false
}

func (it *blockIter) fail() bool {
	it.bad = true
	return it.toEnd()
}

func (it *blockIter) first() bool { return it.toRestart(0) }

// last goes to the last entry.
func (it *blockIter) last() bool {
	it.toEnd()
	return it.prev()
}

// toRestart goes to the i-th restart.
func (it *blockIter) toRestart(i int) bool {
	it.passed, it.undo = it.passed[:0], it.undo[:0]
	it.key = it.key[:0]
	it.next = it.restart(i)
	return it.step()
}

// forward goes to the next entry.
func (it *blockIter) forward() bool {
	it.passed, it.undo = it.passed[:0], it.undo[:0]
	return it.step()
}

// step decodes the entry at next, whose predecessor's user key is in key. It
// does for itself what block.header does, without a call.
func (it *blockIter) step() bool {
	p := it.entries[it.next:]
	if len(p) < shortHeader || p[0]|p[1]|p[2] >= 0x80 {
		return it.longStep()
	}
	shared, value := int(p[0]), shortHeader+int(p[1])
	end := value + int(p[2])
	if shared > len(it.key) || end > len(p) {
		return it.fail()
	}
	it.trailer = key.Trailer(binary.LittleEndian.Uint64(p[3:]))
	it.key = append(it.key[:shared], p[shortHeader:value]...)
	it.value = p[value:end:end]
	it.off = it.next
	it.next += end
	return true
}

// longStep is step for the end of the block and for lengths that take more than
// one byte.
func (it *blockIter) longStep() bool {
	if it.next >= len(it.entries) {
		return it.toEnd()
	}
	h, ok := it.header(it.next)
	if !ok || h.shared > len(it.key) {
		return it.fail()
	}
	it.off = it.next
	it.key = append(it.key[:h.shared], it.entries[h.key:h.valueStart()]...)
	it.setEntry(&h)
	return true
}

func (it *blockIter) setEntry(h *header) {
	it.trailer = it.block.trailer(h)
	it.next = h.end()
	it.value = it.entries[h.valueStart():it.next:it.next]
}

// prev goes to the entry before. From off the end, that is the last entry.
func (it *blockIter) prev() bool {
	if len(it.passed) == 0 && !it.decodeBefore(it.off) {
		return false
	}
	last := len(it.passed) - 1
	e := it.passed[last]
	h, ok := it.header(e.off)
	if !ok {
		return it.fail()
	}
	it.off = e.off
	it.key = append(it.key[:e.shared], it.undo[e.undo:]...)
	it.passed, it.undo = it.passed[:last], it.undo[:e.undo]
	it.setEntry(&h)
	return true
}

// decodeBefore fills passed with the entries of the restart interval that ends
// at end. It reports false if there is none.
func (it *blockIter) decodeBefore(end int) bool {
	if end == 0 {
		return it.toEnd()
	}
	// The restart before the first one that is not before end.
	r := sort.Search(it.numRestarts(), func(i int) bool { return it.restart(i) >= end }) - 1
	it.key = it.key[:0]
	for it.next = it.restart(r); it.next < end; {
		h, ok := it.header(it.next)
		if !ok || h.shared > len(it.key) {
			return it.fail()
		}
		if n := len(it.passed); n > 0 {
			it.passed[n-1].shared = h.shared
			it.undo = append(it.undo, it.key[h.shared:]...)
		}
		it.passed = append(it.passed, passedEntry{off: it.next, undo: len(it.undo)})
		it.key = append(it.key[:h.shared], it.entries[h.key:h.valueStart()]...)
		it.next = h.end()
	}
	if it.next != end {
		return it.fail()
	}
	// The last one passed is where prev goes now: its key is whole.
	it.passed[len(it.passed)-1].shared = len(it.key)
	return true
}

// seekGE goes to the first entry at or after (user, t).
func (it *blockIter) seekGE(user []byte, t key.Trailer) bool {
	r, ok := it.seekRestart(user, t)
	if !ok {
		return it.fail()
	}
	ok = it.toRestart(r)
	for ok && it.before(user, t) {
		ok = it.step()
	}
	return ok
}

// seekLT goes to the last entry before (user, t).
func (it *blockIter) seekLT(user []byte, t key.Trailer) bool {
	it.seekGE(user, t)
	return !it.bad && it.prev()
}

// before reports whether the entry is before (user, t).
func (it *blockIter) before(user []byte, t key.Trailer) bool {
	c := bytes.Compare(it.key, user)
	return c < 0 || c == 0 && it.trailer > t
}
