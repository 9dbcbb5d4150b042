package manifest

import (
	"errors"
	"fmt"

	"github.com/siftkv/sift/internal/vfs"
	"github.com/siftkv/sift/wal"
)

// Store writes the manifest: a log of edits, in a file of its own number, whose
// first edit describes the whole state at its beginning. It is for one goroutine
// at a time.
//
// Invariants:
//  1. At every moment CURRENT names a manifest whose every edit up to the last
//     that Log accepted is durable.
//  2. A manifest is removed only after CURRENT durably names another.
//  3. A file to which a write failed takes no further edit, nor does one that
//     CURRENT may have ceased to name.
type Store struct {
	fs   vfs.FS
	dir  string
	opts StoreOptions

	w     *wal.Writer
	limit int64 // bytes at which the next edit begins a new file
	doubt bool  // a switch of CURRENT failed: it may name another file than w
	now   Edit  // the numbers of the present state; no tables
}

// StoreOptions say how the manifest is kept.
type StoreOptions struct {
	// NewFileNum gives the numbers of manifest files.
	NewFileNum func() uint64
	// MaxSize is when the manifest begins anew, in bytes.
	MaxSize int64
}

// ErrInDoubt says that the switch of CURRENT failed, so that the next Load may find
// the old state or the new one: the files of both must stay.
var ErrInDoubt = errors.New("sift: the switch of CURRENT may have happened or not")

// Start makes a manifest that describes v and the numbers of e, and makes it the
// current one. The one before, if any, stays as it is. When it fails CURRENT names
// the one before, unless the error is ErrInDoubt.
func Start(fsys vfs.FS, dir string, e *Edit, v *Version, o StoreOptions) (*Store, error) {
	s := &Store{fs: fsys, dir: dir, opts: o}
	s.note(e)
	if err := s.begin(v); err != nil {
		return nil, err
	}
	return s, nil
}

// Num returns the number of the current manifest file.
func (s *Store) Num() uint64 { return s.w.Num() }

// Log makes an edit durable. next is the version that the edit leads to, for the
// case that a new file has to begin with it. When Log fails, the edit may be
// found by the next Load or not; the store can be used on.
func (s *Store) Log(e *Edit, next *Version) error {
	before := s.now
	s.note(e)
	if !s.doubt && s.w.Err() == nil && s.w.Size() < s.limit && s.append(e) == nil {
		return nil
	}
	if err := s.rotate(next); err != nil {
		s.now = before
		return err
	}
	return nil
}

func (s *Store) append(e *Edit) error {
	if _, err := s.w.Append(e.Append(nil)); err != nil {
		return err
	}
	return s.w.SyncAll()
}

// note takes over the numbers that an edit sets.
func (s *Store) note(e *Edit) {
	s.now.LogNum = max(s.now.LogNum, e.LogNum)
	s.now.NextFileNum = max(s.now.NextFileNum, e.NextFileNum)
	s.now.LastSeq = max(s.now.LastSeq, e.LastSeq)
}

// rotate goes on in a new file, which begins with v.
func (s *Store) rotate(v *Version) error {
	old := s.w
	if err := s.begin(v); err != nil {
		return err
	}
	_ = old.Abandon() // nothing in it is needed
	// A leftover costs space until the next Open removes it.
	_ = s.fs.Remove(Path(s.dir, Manifest, old.Num()))
	return nil
}

// begin makes a new file that describes v the current manifest.
func (s *Store) begin(v *Version) error {
	num := s.opts.NewFileNum()
	path := Path(s.dir, Manifest, num)
	w, err := wal.Create(s.fs, path, num, wal.Options{})
	if err != nil {
		return err
	}
	if err := s.describe(w, v); err != nil {
		return errors.Join(err, w.Abandon(), s.fs.Remove(path))
	}
	if err := setCurrent(s.fs, s.dir, num); err != nil {
		// CURRENT may name it: it must stay, and so must all that it names.
		s.doubt = true
		return errors.Join(fmt.Errorf("%w: to %s: %w", ErrInDoubt, path, err), w.Abandon())
	}
	s.w = w
	s.doubt = false
	s.limit = max(s.opts.MaxSize, 2*w.Size())
	return nil
}

// describe writes the whole state to a new manifest and makes it and its name
// durable.
func (s *Store) describe(w *wal.Writer, v *Version) error {
	e := v.Snapshot()
	e.Format = FormatVersion
	e.LogNum, e.NextFileNum, e.LastSeq = s.now.LogNum, s.now.NextFileNum, s.now.LastSeq
	if _, err := w.Append(e.Append(nil)); err != nil {
		return err
	}
	if err := w.SyncAll(); err != nil {
		return err
	}
	return s.fs.SyncDir(s.dir)
}

// Close seals the manifest and closes it.
func (s *Store) Close() error { return s.w.Close() }
