package memtable

import (
	"bytes"
	"math/bits"
	"sync/atomic"
)

// index finds the newest version of a user key by the key's hash: open addressing
// with linear probing, in segments picked by the top bits of the hash. A segment
// grows on its own, so that a growth moves a few thousand slots and not a
// million.
//
// One goroutine adds; any number look up, without a lock. Nothing is ever
// removed.
//
// Hashes are unseeded, so an adversary can make keys collide. A probe therefore
// gives up after maxProbe slots, the key stays out of the index, and the
// segment is marked partial: what it does not find must be looked up in the tree,
// which costs a microsecond and not a walk over all colliding keys.
type index struct {
	arena    *arena
	segments []segment
	shift    uint         // hash >> shift is the segment
	bytes    atomic.Int64 // allocated
}

type segment struct {
	table   atomic.Pointer[table]
	partial atomic.Bool // some key is only in the tree
	used    int         // slots taken; for the adding goroutine only
}

// table is the slots of a segment. Slot i is free while tags[i] is 0.
//
// A slot is published by storing its tag, after its ref. Later a slot's ref
// changes only to a newer version of the same key. Tags stand apart from refs
// so that a probe for an absent key reads one cache line of 16 slots.
type table struct {
	tags []atomic.Uint32
	refs []atomic.Uint64
}

const (
	minSlots    = 16
	maxSegments = 64
	slotBytes   = 4 + 8
	tableBytes  = 2 * 24 // the two slice headers
	segmentSize = 24     // on 64-bit systems
	// maxProbe is far beyond what linear probing needs at two thirds full: the
	// chance that a fair hash passes it is about 1 in 10^8 for a key.
	maxProbe = 256
)

func (x *index) init(a *arena, sizeHint int64) {
	n := max(1, min(sizeHint>>20, maxSegments))
	log := uint(bits.Len64(uint64(n)) - 1)
	x.arena, x.shift = a, 64-log
	x.segments = make([]segment, 1<<log)
	for i := range x.segments {
		x.segments[i].table.Store(newTable(minSlots))
	}
	x.bytes.Store(int64(len(x.segments)) * (segmentSize + tableBytes + minSlots*slotBytes))
}

func newTable(slots int) *table {
	return &table{make([]atomic.Uint32, slots), make([]atomic.Uint64, slots)}
}

// tagOf returns what stands for hash in a slot. Its low bits are the slot where
// a probe starts, so that growing needs no hash but this.
func tagOf(hash uint64) uint32 {
	if tag := uint32(hash); tag != 0 {
		return tag
	}
	return 1
}

func (x *index) segment(hash uint64) *segment { return &x.segments[hash>>x.shift] }

// find returns the newest version of user, or 0. Unless complete is true, there
// may be versions that only the tree knows, all older than what it returns.
func (x *index) find(user []byte, hash uint64) (newest ref, complete bool) {
	s := x.segment(hash)
	_, newest = x.probe(s.table.Load(), tagOf(hash), user)
	return newest, !s.partial.Load()
}

// probe returns the slot of user and the newest version, or the free slot where
// user belongs and 0, or -1 and 0 if there is neither within maxProbe slots.
func (x *index) probe(t *table, tag uint32, user []byte) (slot int, newest ref) {
	mask := len(t.tags) - 1
	i := int(tag) & mask
	for range min(len(t.tags), maxProbe) {
		switch t.tags[i].Load() {
		case tag:
			r := ref(t.refs[i].Load())
			if bytes.Equal(x.arena.at(r).user(), user) {
				return i, r
			}
		case 0:
			return i, 0
		}
		i = (i + 1) & mask
	}
	return -1, 0
}

// reserve makes room in the segment for one more key.
func (x *index) reserve(s *segment) {
	t := s.table.Load()
	if n := len(t.tags); s.used+1 > n*2/3 {
		x.grow(s, t)
	}
}

// grow publishes a table of twice the slots. Readers that have loaded the old one
// go on with it: it holds every version published before now, and it is not
// written again.
func (x *index) grow(s *segment, old *table) {
	t := newTable(2 * len(old.tags))
	s.used = 0
	for i := range old.tags {
		if tag := old.tags[i].Load(); tag != 0 {
			s.place(t, freeSlot(t, tag), tag, ref(old.refs[i].Load()))
		}
	}
	s.table.Store(t)
	x.bytes.Add(int64(len(old.tags)) * slotBytes)
}

// freeSlot returns the free slot for a key that is known to be absent, or -1.
func freeSlot(t *table, tag uint32) int {
	mask := len(t.tags) - 1
	i := int(tag) & mask
	for range min(len(t.tags), maxProbe) {
		if t.tags[i].Load() == 0 {
			return i
		}
		i = (i + 1) & mask
	}
	return -1
}

// place puts a key that is not in t into a free slot; without one the segment
// becomes partial.
func (s *segment) place(t *table, slot int, tag uint32, newest ref) {
	if slot < 0 {
		s.partial.Store(true)
		return
	}
	t.refs[slot].Store(uint64(newest))
	t.tags[slot].Store(tag)
	s.used++
}
