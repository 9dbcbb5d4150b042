package manifest

import (
	"errors"
	"fmt"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
	"github.com/siftkv/sift/wal"
)

// A manifest is a log (package wal) under its own file number. Each record is
// one edit, and the first one describes everything:
//
//	MANIFEST-NNNNNN = snapshot { edit }
//
// No manifest is taken up again after it was closed or a process died: Open
// begins a new one, and so does a Store when the present one has become long or
// a write to it failed. A crash between any two of these steps leaves the old
// manifest or the new one in force, whole:
//
//  1. the new manifest is written; its name and its bytes are made durable
//  2. CURRENT.tmp is written and made durable
//  3. CURRENT.tmp is renamed to CURRENT, and that made durable
//  4. the old manifest is removed

// DefaultMaxSize is the MaxSize of StoreOptions that give none.
const DefaultMaxSize = 4 << 20

// StoreOptions say how the manifest is kept.
type StoreOptions struct {
	// NewFileNum gives out a file number that was never used before.
	NewFileNum func() uint64

	// MaxSize is how long a manifest gets before a new one is begun, in bytes,
	// or twice its first edit if that is more. 0 means DefaultMaxSize.
	MaxSize int64
}

// Store writes the manifest of an open database. It is for one goroutine at a
// time.
//
// Invariants:
//
//  1. If w is set, CURRENT durably names its file, which holds the present state.
//  2. If w is nil, a switch of CURRENT is in doubt: it names one of the files in
//     old. Each of those holds the present state, but for edits that failed.
//  3. A manifest is removed only after CURRENT durably names another.
type Store struct {
	fs   vfs.FS
	dir  string
	opts StoreOptions

	w      *wal.Writer
	limit  int64    // bytes at which the next edit begins a new manifest
	now    State    // the numbers of the present state; no tables
	old    []uint64 // manifests to remove once another one is durably current
	buf    []byte
	closed bool
}

// Start begins a manifest that describes v and the numbers of e, and makes it
// the current one. It serves a new database as well as one that was loaded,
// whose manifest stays where it is. A failure removes the new manifest, unless
// it is ErrInDoubt: then the next Open may find either.
func Start(fsys vfs.FS, dir string, e *Edit, v *Version, o StoreOptions) (*Store, error) {
	if o.MaxSize <= 0 {
		o.MaxSize = DefaultMaxSize
	}
	s := &Store{fs: fsys, dir: dir, opts: o}
	s.now.note(e)
	if err := s.begin(v); err != nil {
		return nil, err
	}
	return s, nil
}

// Num returns the number of the newest manifest that durably became current.
func (s *Store) Num() uint64 { return s.now.Num }

// Log makes an edit durable. next is the version that the edit leads to, which a
// new manifest has to begin with; nil is an empty database.
//
// When Log fails, the next Open may find the edit or not, so every file that it
// adds or deletes must stay. The Store can be used on: once another Log has
// succeeded, the failed edit is surely no part of the manifest.
func (s *Store) Log(e *Edit, next *Version) error {
	if s.closed {
		return fmt.Errorf("sift: manifest: %w", key.ErrClosed)
	}
	before := s.now
	s.now.note(e)
	err := s.log(e, next)
	if err != nil {
		s.now = before
	}
	return err
}

// log tries the present manifest, unless it is too long, and a new one, and if
// that cannot be made the present one again.
func (s *Store) log(e *Edit, next *Version) error {
	if s.w != nil && s.w.Size() < s.limit && s.append(s.w, e) == nil {
		return nil
	}
	err := s.rotate(next)
	if err != nil && s.w != nil && s.w.Err() == nil {
		err = s.append(s.w, e)
	}
	return err
}

// rotate goes on in a new manifest, which begins with v.
func (s *Store) rotate(v *Version) error {
	w := s.w
	err := s.begin(v)
	if err != nil && !errors.Is(err, ErrInDoubt) {
		return err
	}
	if w != nil {
		_ = w.Abandon() // whatever it holds, it takes no more
		s.old = append(s.old, w.Num())
	}
	if err != nil {
		s.w = nil
		return err
	}
	s.removeOld()
	return nil
}

// begin writes a new manifest that describes v and makes it current. Unless it
// succeeds s.w is as it was.
func (s *Store) begin(v *Version) error {
	num := s.opts.NewFileNum()
	w, err := s.describe(num, v)
	if err != nil {
		return fmt.Errorf("sift: begin manifest %06d: %w", num, err)
	}
	err = setCurrent(s.fs, s.dir, num)
	switch {
	case errors.Is(err, ErrInDoubt):
		s.old = append(s.old, num)
		return errors.Join(err, w.Abandon())
	case err != nil:
		return errors.Join(err, w.Abandon(), s.fs.Remove(Path(s.dir, Manifest, num)))
	}
	s.w, s.now.Num = w, num
	s.limit = max(s.opts.MaxSize, 2*w.Size())
	return nil
}

// describe writes a manifest that holds v and the present numbers. It is durable,
// its name too, or gone.
func (s *Store) describe(num uint64, v *Version) (*wal.Writer, error) {
	if v == nil {
		v = new(Version)
	}
	path := Path(s.dir, Manifest, num)
	w, err := wal.Create(s.fs, path, num, wal.Options{})
	if err != nil {
		return nil, err
	}
	e := v.Snapshot()
	e.Format = FormatVersion
	e.LogNum, e.NextFileNum, e.LastSeq = s.now.LogNum, s.now.NextFileNum, s.now.LastSeq
	if err := s.append(w, e); err != nil {
		return nil, errors.Join(err, w.Abandon(), s.fs.Remove(path))
	}
	return w, nil
}

// append makes one edit durable in w. The first sync of a log makes its name
// durable as well.
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

// Close appends a last edit, unless it is nil, and seals the manifest, which makes
// both durable. The edit is one that the next Open can do without: while a switch
// of CURRENT is in doubt there is no manifest to append it to.
func (s *Store) Close(last *Edit) error {
	if s.closed {
		return fmt.Errorf("sift: manifest: %w", key.ErrClosed)
	}
	s.closed = true
	if s.w == nil {
		return nil
	}
	var err error
	if last != nil {
		_, err = s.w.Append(last.Append(s.buf[:0]))
	}
	return errors.Join(err, s.w.Close())
}
