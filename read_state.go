package sift

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/siftkv/sift/internal/manifest"
	"github.com/siftkv/sift/memtable"
)

// A readState is what a reader needs to see one moment of the database: the
// memtables, newest first, and the version of the tables below them. The DB
// points at the current one; a flush, a compaction or a full memtable installs
// another.
//
// Invariants:
//  1. mem and version never change. The newest memtable still grows; a reader
//     tells what it may see by sequence number, which it must load after it has
//     pinned the state: a state older than the sequence number is complete up
//     to it, the other way around a compaction may have dropped what the reader
//     looks for.
//  2. A table that a pinned state's version holds stays on disk.
//
// Pinning takes no lock, and two readers seldom write the same cache line: a
// reader counts itself in one of several stripes, chosen at random. A state that
// was replaced is drained once all stripes and iters are zero; no reader can
// come back to it then, since a pin holds only if the state is still current
// after it was counted.
type readState struct {
	mem     []*memtable.MemTable
	version *manifest.Version
	serial  uint64 // one more than that of the state before

	retired atomic.Bool
	iters   atomic.Int64 // open iterators, which may outlive a Close
	stripes [numStripes]stripe
}

const numStripes = 8

// A stripe has a cache line, and its neighbour that the prefetcher fetches with
// it, to itself.
type stripe struct {
	calls atomic.Int64
	_     [120]byte
}

// A pin keeps a state's tables on disk until it is released.
type pin struct {
	*readState
	stripe uint32
}

// pin pins the current state for one call. It reports false when the database is
// closed.
func (db *DB) pin() (pin, bool) {
	i := rand.Uint32() % numStripes
	for {
		s := db.state.Load()
		if s == nil {
			return pin{}, false
		}
		p := pin{s, i}
		s.stripes[i].calls.Add(1)
		if db.state.Load() == s {
			return p, true
		}
		db.unpin(p)
	}
}

func (db *DB) unpin(p pin) {
	p.stripes[p.stripe].calls.Add(-1)
	if p.retired.Load() {
		db.drained()
	}
}

// pinForIter pins the current state for as long as an iterator is open.
func (db *DB) pinForIter() (*readState, bool) {
	p, ok := db.pin()
	if !ok {
		return nil, false
	}
	p.iters.Add(1)
	db.unpin(p)
	return p.readState, true
}

func (db *DB) unpinIter(s *readState) {
	s.iters.Add(-1)
	if s.retired.Load() {
		db.drained()
	}
}

// busy reports whether a call is running on the state.
func (s *readState) busy() bool {
	for i := range s.stripes {
		if s.stripes[i].calls.Load() != 0 {
			return true
		}
	}
	return false
}

// needed reports whether the state's tables must stay.
func (s *readState) needed() bool {
	return !s.retired.Load() || s.busy() || s.iters.Load() != 0
}

// drained looks for states that nobody needs any more, and wakes those who wait
// for that: the cleaner and Close.
func (db *DB) drained() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.dropDrainedLocked()
	if db.closed.Load() {
		db.changed.Broadcast() // Close waits for calls, not for iterators
	}
}

// dropDrainedLocked forgets drained states and hands the files that only they
// needed to the cleaner. It needs db.mu.
func (db *DB) dropDrainedLocked() {
	live := db.states[:0]
	for _, s := range db.states {
		if s.needed() {
			live = append(live, s)
		}
	}
	clear(db.states[len(live):])
	if len(live) < len(db.states) {
		db.states = live
		db.changed.Broadcast()
	}
}

// installLocked makes a new current state. It needs db.mu.
func (db *DB) installLocked(mem []*memtable.MemTable, v *manifest.Version) {
	db.serial++
	s := &readState{mem: mem, version: v, serial: db.serial}
	old := db.state.Load()
	db.states = append(db.states, s)
	db.state.Store(s)
	if old != nil {
		old.retired.Store(true)
	}
	db.dropDrainedLocked()
	db.changed.Broadcast()
}
