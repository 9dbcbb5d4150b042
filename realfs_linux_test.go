// Tests on real file systems, made for the purpose: a small tmpfs and a small
// ext4. They need root, to mount; what only needs another user or fewer
// descriptors is in realchild_linux_test.go.
package sift_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// onRealDisks runs a test on an empty file system of each kind, of about 6 MiB.
func onRealDisks(t *testing.T, test func(t *testing.T, root string)) {
	t.Helper()
	t.Run("tmpfs", func(t *testing.T) { test(t, mountTmpfs(t)) })
	t.Run("ext4", func(t *testing.T) { test(t, mountExt4(t)) })
}

func mountTmpfs(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := syscall.Mount("sift-test", root, "tmpfs", 0, "size=6m"); err != nil {
		unable(t, "mounting is not allowed: it needs root", err)
	}
	unmountLater(t, root)
	return root
}

func mountExt4(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		unable(t, "mounting is not allowed: it needs root", syscall.EPERM)
	}
	root, image := t.TempDir(), filepath.Join(t.TempDir(), "image")
	must(t, os.WriteFile(image, nil, 0o600), os.Truncate(image, 8<<20))
	for _, args := range [][]string{{"mkfs.ext4", "-q", "-F", "-m0", image}, {"mount", "-o", "loop", image, root}} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			unable(t, noLoop, fmt.Errorf("%v: %w: %s", args, err, out))
		}
	}
	unmountLater(t, root)
	return root
}

// unmountLater takes the mount away even if a failed test left files open.
func unmountLater(t *testing.T, root string) {
	t.Helper()
	t.Cleanup(func() {
		if err := syscall.Unmount(root, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", root, err)
		}
	})
}

// noise is a value of n bytes that does not compress, the same for a seed.
func noise(seed uint64, n int) string {
	rnd, b := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)}), make([]byte, n)
	_, _ = rnd.Read(b) // it cannot fail
	return string(b)
}

// takeSpace fills a file system up to its last block, and returns the file that
// does it.
func takeSpace(t *testing.T, root string) string {
	t.Helper()
	name := filepath.Join(root, "ballast")
	f, err := os.Create(name)
	must(t, err)
	for size := 1 << 20; size > 0; {
		if _, err = f.WriteString(noise(1, size)); err != nil {
			size /= 2
		}
	}
	wantError(t, "taking all space", err, syscall.ENOSPC)
	must(t, f.Close())
	return name
}

// A real disk fills up: the write says ENOSPC, reads go on, work is tried again
// with pauses only, partial files are removed, and once there is space all is
// well, with everything that was acknowledged.
func TestRealDiskFull(t *testing.T) {
	onRealDisks(t, func(t *testing.T, root string) {
		defer watchdog(time60, t.Name)()
		ballast, dir := filepath.Join(root, "ballast"), filepath.Join(root, "db")
		must(t, os.WriteFile(ballast, []byte(noise(1, 3<<20)), 0o600))
		var failures atomic.Int64
		o := small()
		o.MemTableSize, o.TableSize, o.Compaction.BaseLevelSize = 64<<10, 32<<10, 128<<10
		o.Events = &sift.Events{Failed: func(string, error) { failures.Add(1) }}
		db, m := open(t, dir, &o), newModel()

		maybe, err := writeUntil(db, m)
		wantError(t, "writing to a full disk", err, syscall.ENOSPC)
		since, before := time.Now(), failures.Load()
		for range 40 {
			readFull(t, db, m, maybe)
			_ = db.Put([]byte(maybe.key), []byte(maybe.value), nil) // it may find a freed block
		}
		// Flushes and compactions pause for a second at least, each on its own.
		if n, most := failures.Load()-before, 4+2*int64(time.Since(since)/time.Second); n > most {
			t.Errorf("%d attempts failed in %v on a full disk, want at most %d", n, time.Since(since), most)
		}
		eventually(t, "only tables that are needed are on the full disk", func() bool { return noStrayTables(t, db, dir) })

		must(t, os.Remove(ballast))
		_ = db.Flush() // it tries at once what is paused; a write may come before its end
		eventually(t, "a write succeeds once there is space", func() bool { return db.Put([]byte("again"), nil, nil) == nil })
		m.apply(put("again", ""))
		must(t, db.Flush(), db.Compact(nil, nil))
		readFull(t, db, m, maybe)
		eventually(t, "only tables that are needed are left", func() bool { return noStrayTables(t, db, dir) })
		must(t, db.Close())
		db = open(t, dir, &o)
		readFull(t, db, m, maybe)
		must(t, db.Close())
	})
}

// writeUntil writes new keys, every fourth durably, until one fails. That one may
// be there after all: it is returned, and is not in the model.
func writeUntil(db *sift.DB, m *model) (maybe op, err error) {
	for i := range 20_000 {
		o := put(fmt.Sprintf("%05d", i*7919%20_000), noise(uint64(i), 1000))
		if err := applyOps(db, pick2(i%4 == 0, sift.Sync, sift.NoSync), []op{o}); err != nil {
			return o, err
		}
		m.apply(o)
	}
	return op{}, errors.New("20 MB went onto a disk of 6")
}

// readFull compares all that a database holds with the model; the write that
// failed may be there or not.
func readFull(t *testing.T, db *sift.DB, m *model, maybe op) {
	t.Helper()
	got, err := scan(db, nil, nil)
	must(t, err)
	if at := got.seek(maybe.key); at < len(got) && got[at].key == maybe.key && got[at].value == maybe.value {
		got = append(got[:at:at], got[at+1:]...)
	}
	must(t, m.head().diff(got))
}

// noStrayTables reports whether the directory holds the tables of the database
// and no other.
func noStrayTables(t *testing.T, db *sift.DB, dir string) bool {
	t.Helper()
	tables := db.Metrics().ObsoleteTables
	for _, l := range db.Metrics().Levels {
		tables += l.Tables
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	must(t, err)
	return len(found) == tables
}

// The default options, under which a log reserves 64 MiB, on a disk of 6: what
// cannot be reserved is not taken either.
func TestRealSmallDisk(t *testing.T) {
	onRealDisks(t, func(t *testing.T, root string) {
		m, db := newModel(), open(t, filepath.Join(root, "db"), nil)
		for i := range 1000 {
			o := put(fmt.Sprintf("%03d", i), noise(uint64(i), 1000))
			must(t, applyOps(db, nil, []op{o}))
			m.apply(o)
		}
		f, err := vfs.OS().Create(filepath.Join(root, "file"))
		must(t, err, f.Append([]byte("contents")), f.Sync())
		free := freeSpace(t, root)
		wantError(t, "reserve more than there is", f.Allocate(64<<20), syscall.ENOSPC)
		size, err := f.Size()
		// ext4 may keep a block that said where the others were.
		if now := freeSpace(t, root); now+4096 < free || size != 8 || err != nil {
			t.Errorf("refused, but %d bytes of %d are free, and the file has %d, not 8: %v", now, free, size, err)
		}
		must(t, f.Close(), db.Flush(), m.head().check(db, rand.New(rand.NewPCG(4, 4))), db.Close())
	})
}

func freeSpace(t *testing.T, root string) uint64 {
	t.Helper()
	var st syscall.Statfs_t
	must(t, syscall.Statfs(root, &st))
	return st.Bfree * uint64(st.Bsize)
}

// Open on a disk without a free block fails with ENOSPC and changes nothing; to
// read needs no space.
func TestRealOpenOnFullDisk(t *testing.T) {
	onRealDisks(t, func(t *testing.T, root string) {
		dir, m := filepath.Join(root, "db"), newModel()
		realImage(t, dir, m)
		ballast := takeSpace(t, root)
		before := mustFiles(t, vfs.OS(), dir)
		o := small()
		_, err := sift.Open(dir, &o)
		wantError(t, "open", err, syscall.ENOSPC)
		_, err = sift.Open(filepath.Join(root, "other"), &o)
		wantError(t, "create", err, syscall.ENOSPC)
		unchanged(t, before, mustFiles(t, vfs.OS(), dir))
		readReal(t, dir, m)
		must(t, os.Remove(ballast))
		db := open(t, dir, &o)
		must(t, m.head().check(db, rand.New(rand.NewPCG(2, 2))), db.Close())
	})
}

// realImage makes a database with tables, and writes in its log.
func realImage(t *testing.T, dir string, m *model) {
	t.Helper()
	o := small()
	db := open(t, dir, &o)
	for i := range 300 {
		write(t, db, m, put(fmt.Sprintf("%03d", i), noise(uint64(i), 100)))
		if i == 290 {
			must(t, db.Flush())
		}
	}
	must(t, db.Close())
	if all := mustFiles(t, vfs.OS(), dir); len(named(all, ".log")) == 0 || len(named(all, ".sst")) == 0 {
		t.Fatalf("no log or no table to test with: %v", sortedNames(all))
	}
}

// readReal opens for reading and compares.
func readReal(t *testing.T, dir string, m *model) {
	t.Helper()
	db := open(t, dir, &sift.Options{ReadOnly: true})
	must(t, m.head().check(db, rand.New(rand.NewPCG(1, 1))), db.Close())
}

// A file system mounted read-only: nothing can be opened for writing or created,
// the error says why, and reading works, with a LOCK file and without.
func TestRealReadOnlyMount(t *testing.T) {
	onRealDisks(t, func(t *testing.T, root string) {
		dir, m := filepath.Join(root, "db"), newModel()
		realImage(t, dir, m)
		for _, lock := range []bool{true, false} {
			if !lock {
				must(t, os.Remove(filepath.Join(dir, "LOCK")))
			}
			must(t, syscall.Mount("", root, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
			before := mustFiles(t, vfs.OS(), dir)
			for _, path := range []string{dir, filepath.Join(root, "new"), filepath.Join(root, "new", "deeper")} {
				_, err := sift.Open(path, nil)
				wantError(t, "open for writing of "+path, err, syscall.EROFS)
			}
			_, err := sift.Open(filepath.Join(root, "new"), &sift.Options{ReadOnly: true})
			wantError(t, "open of a missing one", err, sift.ErrNotExist)
			readReal(t, dir, m)
			after := mustFiles(t, vfs.OS(), dir)
			if unchanged(t, before, after); before["LOCK"] != after["LOCK"] || len(before) != len(after) {
				t.Errorf("%v has become %v", sortedNames(before), sortedNames(after))
			}
			must(t, syscall.Mount("", root, "", syscall.MS_REMOUNT, ""))
		}
		db := open(t, dir, nil)
		must(t, m.head().check(db, rand.New(rand.NewPCG(3, 3))), db.Close())
	})
}

// The directory of an open database is removed: the next write that must be
// durable fails, and so does every other way to write; Close returns; nothing is
// made anew, there or elsewhere.
func TestRealDirectoryRemoved(t *testing.T) {
	next := map[string]func(*sift.DB) error{
		"Put":     func(db *sift.DB) error { return db.Put([]byte("k"), nil, nil) },
		"SyncWAL": func(db *sift.DB) error { return errors.Join(db.Put([]byte("k"), nil, sift.NoSync), db.SyncWAL()) },
		"Flush":   func(db *sift.DB) error { return errors.Join(db.Put([]byte("k"), nil, sift.NoSync), db.Flush()) },
		"Compact": func(db *sift.DB) error { return db.Compact(nil, nil) },
	}
	for name, call := range next {
		t.Run(name, func(t *testing.T) {
			defer watchdog(time60, t.Name)()
			root := t.TempDir()
			o := manual()
			db := open(t, filepath.Join(root, "db"), &o)
			for i := range 300 {
				write(t, db, nil, put(fmt.Sprintf("%03d", i), strings.Repeat("v", 100)))
			}
			must(t, db.Flush(), db.Put([]byte("in the log"), nil, nil), os.RemoveAll(filepath.Join(root, "db")))
			if err := call(db); err == nil {
				t.Errorf("%s in a directory that was removed: no error", name)
			}
			_ = db.Close() // it may say that the log is gone
			if names, err := os.ReadDir(root); err != nil || len(names) != 0 {
				t.Errorf("made anew: %v (%v)", names, err)
			}
		})
	}
}
