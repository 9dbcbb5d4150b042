package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
	"github.com/siftkv/sift/wal"
)

// State is what a manifest says of a database.
type State struct {
	Version     *Version
	LogNum      uint64 // logs with a smaller number are not needed
	NextFileNum uint64 // no file number from here on was given out
	LastSeq     uint64 // the largest sequence number in any table

	Num     uint64 // of the manifest that was loaded, 0 if none was
	Dropped int64  // bytes of torn tail that were cut, of an edit that was never acknowledged
}

// Load reads the manifest that CURRENT names. It changes nothing. The error is
// key.ErrNotExist if there is no CURRENT, key.ErrVersion if a newer release wrote
// the manifest, and a *key.CorruptionError if CURRENT or the manifest is damaged
// or the manifest is missing.
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
	s, err := load(f, path, num)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return s, nil
}

func load(f vfs.File, path string, num uint64) (*State, error) {
	r, err := wal.NewReader(f, path, num)
	if err != nil {
		return nil, err
	}
	l := newLedger()
	for n := 0; ; n++ {
		offset := r.Tail().End
		record, err := r.Next()
		if err == io.EOF && n > 0 {
			break
		}
		if err == io.EOF {
			// The first edit was durable before CURRENT named the file.
			return nil, key.Corruptf(path, offset, "the manifest has no first edit; restore the file, or repair the database")
		}
		if err != nil {
			return nil, err
		}
		e, err := DecodeEdit(record, path, offset)
		if err == nil && n == 0 && e.Format == 0 {
			err = key.Corruptf(path, offset, "the first edit of the manifest gives no format version")
		}
		if err != nil {
			return nil, err
		}
		if err := l.check(e); err != nil {
			return nil, key.Corruptf(path, offset, "manifest edit: %v", err)
		}
		l.apply(e)
	}
	v, err := new(Version).Apply(l.snapshot())
	if err != nil {
		return nil, key.Corruptf(path, -1, "the manifest adds up to no sound state: %v", err)
	}
	return &State{
		Version:     v,
		LogNum:      l.logNum,
		NextFileNum: max(l.nextFileNum, num+1),
		LastSeq:     l.lastSeq,
		Num:         num,
		Dropped:     r.Tail().Dropped,
	}, nil
}

// ledger sums up edits. It is what a Version is without an index, so that a long
// manifest loads in one pass.
type ledger struct {
	tables                       map[uint64]NewTable // by file number
	logNum, nextFileNum, lastSeq uint64
}

func newLedger() *ledger { return &ledger{tables: make(map[uint64]NewTable)} }

// check returns why e cannot follow, or nil.
func (l *ledger) check(e *Edit) error {
	gone := make(map[uint64]bool, len(e.Deleted))
	for _, d := range e.Deleted {
		if t, ok := l.tables[d.Num]; !ok || t.Level != d.Level || gone[d.Num] {
			return fmt.Errorf("table %06d deleted from level %d, which does not hold it", d.Num, d.Level)
		}
		gone[d.Num] = true
	}
	added := make(map[uint64]bool, len(e.Added))
	for _, a := range e.Added {
		num := a.Meta.Num
		if _, ok := l.tables[num]; ok && !gone[num] || added[num] {
			return fmt.Errorf("table %06d added to level %d is there already", num, a.Level)
		}
		added[num] = true
	}
	return nil
}

// apply adds e, which check has accepted. Numbers only grow.
func (l *ledger) apply(e *Edit) {
	for _, d := range e.Deleted {
		delete(l.tables, d.Num)
	}
	for _, a := range e.Added {
		l.tables[a.Meta.Num] = a
		l.nextFileNum = max(l.nextFileNum, a.Meta.Num+1)
		l.lastSeq = max(l.lastSeq, a.Meta.MaxSeq)
	}
	l.logNum = max(l.logNum, e.LogNum)
	l.nextFileNum = max(l.nextFileNum, e.NextFileNum)
	l.lastSeq = max(l.lastSeq, e.LastSeq)
}

// snapshot returns the one edit that makes the present state out of nothing.
func (l *ledger) snapshot() *Edit {
	e := &Edit{Format: FormatVersion, LogNum: l.logNum, NextFileNum: l.nextFileNum, LastSeq: l.lastSeq}
	for _, t := range l.tables {
		e.Added = append(e.Added, t)
	}
	slices.SortFunc(e.Added, func(a, b NewTable) int {
		if a.Level != b.Level {
			return a.Level - b.Level
		}
		return key.Compare(a.Meta.Smallest, b.Meta.Smallest)
	})
	return e
}
