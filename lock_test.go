package sift_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// realDB opens a database in a directory of the operating system.
func realDB(t testing.TB) (*sift.DB, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "db")
	return open(t, dir, nil), dir
}

// Of two openers in one process one wins, and the other is told at once; on the
// real file system and in memory.
func TestLockSameProcess(t *testing.T) {
	mem := sift.NewMemFS()
	for name, o := range map[string]*sift.Options{"memory": {FS: mem}, "disk": {}} {
		dir := filepath.Join(t.TempDir(), "db")
		db := open(t, dir, o)
		for range 3 {
			_, err := sift.Open(dir, o)
			wantError(t, name+": a second open", err, sift.ErrLocked)
		}
		ro := *o
		ro.ReadOnly = true
		_, err := sift.Open(dir, &ro)
		wantError(t, name+": a read-only open beside a writer", err, sift.ErrLocked)
		must(t, db.Put([]byte("k"), nil, nil), db.Close())
		must(t, open(t, dir, o).Close())
	}
}

// Racing openers: exactly one wins.
func TestLockRace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	for range 5 {
		var wg sync.WaitGroup
		won := make(chan *sift.DB, 8)
		for range cap(won) {
			wg.Go(func() {
				db, err := sift.Open(dir, nil)
				if err == nil {
					won <- db
				} else if !errors.Is(err, sift.ErrLocked) {
					t.Errorf("the loser's error: %v", err)
				}
			})
		}
		wg.Wait()
		close(won)
		if len(won) != 1 {
			t.Errorf("%d of 8 openers won, want 1", len(won))
		}
		for db := range won {
			must(t, db.Close())
		}
	}
}

// Another process is kept out, and a failed second open here, which opens and
// closes the lock file, does not let it in.
func TestP193_FailedOpenKeepsTheLock(t *testing.T) {
	db, dir := realDB(t)
	for range 2 {
		_, err := sift.Open(dir, nil)
		wantError(t, "a second open", err, sift.ErrLocked)
		for _, mode := range []string{"rw", "ro"} {
			if said, _ := startChild(t, "open", dir, mode).line(); said != "locked" {
				t.Errorf("open (%s) in another process: %q, want locked", mode, said)
			}
		}
	}
	must(t, db.Close())
	if said, _ := startChild(t, "open", dir, "rw").line(); said != "open <nil>" {
		t.Errorf("open in another process after Close: %q", said)
	}
}

// The lock holds against another path to the same directory.
func TestLockBySymlink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege there")
	}
	_, dir := realDB(t)
	other := filepath.Join(t.TempDir(), "other")
	must(t, os.Symlink(dir, other))
	for _, path := range []string{other, dir + "/", dir + "/../" + filepath.Base(dir)} {
		_, err := sift.Open(path, nil)
		wantError(t, "open by "+path, err, sift.ErrLocked)
	}
}

// After kill -9 of the owner the next open works at once.
func TestP194_OwnerKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	c := startChild(t, "hold", dir)
	if said, _ := c.line(); said != "holding <nil>" {
		t.Fatalf("the child says %q", said)
	}
	_, err := sift.Open(dir, nil)
	wantError(t, "open beside the owner", err, sift.ErrLocked)
	must(t, c.Process.Kill())
	_ = c.Wait() // killed
	db := open(t, dir, nil)
	v, err := db.Get([]byte("held"))
	if err != nil || string(v) != "yes" {
		t.Errorf("what the killed owner wrote: %q, %v", v, err)
	}
}

// What the lock file holds says nothing: only the lock counts.
func TestP194_StaleLockFile(t *testing.T) {
	for name, content := range map[string]string{"garbage": "\x00\xffgarbage", "empty": "", "a pid": "1\n"} {
		dir := filepath.Join(t.TempDir(), "db")
		must(t, open(t, dir, nil).Close())
		must(t, os.WriteFile(filepath.Join(dir, "LOCK"), []byte(content), 0o644))
		db, err := sift.Open(dir, nil)
		if err != nil {
			t.Errorf("LOCK with %s: %v", name, err)
			continue
		}
		must(t, db.Close())
	}
}

// After the lock file could not be made, the next open in the process works.
func TestP166_LockFails(t *testing.T) {
	for _, fail := range faultErrors {
		mem := vfs.NewMem()
		failing := true
		o := &sift.Options{FS: vfs.NewFault(mem, func(op vfs.Op) error {
			if op.Kind == vfs.OpLock && failing {
				return fail
			}
			return nil
		})}
		_, err := sift.Open("db", o)
		wantError(t, "open while the lock fails", err, fail)
		if n := mem.OpenFiles(); n != 0 {
			t.Errorf("%d files open after a failed open", n)
		}
		failing = false
		must(t, open(t, "db", o).Close())
	}
}

// While one goroutine closes, another that tries to open gets ErrLocked until it
// gets everything.
func TestP196_OpenRacesClose(t *testing.T) {
	rounds := 20
	if *longForm {
		rounds = 200
	}
	o := small()
	o.FS = sift.NewMemFS()
	db, err := sift.Open("db", &o)
	must(t, err)
	for round := range rounds {
		key := fmt.Appendf(nil, "%04d", round)
		must(t, db.Put(key, []byte(strings.Repeat("v", 2000)), nil))
		closed := make(chan error, 1)
		go func(db *sift.DB) { closed <- db.Close() }(db)
		for {
			db, err = sift.Open("db", &o)
			if err == nil {
				break
			}
			if !errors.Is(err, sift.ErrLocked) {
				t.Fatalf("round %d: %v", round, err)
			}
			runtime.Gosched()
		}
		must(t, <-closed)
		v, err := scan(db, nil, nil)
		if must(t, err); len(v) != round+1 {
			t.Fatalf("round %d: %d keys after reopening", round, len(v))
		}
	}
	must(t, db.Close())
}
