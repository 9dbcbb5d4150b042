package sift_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// A life opens a database and uses all of it: tables on two levels, a compaction,
// readers of each kind. One in ten leaves an iterator and a snapshot open, and
// one in ten finds the database locked.
func life(t testing.TB, dir string, o *sift.Options, n int) {
	t.Helper()
	db, err := sift.Open(dir, o)
	must(t, err)
	for i := range 20 {
		must(t, db.Put(fmt.Append(nil, i), []byte(strings.Repeat("v", 100)), sift.NoSync))
	}
	it, err := db.NewIter(nil)
	must(t, err)
	it.Last()
	s := db.NewSnapshot()
	_, err = s.Get([]byte("7"))
	must(t, err)
	if n%5 == 0 {
		must(t, db.Flush(), db.Compact(nil, nil))
	}
	if n%10 == 1 {
		_, err := sift.Open(dir, o)
		wantError(t, "a second Open", err, sift.ErrLocked)
	}
	if n%10 == 2 {
		if err := db.Close(); err == nil || !strings.Contains(err.Error(), "1 iterators and 1 snapshots") {
			t.Errorf("Close with an iterator and a snapshot open: %v", err)
		}
		return
	}
	must(t, it.Close(), s.Close(), db.Close())
}

// heapSlack is what the heap may be larger by after a thousand lives: pools and
// what the runtime keeps. One leaked memtable or block cache a life would be
// far more.
const heapSlack = 4 << 20

// A thousand lives leave no goroutine, descriptor, mapping or memory behind, on
// real files and in memory.
func TestThousandOpens(t *testing.T) {
	for name, onDisk := range map[string]bool{"real files": true, "in memory": false} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			o, dir, rounds := small(), "db", 1000
			mem := vfs.NewMem()
			if o.FS = mem; onDisk {
				o.FS, dir = nil, filepath.Join(t.TempDir(), "db")
			}
			if (onDisk || testing.Short()) && !*longForm {
				rounds = 100
			}
			for n := range 20 {
				life(t, dir, &o, n)
			}
			fds, heap, goroutines := descriptors(t), heapSize(), runtime.NumGoroutine()
			if onDisk { // a file that is collected closes itself, which would hide that it was left open
				defer debug.SetGCPercent(debug.SetGCPercent(-1))
			}
			for n := range rounds {
				life(t, dir, &o, n)
			}
			if now := descriptors(t); now > fds {
				t.Errorf("%d descriptors, %d before", now, fds)
			}
			if n := mappings(t, dir); n > 0 {
				t.Errorf("%d mappings of the database's files", n)
			}
			if now := heapSize(); now > heap+heapSlack {
				t.Errorf("heap of %d bytes, %d before", now, heap)
			}
			if now := runtime.NumGoroutine(); now > goroutines {
				t.Errorf("%d goroutines, %d before", now, goroutines)
			}
			if n := mem.OpenFiles(); n > 0 {
				t.Errorf("%d files open", n)
			}
			fs := o.FS
			if onDisk {
				fs = vfs.OS()
			}
			if all := mustFiles(t, fs, dir); len(all) > 20 {
				t.Errorf("%d files after %d lives", len(all), rounds)
			}
		})
	}
}

// descriptors counts the open ones, 0 where the system does not say.
func descriptors(t testing.TB) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	must(t, err)
	return len(entries)
}

// mappings counts the maps of files below a directory, where the system says.
func mappings(t testing.TB, dir string) int {
	maps, err := os.ReadFile("/proc/self/maps")
	if errors.Is(err, os.ErrNotExist) || !filepath.IsAbs(dir) {
		return 0
	}
	must(t, err)
	return strings.Count(string(maps), dir)
}

func heapSize() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
