package manifest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
	"github.com/siftkv/sift/wal"
)

// A manifest is a log (package wal) under its own file number, and each record
// of it is one edit. The first edit describes everything.
//
//	MANIFEST-NNNNNN = snapshot { edit }
//
// A manifest is never taken up again by a later process: each one starts its
// own. A new manifest comes to count in these steps, and a crash between any
// two of them leaves the old one or the new one in force, whole:
//
//  1. the new manifest is written, its name and its bytes are made durable
//  2. CURRENT.tmp is written and made durable
//  3. CURRENT.tmp is renamed to CURRENT, and the directory made durable
//  4. the old manifest is removed

// DefaultRotateSize is the RotateSize of a StoreOptions that gives none.
const DefaultRotateSize = 4 << 20

// StoreOptions say how a Store rotates.
type StoreOptions struct {
	// NewFileNum gives out a file number that was never used. It is called with
	// no lock of the caller's held but those that Log was called under.
	NewFileNum func() uint64

	// RotateSize is how many bytes of edits a manifest takes after its first
	// one before a new manifest is begun. 0 means DefaultRotateSize.
	RotateSize int64
}

// Store writes the manifest of an open database.
//
// All methods are safe for concurrent use. Edits become durable in the order of
// the calls of Log.
//
// Invariants, held whenever mu is free:
//
//  1. ledger is the sum of the edits that Log has acknowledged.
//  2. If w is set, CURRENT durably names w's file, and that file holds ledger.
//  3. If w is nil, a write failed: CURRENT names one of the files in old, and
//     each of those that CURRENT may name holds ledger, and at most one more
//     edit that failed. The next Log begins a new manifest.
type Store struct {
	fs  vfs.FS
	dir string
	opt StoreOptions

	mu     sync.Mutex
	ledger *ledger
	w      *wal.Writer
	num    uint64   // of the newest manifest that became current
	base   int64    // size of w's first edit
	old    []uint64 // manifests to remove once another one is durably current
	buf    []byte
	closed bool
}

// Create begins the manifest num with everything that s says, makes it current
// and removes the manifest s.Num. It serves a new database as well as one that
// was loaded. Unless the error is ErrInDoubt, a failure leaves CURRENT and all
// older files as they were and removes the new ones.
func Create(fsys vfs.FS, dir string, num uint64, s State, o StoreOptions) (*Store, error) {
	if o.RotateSize <= 0 {
		o.RotateSize = DefaultRotateSize
	}
	st := &Store{fs: fsys, dir: dir, opt: o, ledger: newLedger(), num: s.Num}
	if s.Num != 0 {
		st.old = []uint64{s.Num}
	}
	e := s.Version.Snapshot()
	e.LogNum, e.NextFileNum, e.LastSeq = s.LogNum, s.NextFileNum, s.LastSeq
	if err := st.ledger.check(e); err != nil {
		return nil, fmt.Errorf("BUG: manifest snapshot: %w", err)
	}
	st.ledger.apply(e)
	if err := st.begin(num); err != nil {
		return nil, err
	}
	return st, nil
}

// Log makes e durable. When it fails, e may be found by the next Open or not,
// and files that e adds or deletes must stay until then, unless a later Log
// succeeds: then e is not part of the manifest.
func (s *Store) Log(e *Edit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("sift: manifest: %w", key.ErrClosed)
	}
	if err := s.ledger.check(e); err != nil {
		return fmt.Errorf("BUG: manifest edit: %w", err)
	}
	if s.w == nil {
		if err := s.begin(s.opt.NewFileNum()); err != nil {
			return err
		}
	}
	if err := s.append(s.w, e); err != nil {
		_ = s.w.Abandon() // it has failed, and err says how
		s.w = nil
		s.old = append(s.old, s.num)
		return err
	}
	s.ledger.apply(e)
	if s.w.Size()-s.base > s.opt.RotateSize {
		s.rotate()
	}
	return nil
}

// rotate begins a new manifest because the present one has become long. What
// fails here fails no edit: they are all in the present one, and the next Log
// tries again.
func (s *Store) rotate() {
	w, num := s.w, s.num
	s.old = append(s.old, num)
	if err := s.begin(s.opt.NewFileNum()); errors.Is(err, ErrInDoubt) {
		s.w = nil // CURRENT may name either, so no edit may go into just one
	} else if err != nil {
		s.old = s.old[:len(s.old)-1]
		return
	}
	_ = w.Abandon() // its edits are durable, and elsewhere too
}

// begin writes the manifest num, makes it current, and removes the old ones.
// Unless it succeeds s.w is as it was.
func (s *Store) begin(num uint64) error {
	s.ledger.nextFileNum = max(s.ledger.nextFileNum, num+1)
	w, err := s.write(num)
	if err != nil {
		return fmt.Errorf("sift: begin manifest %06d: %w", num, err)
	}
	if err := setCurrent(s.fs, s.dir, num); err != nil {
		err = errors.Join(err, w.Abandon())
		if errors.Is(err, ErrInDoubt) {
			s.old = append(s.old, num)
		} else {
			err = errors.Join(err, s.fs.Remove(Path(s.dir, Manifest, num)))
		}
		return fmt.Errorf("sift: make manifest %06d current: %w", num, err)
	}
	s.w, s.num, s.base = w, num, w.Size()
	s.removeOld()
	return nil
}

// write writes and syncs a manifest that holds the ledger. On an error it is
// gone again.
func (s *Store) write(num uint64) (*wal.Writer, error) {
	path := Path(s.dir, Manifest, num)
	w, err := wal.Create(s.fs, path, num, wal.Options{})
	if err != nil {
		return nil, err
	}
	if err := s.append(w, s.ledger.snapshot()); err != nil {
		return nil, errors.Join(err, w.Abandon(), s.fs.Remove(path))
	}
	return w, nil
}

// append makes one edit durable in w.
func (s *Store) append(w *wal.Writer, e *Edit) error {
	s.buf = e.Append(s.buf[:0])
	end, err := w.Append(s.buf)
	if err == nil {
		err = w.Sync(end)
	}
	return err
}

// removeOld removes the manifests that cannot be current any more. One that
// stays costs space until the next Open removes it.
func (s *Store) removeOld() {
	for _, num := range s.old {
		_ = s.fs.Remove(Path(s.dir, Manifest, num))
	}
	s.old = nil
}

// Num returns the number of the newest manifest that is known to have become
// current.
func (s *Store) Num() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.num
}

// Close seals the manifest.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("sift: manifest: %w", key.ErrClosed)
	}
	s.closed = true
	if s.w == nil {
		return nil
	}
	return s.w.Close()
}
