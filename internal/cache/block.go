package cache

import (
	"sync/atomic"

	"github.com/siftkv/sift/internal/invariants"
)

// A Block is a reference-counted buffer of bytes.
//
//  1. The bytes of a block that was inserted never change while anybody holds a
//     reference.
//  2. Whoever was handed the block releases it exactly once and does not touch
//     it, or a slice of its data, afterwards.
//
// Until it is inserted, a block belongs to the goroutine that allocated it;
// afterwards Data and Release are safe for use by several goroutines.
type Block struct {
	data  []byte // the part of buf in use
	buf   []byte
	refs  atomic.Int32
	class uint8 // size class; largeClass for a buffer that is not kept
	pool  *pool

	// Of the shard that retains the block, under its lock. A free block uses
	// chain for its free list.
	id    blockID
	chain *Block // next with the same bucket
	newer *Block // neighbours in the queue
	older *Block
	queue *queue
	freq  uint8 // uses since the queue last looked, at most maxFreq
}

// Data returns the block's bytes, without spare capacity. They are valid until
// the caller's reference is released.
func (b *Block) Data() []byte {
	if invariants.Enabled && b.refs.Load() <= 0 {
		panic("BUG: cache: Data of a block that was released")
	}
	return b.data
}

// Shrink cuts the block's data to its first n bytes. Only the goroutine that
// allocated the block may call it, before Insert.
func (b *Block) Shrink(n int) { b.data = b.data[:n:n] }

// Release gives back one reference.
func (b *Block) Release() {
	switch n := b.refs.Add(-1); {
	case n == 0:
		b.pool.put(b)
	case n < 0:
		panic("BUG: cache: block released more often than it was pinned")
	}
}

// pin takes one more reference. The caller knows that one is held.
func (b *Block) pin() {
	if n := b.refs.Add(1); invariants.Enabled && n <= 1 {
		panic("BUG: cache: pin of a block that nobody holds")
	}
}
