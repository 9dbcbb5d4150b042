package sstable

import (
	"github.com/siftkv/sift/internal/cache"
	"github.com/siftkv/sift/internal/invariants"
	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/key"
)

// tableIter walks a table's entries, one pinned block at a time. It is for one
// goroutine.
//
//  1. valid means that b stands on an entry of the held block, whose number is
//     at.
//  2. After an error valid is false and only the methods that position anew
//     clear err.
type tableIter struct {
	r      *Reader
	blocks blockReader
	held   *cache.Block // nil: none
	at     int
	b      blockIter
	valid  bool
	err    error
	first  error // the first error met, for Close
}

var _ iterator.Iterator = (*tableIter)(nil)

// NewIter returns an iterator that shares blocks with the cache. Once a walk is
// seen to go on where the cache has nothing, it reads spans of up to 256 KiB.
func (r *Reader) NewIter() iterator.Iterator {
	return &tableIter{r: r, blocks: newBlockReader(r, false)}
}

// NewCompactionIter returns an iterator for one pass over the whole table. It
// reads spans of 256 KiB and leaves the cache as it is.
func (r *Reader) NewCompactionIter() iterator.Iterator {
	return &tableIter{r: r, blocks: newBlockReader(r, true)}
}

func (it *tableIter) First() bool {
	return it.load(0) && it.accept(it.b.first())
}

func (it *tableIter) Last() bool {
	return it.load(it.r.index.numBlocks()-1) && it.accept(it.b.last())
}

func (it *tableIter) SeekGE(k key.Internal) bool {
	// The separator of the block found is not before k, but the last entry may
	// be: then the first entry of the next block is the one.
	if !it.load(it.r.index.find(k.User, k.Trailer)) {
		return false
	}
	return it.accept(it.b.seekGE(k.User, k.Trailer)) || it.nextBlock()
}

func (it *tableIter) SeekLT(k key.Internal) bool {
	i := it.r.index.find(k.User, k.Trailer)
	if i == it.r.index.numBlocks() {
		return it.Last()
	}
	if !it.load(i) {
		return false
	}
	return it.accept(it.b.seekLT(k.User, k.Trailer)) || it.prevBlock()
}

func (it *tableIter) Next() bool {
	if !it.valid {
		return false
	}
	return it.b.forward() || it.nextBlock()
}

func (it *tableIter) Prev() bool {
	if !it.valid {
		return false
	}
	return it.b.prev() || it.prevBlock()
}

// nextBlock goes to the first entry of the next block. The held block has no
// entry ahead, or is malformed.
func (it *tableIter) nextBlock() bool {
	return it.leave() && it.load(it.at+1) && it.accept(it.b.first())
}

// prevBlock goes to the last entry of the block before.
func (it *tableIter) prevBlock() bool {
	return it.leave() && it.load(it.at-1) && it.accept(it.b.last())
}

// accept takes over the outcome of positioning within the block.
func (it *tableIter) accept(ok bool) bool {
	it.valid = ok
	if it.b.bad {
		return it.fail(it.r.malformed(it.at))
	}
	return ok
}

// leave reports whether the walk may go on beyond the held block.
func (it *tableIter) leave() bool {
	it.accept(false)
	return it.err == nil
}

// load makes b an iterator on the i-th block. It reports false, with no error,
// if there is no such block.
func (it *tableIter) load(i int) bool {
	if invariants.Enabled && it.r == nil {
		panic("BUG: sstable: use of a closed iterator")
	}
	it.valid, it.err = false, nil
	if i < 0 || i >= it.r.index.numBlocks() {
		return false
	}
	if it.held != nil && it.at == i {
		return true
	}
	block, err := it.blocks.read(i)
	if err != nil {
		return it.fail(err)
	}
	it.drop()
	it.held, it.at = block, i
	if !it.b.reset(block.Data()) {
		return it.fail(it.r.malformed(i))
	}
	return true
}

func (it *tableIter) fail(err error) bool {
	it.drop()
	it.valid, it.err = false, err
	if it.first == nil {
		it.first = err
	}
	return false
}

// drop releases the held block.
func (it *tableIter) drop() {
	if it.held != nil {
		it.held.Release()
		it.held = nil
	}
}

func (it *tableIter) Valid() bool { return it.valid }

func (it *tableIter) Key() key.Internal {
	n := len(it.b.key)
	return key.Internal{User: it.b.key[:n:n], Trailer: it.b.trailer}
}

func (it *tableIter) Value() []byte { return it.b.value }

func (it *tableIter) Error() error { return it.err }

// Close releases the block and the buffers. A second Close does nothing.
func (it *tableIter) Close() error {
	if it.r == nil {
		return it.first
	}
	it.drop()
	it.blocks.close()
	it.valid, it.r = false, nil
	return it.first
}
