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

// State is what a manifest says.
type State struct {
	Num         uint64 // of the manifest file
	LogNum      uint64 // the oldest log that is needed
	NextFileNum uint64
	LastSeq     uint64
	Version     *Version // without filters
}

// Load reads the manifest that CURRENT names. It changes nothing. The torn end
// of a manifest that a power cut left is passed over: nothing was done on the
// strength of an edit that was not durable.
func Load(fsys vfs.FS, dir string) (*State, error) {
	num, err := readCurrent(fsys, dir)
	if err != nil {
		return nil, err
	}
	path := Path(dir, Manifest, num)
	f, err := fsys.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, key.Corruptf(path, -1, "CURRENT names it, and it does not exist")
	}
	if err != nil {
		return nil, fmt.Errorf("sift: %w", err)
	}
	defer f.Close()
	s, err := readEdits(f, path, num)
	if err != nil {
		return nil, err
	}
	s.Num = num
	return s, nil
}

// readEdits replays the edits of a manifest.
func readEdits(f vfs.File, path string, num uint64) (*State, error) {
	r, err := wal.NewReader(f, path, num)
	if err != nil {
		return nil, err
	}
	s := new(State)
	b := builder{tables: make(map[uint64]NewTable)}
	for empty := true; ; empty = false {
		at := r.Tail().End
		payload, err := r.Next()
		switch {
		case errors.Is(err, io.EOF) && empty:
			return nil, key.Corruptf(path, at, "it holds no edit; the first one was durable before CURRENT named it")
		case errors.Is(err, io.EOF):
			return s, b.finish(s, path)
		case err != nil:
			return nil, err
		}
		e, err := DecodeEdit(payload, path, at)
		if err != nil {
			return nil, err
		}
		if err := b.apply(s, e); err != nil {
			return nil, key.Corruptf(path, at, "manifest edit: %v", err)
		}
	}
}

// A builder collects the tables that a sequence of edits leaves, so that the
// levels are put in order once and not for every edit.
type builder struct{ tables map[uint64]NewTable }

func (b *builder) apply(s *State, e *Edit) error {
	s.LogNum = max(s.LogNum, e.LogNum)
	s.NextFileNum = max(s.NextFileNum, e.NextFileNum)
	s.LastSeq = max(s.LastSeq, e.LastSeq)
	for _, d := range e.Deleted {
		if t, ok := b.tables[d.Num]; !ok || t.Level != d.Level {
			return fmt.Errorf("table %06d deleted from level %d, which does not hold it", d.Num, d.Level)
		}
		delete(b.tables, d.Num)
	}
	for _, a := range e.Added {
		if _, ok := b.tables[a.Meta.Num]; ok {
			return fmt.Errorf("table %06d added twice", a.Meta.Num)
		}
		b.tables[a.Meta.Num] = a
	}
	return nil
}

func (b *builder) finish(s *State, path string) error {
	e := new(Edit)
	for _, t := range b.tables {
		e.Added = append(e.Added, t)
	}
	v, err := new(Version).Apply(e)
	if err != nil {
		return key.Corruptf(path, -1, "the edits do not make a tree: %v", err)
	}
	s.Version = v
	return nil
}
