package sift_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

const time60 = 60 * time.Second // what nothing here takes, unless it hangs

// longForm asks for the sizes that take minutes, where a test has such sizes.
var longForm = flag.Bool("long", false, "run the scenarios at their full size")

// open opens a database that the test closes at its end, if it is not closed by
// then.
func open(t testing.TB, dir string, o *sift.Options) *sift.DB {
	t.Helper()
	db, err := sift.Open(dir, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil && !errors.Is(err, sift.ErrClosed) {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

// openMem opens an empty database in memory, with the given options.
func openMem(t testing.TB, o sift.Options) *sift.DB {
	t.Helper()
	o.FS = sift.NewMemFS()
	return open(t, "db", &o)
}

// reopen closes and opens a database.
func reopen(t testing.TB, db *sift.DB, dir string, o *sift.Options) *sift.DB {
	t.Helper()
	must(t, db.Close())
	return open(t, dir, o)
}

// must ends the test if there is an error.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// write commits ops to a database and its model without waiting for the disk.
func write(t testing.TB, db *sift.DB, m *model, ops ...op) {
	t.Helper()
	must(t, applyOps(db, sift.NoSync, ops))
	if m != nil {
		m.apply(ops...)
	}
}

// small are options under which a few hundred writes fill several levels.
func small() sift.Options {
	return sift.Options{
		MemTableSize: 8 << 10, TableSize: 4 << 10, BlockSize: 256,
		Compaction: sift.CompactionOptions{
			BaseLevelSize: 16 << 10, Multiplier: 4, L0Compact: 2, L0Slow: 8, L0Stop: 12,
		},
	}
}

// manual are options under which nothing is compacted but by Compact.
func manual() sift.Options {
	return sift.Options{BlockSize: 256, Compaction: sift.CompactionOptions{Disable: true}}
}

// layers moves what was written from the memtable down, one step a call; the
// first leaves it where it is.
func layers(db *sift.DB) []func() error {
	return []func() error{
		func() error { return nil },
		db.Flush,
		func() error { return db.Compact(nil, nil) },
	}
}

// files is every regular file of a directory, by base name.
func files(fs vfs.FS, dir string) (map[string]string, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, name := range names {
		path := filepath.Join(dir, name)
		info, err := fs.Stat(path)
		if err != nil {
			return nil, err
		}
		if info.IsDir {
			continue
		}
		if all[name], err = readFile(fs, path); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func readFile(fs vfs.FS, path string) (string, error) {
	f, err := fs.Open(path)
	if err != nil {
		return "", err
	}
	size, err := f.Size()
	if err != nil {
		return "", errors.Join(err, f.Close())
	}
	data := make([]byte, size)
	if size > 0 {
		_, err = f.ReadAt(data, 0)
	}
	return string(data), errors.Join(err, f.Close())
}

// writeFile makes or replaces a file, durably.
func writeFile(fs vfs.FS, path, data string) error {
	f, err := fs.Create(path)
	if err != nil {
		return err
	}
	err = errors.Join(f.Append([]byte(data)), f.Sync(), f.Close())
	return errors.Join(err, fs.SyncDir(filepath.Dir(path)))
}

// mustFiles is files, for a test.
func mustFiles(t testing.TB, fs vfs.FS, dir string) map[string]string {
	t.Helper()
	all, err := files(fs, dir)
	must(t, err)
	return all
}

// image makes a fresh disk with the given files.
func image(t testing.TB, dir string, all map[string]string) *vfs.Mem {
	t.Helper()
	fs := vfs.NewMem()
	must(t, fs.MkdirAll(dir), fs.SyncDir(filepath.Dir(dir)))
	for name, data := range all {
		must(t, writeFile(fs, filepath.Join(dir, name), data))
	}
	return fs
}

// named are the names with an ending, sorted.
func named(all map[string]string, ending string) []string {
	var names []string
	for name := range all {
		if strings.HasSuffix(name, ending) || strings.HasPrefix(name, ending) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// unchanged fails the test if any file differs, LOCK aside.
func unchanged(t testing.TB, before, after map[string]string) {
	t.Helper()
	before, after = maps.Clone(before), maps.Clone(after)
	delete(before, "LOCK")
	delete(after, "LOCK")
	for name, data := range before {
		if now, ok := after[name]; !ok {
			t.Errorf("file %s is gone", name)
		} else if now != data {
			t.Errorf("file %s has changed (%d bytes, was %d)", name, len(now), len(data))
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			t.Errorf("file %s is new", name)
		}
	}
}

// watchdog ends the whole run, with all stacks, if the test is not done in time:
// a hang must name its case. It returns the function that calls it off.
func watchdog(limit time.Duration, what func() string) (stop func()) {
	timer := time.AfterFunc(limit, func() {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		fmt.Fprintf(os.Stderr, "hang: %s: not done after %v\n%s\n", what(), limit, stacks)
		os.Exit(2)
	})
	return func() { timer.Stop() }
}

// eventually waits for what the background does in its own time.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 10_000 {
		if done() {
			return
		}
		<-tick.C
	}
	t.Errorf("not within ten seconds: %s", what)
}

// wantError fails unless err is the sentinel.
func wantError(t testing.TB, what string, err, sentinel error) {
	t.Helper()
	if !errors.Is(err, sentinel) {
		t.Errorf("%s: error %v, want %v", what, err, sentinel)
	}
}

// wantCorrupt fails unless err is a CorruptionError that names the file, or any
// file if name is empty.
func wantCorrupt(t testing.TB, what string, err error, name string) {
	t.Helper()
	var c *sift.CorruptionError
	if !errors.As(err, &c) {
		t.Errorf("%s: error %v, want a CorruptionError", what, err)
	} else if name != "" && c.File != name && !strings.Contains(err.Error(), name) {
		t.Errorf("%s: error %v, want it to name %s", what, err, name)
	}
}
