package sstable

import (
	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/key"
)

// rangeIter walks the range deletions of a table: the key is the start of the
// range, the value its end. They are in memory, so it reads nothing.
type rangeIter struct {
	r     *Reader
	b     blockIter
	valid bool
	err   error
}

var _ iterator.Iterator = (*rangeIter)(nil)

// NewRangeDelIter returns an iterator over the range deletions, or nil if the
// table has none.
func (r *Reader) NewRangeDelIter() iterator.Iterator {
	if r.rangeDel == nil {
		return nil
	}
	return &rangeIter{r: r}
}

// reset begins a new walk, which also forgets an error.
func (it *rangeIter) reset() bool {
	it.err = nil
	return it.b.reset(it.r.rangeDel) || it.accept(false)
}

func (it *rangeIter) accept(ok bool) bool {
	it.valid = ok
	if it.b.bad && it.err == nil {
		it.err = key.Corruptf(it.r.src.name, int64(it.r.footer.rangeDel.Off), "malformed range deletions")
	}
	return ok
}

func (it *rangeIter) First() bool { return it.reset() && it.accept(it.b.first()) }
func (it *rangeIter) Last() bool  { return it.reset() && it.accept(it.b.last()) }
func (it *rangeIter) SeekGE(k key.Internal) bool {
	return it.reset() && it.accept(it.b.seekGE(k.User, k.Trailer))
}

func (it *rangeIter) SeekLT(k key.Internal) bool {
	return it.reset() && it.accept(it.b.seekLT(k.User, k.Trailer))
}
func (it *rangeIter) Next() bool  { return it.valid && it.accept(it.b.forward()) }
func (it *rangeIter) Prev() bool  { return it.valid && it.accept(it.b.prev()) }
func (it *rangeIter) Valid() bool { return it.valid }

func (it *rangeIter) Key() key.Internal {
	n := len(it.b.key)
	return key.Internal{User: it.b.key[:n:n], Trailer: it.b.trailer}
}

func (it *rangeIter) Value() []byte { return it.b.value }
func (it *rangeIter) Error() error  { return it.err }

func (it *rangeIter) Close() error {
	it.valid = false
	return it.err
}
