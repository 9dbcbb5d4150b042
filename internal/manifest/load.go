package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
	"github.com/siftkv/sift/wal"
)

// State is what a manifest says of a database.
type State struct {
	Version     *Version  // without filters
	LogNum      uint64    // logs with a smaller number are not needed
	NextFileNum uint64    // no file number from here on was given out
	LastSeq     uint64    // the largest sequence number in any table
	Closed      ClosedLog // the newest log, if nothing happened since the database was closed

	Num     uint64 // of the manifest file
	Dropped int64  // bytes of torn tail that were passed over
}

// Load reads the manifest that CURRENT names, and changes nothing. The torn end
// that a power cut left is passed over: an edit that was not durable was never
// acted upon. The error is key.ErrNotExist if there is no CURRENT,
// key.ErrVersion if a newer release wrote the manifest, and a
// *key.CorruptionError if CURRENT or the manifest is damaged or the manifest is
// missing.
func Load(fsys vfs.FS, dir string) (*State, error) {
	num, err := readCurrent(fsys, dir)
	if err != nil {
		return nil, err
	}
	path := Path(dir, Manifest, num)
	f, err := fsys.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, key.Corruptf(path, -1, "the file is missing, though %s names it; restore it, or repair the database", currentName)
	}
	if err != nil {
		return nil, fmt.Errorf("sift: open manifest: %w", err)
	}
	s, err := readEdits(f, path, num)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// readEdits sums up the edits of a manifest.
func readEdits(f vfs.File, path string, num uint64) (*State, error) {
	r, err := wal.NewReader(f, path, num)
	if err != nil {
		return nil, err
	}
	s := &State{Num: num, NextFileNum: num + 1}
	l := ledger{}
	for n := 0; ; n++ {
		offset := r.Tail().End
		record, err := r.Next()
		if errors.Is(err, io.EOF) && n > 0 {
			break
		}
		if errors.Is(err, io.EOF) {
			return nil, key.Corruptf(path, offset, "the first edit is missing, which was durable before %s named the file; "+
				"restore the file, or repair the database", currentName)
		}
		if err != nil {
			return nil, err
		}
		e, err := DecodeEdit(record, path, offset)
		if err != nil {
			return nil, err
		}
		if n == 0 && e.Format == 0 {
			return nil, key.Corruptf(path, offset, "the first edit gives no format version")
		}
		if err := l.apply(e); err != nil {
			return nil, key.Corruptf(path, offset, "manifest edit: %v", err)
		}
		s.note(e)
	}
	s.Dropped = r.Tail().Dropped
	if s.Version, err = new(Version).Apply(l.edit()); err != nil {
		return nil, key.Corruptf(path, -1, "the edits add up to no sound state: %v", err)
	}
	return s, nil
}

// note takes over the numbers of an edit. They only grow; that a database was
// closed holds until the next edit.
func (s *State) note(e *Edit) {
	s.LogNum = max(s.LogNum, e.LogNum)
	s.NextFileNum = max(s.NextFileNum, e.NextFileNum)
	s.LastSeq = max(s.LastSeq, e.LastSeq)
	s.Closed = e.Closed
}

// ledger collects by file number the tables that a sequence of edits leaves, so
// that the levels are put in order once and not for every edit.
type ledger map[uint64]NewTable

func (l ledger) apply(e *Edit) error {
	for _, d := range e.Deleted {
		if t, ok := l[d.Num]; !ok || t.Level != d.Level {
			return fmt.Errorf("table %06d deleted from level %d, which does not hold it", d.Num, d.Level)
		}
		delete(l, d.Num)
	}
	for _, a := range e.Added {
		num := a.Meta.Num
		if t, ok := l[num]; ok {
			return fmt.Errorf("table %06d added to level %d, but level %d holds it", num, a.Level, t.Level)
		}
		l[num] = a
	}
	return nil
}

// edit returns the edit that makes all of it out of nothing.
func (l ledger) edit() *Edit {
	e := &Edit{Added: make([]NewTable, 0, len(l))}
	for _, t := range l {
		e.Added = append(e.Added, t)
	}
	return e
}
