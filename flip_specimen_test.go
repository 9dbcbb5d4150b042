package sift_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// A specimen is a small database at rest, with all that may be known of it.
type specimen struct {
	files  map[string]string
	disk   *vfs.Mem // with these files
	model  *model
	least  int      // the first commit at which it may stand if its log's end is damaged
	closed bool     // its log has a seal
	older  []string // former contents of its logs, which a recycled one may still hold
}

// makeSpecimen makes a compressed table, an uncompressed one above it, each with
// several data blocks, and a log with a tail of synced commits.
func makeSpecimen(t testing.TB, closed bool) *specimen {
	t.Helper()
	rnd := rand.New(rand.NewPCG(6, 0))
	disk := vfs.NewMem()
	o := specimenOptions()
	o.FS, o.Compression = disk, sift.Snappy
	o.MemTableSize = 16 << 10 // no flush but those below: each run makes the same files
	s := &specimen{model: newModel(), closed: closed}
	keys := pick2(*flipAll, 60, 20)
	db, err := sift.Open("db", o)
	must(t, err)
	fill := func(from, to int) {
		for i := from; i < to; i++ {
			value := fmt.Sprintf("%d-%016x-%030d", i, rnd.Uint64(), i) // half of it can be compressed
			write(t, db, s.model, put(fmt.Sprintf("key%03d", i), value))
		}
	}
	fill(0, keys)
	s.keepLogs(t, disk)
	must(t, db.Flush(), db.Compact(nil, nil), db.Close())
	o.Compression = sift.NoCompression
	db, err = sift.Open("db", o)
	must(t, err)
	fill(keys/2, keys+keys/2)
	write(t, db, s.model, del("key001"))
	s.keepLogs(t, disk)
	must(t, db.Flush())
	for i := range 5 {
		ops := []op{put("tail", fmt.Sprint(i)), put(fmt.Sprintf("tail%d", i), "x"), del("key003")}
		must(t, applyOps(db, sift.Sync, ops))
		s.model.apply(ops...)
	}
	s.least = s.model.last
	if !closed {
		s.least--
		s.files = mustFiles(t, disk.Kill(), "db")
	}
	must(t, db.Close())
	if closed {
		s.files = mustFiles(t, disk, "db")
	}
	delete(s.files, "LOCK")
	s.disk = image(t, "db", s.files)
	return s
}

// specimenOptions are those under which a specimen is made and examined: nothing
// in them is large, since it is opened hundreds of thousands of times.
func specimenOptions() *sift.Options {
	o := manual()
	o.MemTableSize, o.CacheSize = 4<<10, 4<<10
	return &o
}

// keepLogs remembers what the logs hold before they are done with.
func (s *specimen) keepLogs(t testing.TB, disk *vfs.Mem) {
	t.Helper()
	all := mustFiles(t, disk, "db")
	for _, log := range named(all, ".log") {
		s.older = append(s.older, all[log])
	}
}

// A finding is what a damaged database answered.
type finding struct {
	err     error // what the calls said
	got     view  // the full content, if there was no error
	bad     error // a wrong answer
	noticed bool  // a filter was counted as damaged, or a torn log reported
}

// examine opens a database, reads all of it in every way, and uses it. It may
// stand at any commit from least on.
func (s *specimen) examine(fs vfs.FS, least int) (f finding) {
	o := specimenOptions()
	o.FS = fs
	o.Events = &sift.Events{
		TornLog:   func(int64) { f.noticed = true },
		BadFilter: func(string, error) { f.noticed = true },
	}
	db, err := sift.Open("db", o)
	if err != nil {
		return finding{err: err}
	}
	defer func() { f.err = errors.Join(f.err, db.Close()) }()
	f.got, f.err = scan(db, nil, nil)
	for key := range s.model.versions {
		v, err := db.Get([]byte(key))
		switch {
		case err != nil && !errors.Is(err, sift.ErrNotFound):
			f.err = errors.Join(f.err, err)
		case !s.everHeld(key, string(v), err == nil, least):
			f.bad = fmt.Errorf("Get(%q) = %s, %v", key, brief(string(v)), err)
		}
	}
	if f.err == nil && f.bad == nil {
		f.bad = f.got.check(db, rand.New(rand.NewPCG(1, 1)))
		f.err = db.Compact(nil, nil)
	}
	f.noticed = f.noticed || db.Metrics().Filters.Damaged > 0
	return f
}

// everHeld says whether a key had this value, or none, after one of the commits
// from least on.
func (s *specimen) everHeld(key, value string, found bool, least int) bool {
	for n := least; n <= s.model.last; n++ {
		if want, ok := s.model.get(key, n); ok == found && (!ok || want == value) {
			return true
		}
	}
	return false
}

// judge says what is wrong with a finding.
func (s *specimen) judge(f finding, damaged string, least int) error {
	if f.bad != nil {
		return f.bad
	}
	if f.err != nil {
		return typed(f.err, damaged)
	}
	for n := least; n <= s.model.last; n++ {
		if s.model.at(n).diff(f.got) == nil {
			return nil
		}
	}
	return fmt.Errorf("wrong data and no error: %w", s.model.head().diff(f.got))
}

// typed accepts a CorruptionError that names one of the damaged files, and
// ErrVersion. A manifest that lost its end may show in the files that it no longer
// describes: then any name will do.
func typed(err error, damaged string) error {
	var c *sift.CorruptionError
	switch {
	case errors.Is(err, sift.ErrVersion):
		return nil
	case !errors.As(err, &c):
		return fmt.Errorf("not a typed error: %w", err)
	}
	for name := range strings.FieldsSeq(damaged) {
		if strings.HasPrefix(name, "MANIFEST") && c.File != "" || strings.Contains(err.Error(), name) {
			return nil
		}
	}
	return fmt.Errorf("the error does not name %s: %w", damaged, err)
}

// with is a disk on which one file has other bytes.
func (s *specimen) with(t testing.TB, name, data string) *vfs.Mem {
	t.Helper()
	fs, err := s.changed(name, data)
	must(t, err)
	return fs
}

// changed is with, for goroutines that must not end the test.
func (s *specimen) changed(name, data string) (*vfs.Mem, error) {
	fs := s.disk.Kill()
	return fs, writeFile(fs, filepath.Join("db", name), data)
}

// needed says whether anything is lost without the file: a file that waits for
// its removal is not.
func (s *specimen) needed(t testing.TB, name string) bool {
	t.Helper()
	fs := s.disk.Kill()
	must(t, fs.Remove("db/"+name))
	f := s.examine(fs, s.model.last)
	return f.err != nil || f.bad != nil || s.model.head().diff(f.got) != nil
}

func sortedNames(all map[string]string) []string {
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
