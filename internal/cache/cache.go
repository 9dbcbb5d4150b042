package cache

import (
	"math/bits"
	"runtime"
)

// Shards are no smaller than minShare, so that a shard holds a useful number of
// blocks, and no more than four for each processor, where lock contention has
// vanished.
const (
	minShare      = 1 << 20
	shardsPerProc = 4
	golden64      = 0x9e3779b97f4a7c15 // 2^64 / golden ratio, odd
	hashMul       = 0xd6e8feb86659fd93 // odd, random bits
	maxShards     = 1 << 10
)

// blockID names a block: its table's id and its offset in the file.
type blockID struct{ table, off uint64 }

// hash mixes the id well enough that any bits of it may choose a slot. The
// product of two 64-bit numbers is folded, so high and low bits both count.
func (id blockID) hash() uint64 {
	hi, lo := bits.Mul64(id.table^id.off*golden64, hashMul)
	hi, lo = bits.Mul64(hi^lo, golden64)
	return hi ^ lo
}

// A Cache is a sharded, scan-resistant cache of blocks. Its methods are safe
// for use by several goroutines.
type Cache struct {
	pool   pool
	shards []shard // a power of two of them
	shift  uint    // 64 - log2(len(shards)): the top bits choose the shard
}

// New returns a cache that retains at most capacity bytes, counting each
// block's whole buffer and header. A capacity of 0 or less retains nothing;
// Alloc still works and reuses buffers.
func New(capacity int64) *Cache {
	capacity = max(capacity, 0)
	n := int64(1)
	limit := min(int64(shardsPerProc*runtime.GOMAXPROCS(0)), maxShards)
	for n < limit && capacity/(2*n) >= minShare {
		n *= 2
	}
	c := &Cache{shards: make([]shard, n), shift: uint(64 - bits.TrailingZeros64(uint64(n)))}
	for i := range c.shards {
		c.shards[i].init(capacity / n)
	}
	return c
}

func (c *Cache) shard(h uint64) *shard { return &c.shards[h>>c.shift] }

// Get returns the block, pinned, or nil.
func (c *Cache) Get(table, off uint64) *Block {
	id := blockID{table, off}
	h := id.hash()
	return c.shard(h).get(id, h)
}

// Alloc returns a block of n bytes with one reference. What the bytes hold is
// arbitrary.
func (c *Cache) Alloc(n int) *Block { return c.pool.get(n) }

// Insert offers a filled block to the cache and returns the block to use, with
// the caller's one reference: b itself or, if another goroutine inserted the
// same id first, that goroutine's block, in which case b is released. A block
// larger than a shard's share of the capacity is returned without being
// retained. The caller must not change the bytes any more.
func (c *Cache) Insert(table, off uint64, b *Block) *Block {
	id := blockID{table, off}
	h := id.hash()
	use := c.shard(h).insert(id, h, b)
	if use != b {
		b.Release()
	}
	return use
}

// EvictTable drops every block of a table that was removed. It only frees
// memory sooner: ids are not reused. It looks at every block, so its cost grows
// with the cache.
func (c *Cache) EvictTable(table uint64) {
	for i := range c.shards {
		c.shards[i].evictTable(table)
	}
}

// Metrics are counters since New and sizes of now.
type Metrics struct {
	Hits      uint64 // Gets that found their block
	Misses    uint64 // Gets that did not
	Evictions uint64 // retained blocks that were dropped
	Rejected  uint64 // inserts of blocks too large to retain
	Blocks    int64  // blocks retained
	Bytes     int64  // bytes of those, never more than the capacity
	Used      int64  // blocks retained or held by callers
	IdleBytes int64  // bytes of buffers on free lists, not part of Bytes
}

// Metrics returns the counters. They are read shard by shard, not at one
// moment.
func (c *Cache) Metrics() Metrics {
	var m Metrics
	for i := range c.shards {
		c.shards[i].addTo(&m)
	}
	used, idle := c.pool.count()
	m.Used, m.IdleBytes = int64(used), idle
	return m
}
