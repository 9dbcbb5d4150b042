package sift

import (
	"errors"
	"slices"
	"sync/atomic"
)

// A Snapshot shows the database as it was when it was taken, until it is closed.
// Its methods are safe for use by several goroutines.
//
// An open snapshot costs no copy, but keeps old versions on disk: close it.
type Snapshot struct {
	db       *DB
	seq      uint64
	released atomic.Bool
}

// NewSnapshot returns a snapshot of all writes that are visible now. The caller
// must close it. On a closed database every method of the result is ErrClosed.
func (db *DB) NewSnapshot() *Snapshot {
	s := &Snapshot{db: db}
	db.snapshotMu.Lock()
	defer db.snapshotMu.Unlock()
	// Under the lock: a compaction that lists the snapshots either lists this
	// one, or did so before, when nothing newer was visible.
	s.seq = db.visible.Load()
	db.snapshots.add(s.seq)
	return s
}

// Get is DB.Get as of the snapshot.
func (s *Snapshot) Get(key []byte) ([]byte, error) { return s.AppendGet(nil, key) }

// AppendGet is DB.AppendGet as of the snapshot.
func (s *Snapshot) AppendGet(dst, key []byte) ([]byte, error) {
	if s.released.Load() {
		return dst, ErrReleased
	}
	v, ok, err := s.db.lookup(dst, key, s.seq)
	if s.released.Load() {
		return dst, ErrReleased // meanwhile: what it saw may be gone
	}
	return getResult(dst, v, ok, err)
}

// Has is DB.Has as of the snapshot.
func (s *Snapshot) Has(key []byte) (bool, error) {
	if s.released.Load() {
		return false, ErrReleased
	}
	_, ok, err := s.db.lookup(nil, key, s.seq)
	if s.released.Load() {
		return false, ErrReleased
	}
	return ok, err
}

// NewIter is DB.NewIter as of the snapshot. The iterator stays valid after the
// snapshot is closed.
func (s *Snapshot) NewIter(o *IterOptions) (*Iterator, error) {
	if s.released.Load() {
		return nil, ErrReleased
	}
	it, err := s.db.newIter(o, s.seq)
	if err == nil && s.released.Load() {
		return nil, errors.Join(ErrReleased, it.Close())
	}
	return it, err
}

// Close releases the snapshot. Closing it again does nothing.
func (s *Snapshot) Close() error {
	if s.released.Swap(true) {
		return nil
	}
	if s.db.release(s.seq) {
		s.db.schedule() // what the snapshot kept may be compacted away now
	}
	return nil
}

// release forgets a snapshot and reports whether it was the oldest.
func (db *DB) release(seq uint64) bool {
	db.snapshotMu.Lock()
	defer db.snapshotMu.Unlock()
	oldest := db.snapshots.seqs[0] == seq
	db.snapshots.remove(seq)
	return oldest
}

// A snapshotList holds the sequence numbers of the open snapshots, ascending,
// with repetitions.
type snapshotList struct{ seqs []uint64 }

func (l *snapshotList) len() int { return len(l.seqs) }

// add appends: a snapshot is never older than those before it.
func (l *snapshotList) add(seq uint64) { l.seqs = append(l.seqs, seq) }

func (l *snapshotList) remove(seq uint64) {
	if i, ok := slices.BinarySearch(l.seqs, seq); ok {
		l.seqs = slices.Delete(l.seqs, i, i+1)
	}
}

// list returns the distinct sequence numbers.
func (l *snapshotList) list() []uint64 { return slices.Compact(slices.Clone(l.seqs)) }

// openSnapshots returns the sequence numbers that compactions must preserve,
// ascending.
func (db *DB) openSnapshots() []uint64 {
	db.snapshotMu.Lock()
	defer db.snapshotMu.Unlock()
	return db.snapshots.list()
}
