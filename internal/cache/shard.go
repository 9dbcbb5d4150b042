package cache

import (
	"sync"
	"unsafe"
)

const (
	// maxFreq bounds how many rounds of the main queue a once-hot block gets.
	maxFreq = 3
	// smallShare: the small queue holds one part in smallShare of the bytes.
	smallShare = 10
	// minBuckets is the initial size of a shard's hash table.
	minBuckets = 16
)

// cost is what a retained block counts against the capacity: its whole buffer
// and its own header, whatever part of the buffer is in use.
func (b *Block) cost() int64 { return int64(len(b.buf)) + int64(unsafe.Sizeof(*b)) }

// A shard is one S3-FIFO cache.
//
//  1. Every block in the index stands in exactly one queue, and the shard holds
//     one reference to it.
//  2. small.bytes + main.bytes <= share whenever the lock is free.
//
// Blocks leave the small queue for the main one if they were asked for once
// more, and otherwise leave the shard; their hash stays in ghost for a while.
// A block that comes back while its ghost is there goes to the main queue at
// once. The main queue gives a block one more round for each time that it was
// asked for.
//
// The paper lets a block pass to the main queue after two more uses. Simulated
// over zipf lookups (s 1.01 and 1.2; room for a quarter, a tenth and a
// hundredth of the blocks; with and without a scan beside them), one use gave
// between 1.3 points more and 0.05 points fewer hits.
//
// ghost remembers by hash, one slot each, and forgets when slots collide. A
// wrong memory costs a misplaced block and nothing else.
type shard struct {
	mu    sync.Mutex
	share int64 // bytes
	index index
	small queue
	main  queue
	ghost []uint64

	hits, misses, evictions, rejected uint64
	_                                 [64]byte
}

func (s *shard) init(share int64) {
	s.share = share
	s.index.buckets = make([]*Block, minBuckets)
	s.ghost = make([]uint64, minBuckets)
}

// get returns the block pinned, or nil.
func (s *shard) get(id blockID, h uint64) *Block {
	s.mu.Lock()
	b := s.index.find(id, h)
	if b == nil {
		s.misses++
		s.mu.Unlock()
		return nil
	}
	s.hits++
	s.use(b)
	s.mu.Unlock()
	return b
}

// use pins b and notes that it was asked for. The lock is held.
func (s *shard) use(b *Block) {
	b.pin()
	if b.freq < maxFreq {
		b.freq++
	}
}

// insert retains b unless the id is there already or b is larger than the
// whole share. It returns the block to use instead of b, pinned, or b.
func (s *shard) insert(id blockID, h uint64, b *Block) *Block {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.index.find(id, h); first != nil {
		s.use(first)
		return first
	}
	if b.cost() > s.share {
		s.rejected++
		return b
	}
	for s.small.bytes+s.main.bytes+b.cost() > s.share {
		s.evictOne()
	}
	b.id = id
	b.pin()
	s.index.add(b, h)
	if len(s.ghost) < len(s.index.buckets) {
		s.ghost = make([]uint64, len(s.index.buckets))
	}
	if g := s.ghostSlot(h); *g == h {
		*g = 0
		s.main.push(b)
	} else {
		s.small.push(b)
	}
	return b
}

// ghostSlot uses other bits of the hash than the index, which the shard's
// choice left alone too.
func (s *shard) ghostSlot(h uint64) *uint64 {
	return &s.ghost[h>>16&uint64(len(s.ghost)-1)]
}

// evictOne drops one block or moves one on in the queues. The lock is held and
// the shard is not empty.
func (s *shard) evictOne() {
	if s.small.bytes > s.share/smallShare || s.main.oldest == nil {
		b := s.small.oldest
		if b.freq == 0 {
			h := b.id.hash()
			*s.ghostSlot(h) = h
			s.drop(b, h)
			return
		}
		s.small.remove(b)
		b.freq = 0
		s.main.push(b)
		return
	}
	b := s.main.oldest
	if b.freq == 0 {
		s.drop(b, b.id.hash())
		return
	}
	s.main.remove(b)
	b.freq--
	s.main.push(b)
}

// drop forgets b and gives back the shard's reference. Readers that have it
// pinned keep it. The lock is held.
func (s *shard) drop(b *Block, h uint64) {
	s.index.remove(b, h)
	b.queue.remove(b)
	s.evictions++
	b.Release()
}

// evictTable drops every block of a table.
func (s *shard) evictTable(table uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range []*queue{&s.small, &s.main} {
		for b := q.oldest; b != nil; {
			next := b.newer
			if b.id.table == table {
				s.drop(b, b.id.hash())
			}
			b = next
		}
	}
}

// addTo adds the shard's counters to m.
func (s *shard) addTo(m *Metrics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.Hits += s.hits
	m.Misses += s.misses
	m.Evictions += s.evictions
	m.Rejected += s.rejected
	m.Blocks += int64(s.index.n)
	m.Bytes += s.small.bytes + s.main.bytes
}
