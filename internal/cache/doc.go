// Package cache keeps decoded table blocks in memory, and owns the buffers that
// blocks are read and decoded into.
//
// A block is named by its table's random 64-bit id and its offset in the file.
// Ids are never reused, unlike file numbers, so a block of a removed table can
// be forgotten late but never be mistaken for a block of another.
//
// # Life of a block
//
//	Alloc ──► filled by its owner ──► Insert ──► Release
//	  ▲                                  │          │
//	  │                                Get, Get …   │ last reference
//	  └───────────── free list ◄────────────────────┘
//
// Blocks are reference counted. The cache holds one reference to each block
// that it retains; Alloc, Get and Insert each hand one to the caller, who gives
// it back with Release. A buffer whose last reference goes returns to a free
// list of its size, so that reading in a steady state makes no garbage.
//
// # Replacement
//
// Each shard runs S3-FIFO (Yang et al., "FIFO queues are all you need for cache
// eviction", SOSP 2023, https://dl.acm.org/doi/10.1145/3600006.3613147): new
// blocks pass through a small queue and reach the main queue only if they are
// asked for again, so a scan flows through a tenth of the cache and leaves the
// rest alone.
package cache
