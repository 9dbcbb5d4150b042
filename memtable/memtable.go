// Package memtable holds the newest entries in memory, sorted, until they are
// flushed to a table.
//
// Three structures share the entries, which lie in an arena that only grows:
//
//	hash index    user key's hash -> newest version -> older versions
//	              point lookups, without a lock (index.go)
//	tree          8-byte prefix, place: iterators and long version chains (order.go)
//	arena         the entries' bytes (arena.go, entry.go)
//
// A lookup for an absent key reads one cache line of the index and nothing else.
//
// This package is internal to sift in all but name; it promises no stable API.
package memtable

import (
	"fmt"
	"sync/atomic"

	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/key"
)

// MemTable is a sorted set of versions in memory.
//
// One goroutine at a time may Add; everything else may be called by any number of
// goroutines beside it. Get takes no lock. An iterator holds the lock of the tree
// for a batch of entries at a time, and Add for one entry. What Add has stored
// before a reader's call began, the reader sees.
type MemTable struct {
	arena arena
	index index
	order order
	count atomic.Int64
}

// New returns an empty MemTable. It is laid out for about sizeHint bytes, as Size
// counts them, and works for any other size too.
func New(sizeHint int64) *MemTable {
	m := new(MemTable)
	m.arena.init(sizeHint)
	m.index.init(&m.arena, sizeHint)
	m.order.init(&m.arena)
	return m
}

// Add stores a version of a key. It copies the key and the value. hash is the
// user key's hash, always the same for the same key. A version must be newer than
// every version of its key that is stored: anything else is a bug in the caller
// and panics.
//
// The key must not be longer than key.MaxKeyLen, nor the value than
// key.MaxValueLen; the caller has checked that.
func (m *MemTable) Add(k key.Internal, value []byte, hash uint64) {
	s := m.index.segment(hash)
	m.index.reserve(s)
	t, tag := s.table.Load(), tagOf(hash)
	slot, older := m.index.probe(t, tag, k.User)
	if older != 0 && m.arena.at(older).trailer() >= k.Trailer {
		panic(fmt.Sprintf("BUG: memtable: %v added after %v", k, m.arena.at(older).internal()))
	}
	r, e := m.arena.alloc(entryLen(k.User, value, older))
	e.write(k, value, older)
	m.order.insert(e.user(), r)
	if older != 0 {
		t.refs[slot].Store(uint64(r))
	} else {
		s.place(t, slot, tag, r)
	}
	m.count.Add(1)
}

// maxChain is how many versions of a key a lookup walks, newest first, before it
// searches the tree, whose cost does not grow with the number of versions.
const maxChain = 32

// Get returns the newest version of a user key whose sequence number is at most
// seq, tombstones included, and reports whether there is one. hash is the same as
// in Add. The value lies in the memtable: it must not be changed, and stays good
// for as long as the caller holds it. Get does not allocate.
func (m *MemTable) Get(user []byte, hash, seq uint64) (value []byte, t key.Trailer, ok bool) {
	r, complete := m.index.find(user, hash)
	for range maxChain {
		if r == 0 {
			break
		}
		e := m.arena.at(r)
		if t := e.trailer(); t.Seq() <= seq {
			return e.value(), t, true
		}
		r = e.older()
	}
	if r == 0 && complete {
		return nil, 0, false
	}
	return m.search(user, seq)
}

// search is Get by the tree.
func (m *MemTable) search(user []byte, seq uint64) (value []byte, t key.Trailer, ok bool) {
	r := m.order.seek(key.Seek(user, seq))
	if r == 0 {
		return nil, 0, false
	}
	e := m.arena.at(r)
	if string(e.user()) != string(user) {
		return nil, 0, false
	}
	return e.value(), e.trailer(), true
}

// NewIter returns an iterator over all versions. It sees what was added before a
// positioning call, and may or may not see what is added later.
func (m *MemTable) NewIter() iterator.Iterator { return &iter{m: m} }

// Len returns the number of versions.
func (m *MemTable) Len() int { return int(m.count.Load()) }

// Empty reports whether there is no version.
func (m *MemTable) Empty() bool { return m.count.Load() == 0 }

// Size returns the bytes of memory that the memtable takes: arena and index to
// the byte, the tree by its usual fill.
func (m *MemTable) Size() int64 {
	return m.arena.bytes.Load() + m.index.bytes.Load() + m.order.size()
}
