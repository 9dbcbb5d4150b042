package memtable

import (
	"math/bits"
	"sync/atomic"
)

// ref is the place of an entry: the chunk's number in the high 32 bits, the
// offset in the chunk in the low 32. No entry has ref 0.
type ref uint64

// Sizes of chunks, in bytes. An entry of largeEntry or more gets a chunk of its
// own, so that no more than a quarter of a chunk is ever left unused behind it.
const (
	minChunk   = 256
	maxChunk   = 1 << 20
	largeEntry = maxChunk / 4
)

// arena holds the entries in chunks that never move and are never freed one by
// one: a slice of an entry stays good for as long as anybody holds it.
//
// Chunks grow from small to maxChunk, so that the memory taken is within a factor
// of two of the memory used. All chunks are of sizes that the runtime's allocator
// hands out without rounding up, so that bytes is exact.
//
// One goroutine allocates; any number read. A reader gets a ref through an atomic
// load that follows the store which published it, and the directory was
// published before that.
type arena struct {
	dir   atomic.Pointer[[][]byte] // by chunk number; 0 is no chunk
	bytes atomic.Int64             // allocated: chunks and directory

	// For the allocating goroutine only.
	chunk  []byte // the chunk being filled
	number ref    // of chunk
	used   int    // bytes of chunk that are taken
}

// firstChunk returns the size of the first chunk for an arena that is expected to
// take sizeHint bytes.
func firstChunk(sizeHint int64) int {
	n := max(minChunk, min(sizeHint/64, maxChunk))
	return 1 << (bits.Len64(uint64(n)) - 1)
}

func (a *arena) init(sizeHint int64) {
	dir := make([][]byte, 1, 8)
	a.dir.Store(&dir)
	a.bytes.Store(int64(cap(dir)+1) * sliceBytes)
	a.chunk, a.number = a.grow(firstChunk(sizeHint))
}

// at returns the entry at r.
func (a *arena) at(r ref) entry {
	return entry((*a.dir.Load())[r>>32][uint32(r):])
}

// alloc returns n bytes that nobody else has, and their place.
func (a *arena) alloc(n int) (ref, entry) {
	if n >= largeEntry {
		chunk, number := a.grow(roundUp(n))
		return number << 32, chunk
	}
	if n > len(a.chunk)-a.used {
		size := min(max(2*len(a.chunk), 1<<bits.Len(uint(n-1))), maxChunk)
		a.chunk, a.number = a.grow(size)
		a.used = 0
	}
	r := a.number<<32 | ref(a.used)
	e := entry(a.chunk[a.used:])
	a.used += n
	return r, e
}

// roundUp returns n rounded up to the allocator's unit for large objects.
func roundUp(n int) int {
	const unit = 8192
	return (n + unit - 1) &^ (unit - 1)
}

// grow adds a chunk of n bytes. Readers go on with the directory that they have
// loaded: an element is written only beyond the length of any published one.
func (a *arena) grow(n int) ([]byte, ref) {
	chunk := make([]byte, n)
	old := *a.dir.Load()
	dir := append(old, chunk)
	a.dir.Store(&dir)
	a.bytes.Add(int64(n) + int64(cap(dir)-cap(old))*sliceBytes)
	return chunk, ref(len(old))
}
