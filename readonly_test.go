package sift_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// A read-only database shows what the log holds, refuses every write, and never
// makes a call that could write: it needs no permission to.
func TestP199_ReadOnlyWritesNothing(t *testing.T) {
	for _, closed := range []bool{true, false} {
		s := makeSpecimen(t, closed)
		s.files["LOCK"] = ""
		disk := image(t, "db", s.files)
		before := mustFiles(t, disk, "db")
		o := sift.Options{ReadOnly: true, FS: vfs.NewFault(disk, func(op vfs.Op) error {
			if changing(op) {
				t.Errorf("a read-only database calls %v %s", op.Kind, op.Name)
				return syscall.EACCES
			}
			return nil
		})}
		for range 2 {
			db := open(t, "db", &o)
			must(t, s.model.head().check(db, rand.New(rand.NewPCG(199, 0))))
			snap := db.NewSnapshot()
			must(t, s.model.head().check(snap, rand.New(rand.NewPCG(199, 1))), snap.Close())
			b := db.NewBatch()
			must(t, b.Put([]byte("k"), nil))
			for name, err := range map[string]error{
				"Put": db.Put([]byte("k"), nil, nil), "Delete": db.Delete([]byte("k"), sift.NoSync), "Apply": db.Apply(b, nil),
				"Flush": db.Flush(), "Compact": db.Compact(nil, nil),
			} {
				wantError(t, name, err, sift.ErrReadOnly)
			}
			must(t, db.Close())
		}
		if after := mustFiles(t, disk, "db"); after["LOCK"] != "" {
			t.Error("LOCK was written")
		} else {
			unchanged(t, before, after)
		}
	}
}

// A database is found under any path: no file holds one.
func TestP202_CopiedDirectory(t *testing.T) {
	s := makeSpecimen(t, true)
	disk := image(t, "a", s.files)
	must(t, disk.MkdirAll("b"))
	for name, data := range s.files {
		must(t, writeFile(disk, "b/"+name, data))
	}
	oa, ob := small(), small()
	oa.FS, ob.FS = disk, disk
	a, b := open(t, "a", &oa), open(t, "b", &ob)
	rnd := rand.New(rand.NewPCG(202, 0))
	must(t, a.Put([]byte("only in a"), nil, nil), b.Put([]byte("only in b"), nil, nil), a.Compact(nil, nil), b.Flush())
	view := func(extra string) view {
		m := newModel()
		for _, p := range s.model.head() {
			m.apply(put(p.key, p.value))
		}
		m.apply(put(extra, ""))
		return m.head()
	}
	must(t, view("only in a").check(a, rnd), view("only in b").check(b, rnd), a.Close(), b.Close())
}

// On a full disk a write fails with ENOSPC, reads go on, the partial files go
// away, nothing is tried without a pause, and all is well once there is space.
func TestP160_P161_DiskFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewMem()
		o := small()
		o.FS = disk
		m, db := newModel(), open(t, "db", &o)
		value := strings.Repeat("v", 200)
		for i := range 200 {
			write(t, db, m, put(fmt.Sprintf("%03d", i), value))
		}
		must(t, db.Flush())
		disk.SetSpace(disk.Used() + 2<<10)
		var full error
		var lastTried string // the key whose write failed: the old value or the new
		for i := 0; full == nil && i < 2000; i++ {
			lastTried = fmt.Sprintf("%03d", i%200)
			ops := []op{put(lastTried, fmt.Sprint(i, value))}
			if full = applyOps(db, sift.Sync, ops); full == nil {
				m.apply(ops...)
			}
		}
		wantError(t, "writing to a full disk", full, syscall.ENOSPC)
		appends := disk.Used()
		<-time.After(time.Minute) // of the bubble's clock
		if now := disk.Used(); now > appends {
			t.Errorf("%d bytes more on a disk that was full a minute ago", now-appends)
		}
		if got, err := scan(db, nil, nil); err != nil || len(got) != 200 {
			t.Errorf("reading while the disk is full: %d keys, %v", len(got), err)
		}
		disk.SetSpace(-1)
		again := errors.New("not tried")
		for i := 0; again != nil && i < 60; i++ {
			<-time.After(time.Second)
			again = db.Put([]byte("again"), []byte("1"), nil)
		}
		if again != nil {
			t.Errorf("a minute after there is space again: %v", again)
		}
		must(t, ignoreFull(db.Close()))
		db = open(t, "db", &o)
		for _, p := range m.head() {
			v, err := db.Get([]byte(p.key))
			if err != nil || string(v) != p.value && p.key != lastTried {
				t.Errorf("after reopening: %s = %s, %v; want %s", p.key, brief(string(v)), err, brief(p.value))
			}
		}
		must(t, db.Put([]byte("000"), nil, nil), db.Flush(), db.Compact(nil, nil), db.Close())
	})
}

func ignoreFull(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, sift.ErrBackground) {
		return nil
	}
	return err
}

// The directory is removed under an open database: writing to it errors, Close
// returns, and nothing is made anew.
func TestDirectoryRemoved(t *testing.T) {
	defer watchdog(time60, t.Name)()
	db, dir := realDB(t)
	must(t, db.Put([]byte("k"), []byte("v"), nil), db.Flush())
	if err := os.RemoveAll(dir); err != nil {
		t.Skipf("open files cannot be removed here: %v", err)
	}
	if err := errors.Join(db.Put([]byte("l"), nil, nil), db.Flush()); err == nil {
		t.Error("writing and flushing into a removed directory: no error")
	}
	_ = db.Close() // it may say that the log is gone
	if names, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(names) != 0 {
		t.Errorf("made anew: %v (%v)", names, err)
	}
}
