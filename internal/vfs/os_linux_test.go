package vfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

// asNobody runs f without the rights of root, for which permissions mean
// nothing. The system call changes the rights of this thread only.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	const nobody = 65534
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := setfsuid(nobody); err != nil {
		t.Fatal(err)
	}
	defer func() { must(t, setfsuid(0)) }()
	f()
}

// setfsuid reports failure only by a second call.
func setfsuid(uid uintptr) error {
	_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, uid, 0, 0)
	if now, _, _ := syscall.RawSyscall(syscall.SYS_SETFSUID, ^uintptr(0), 0, 0); now != uid {
		return fmt.Errorf("setfsuid(%d) left %d", uid, now)
	}
	return nil
}

// openDir is a directory in which anybody may do anything.
func openDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	must(t, os.Chmod(dir, 0o777))
	return dir
}

// A lock file that can only be read still locks; one that cannot even be read
// is a permission error, and so is one that cannot be made (P194).
func TestLockPermissions(t *testing.T) {
	dir := openDir(t)
	name := filepath.Join(dir, "LOCK")
	must(t, os.WriteFile(name, nil, 0o600))
	must(t, os.Chmod(name, 0o444))
	asNobody(t, func() {
		for _, readOnly := range []bool{false, true} {
			l, err := vfs.OS().Lock(name, readOnly)
			must(t, err)
			if _, err := vfs.OS().Lock(name, false); !errors.Is(err, key.ErrLocked) {
				t.Errorf("a second lock of a read-only file: %v", err)
			}
			must(t, l.Close())
		}
	})
	must(t, os.Chmod(name, 0))
	must(t, os.Chmod(dir, 0o555))
	asNobody(t, func() {
		for _, name := range []string{name, filepath.Join(dir, "missing")} {
			if _, err := vfs.OS().Lock(name, false); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	must(t, os.Chmod(dir, 0o700))
}

// A lock file that is removed between another opener's open and lock protects
// nothing, and must not count as locked: else two would hold "the" lock.
func TestLockFileIsReplaced(t *testing.T) {
	name := filepath.Join(t.TempDir(), "LOCK")
	var holders atomic.Int32
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 500 {
				l, err := vfs.OS().Lock(name, false)
				if errors.Is(err, key.ErrLocked) || errors.Is(err, fs.ErrNotExist) {
					continue // held, or replaced too often
				}
				must(t, err)
				if holders.Add(1) > 1 {
					t.Error("two hold the lock")
				}
				runtime.Gosched()
				holders.Add(-1)
				must(t, os.Remove(name))
				must(t, l.Close())
			}
		})
	}
	group.Wait()
}

// A directory without permission to write gives typed errors and stays as it is.
func TestReadOnlyDirectory(t *testing.T) {
	dir := openDir(t)
	s := &system{T: t, FS: vfs.OS(), dir: dir}
	s.write("a", "A")
	must(t, os.Chmod(s.p("a"), 0o444))
	must(t, os.Chmod(dir, 0o555))
	asNobody(t, func() {
		_, err := s.Create(s.p("b"))
		s.want(err, fs.ErrPermission)
		_, err = s.Create(s.p("a"))
		s.want(err, fs.ErrPermission)
		s.want(s.MkdirAll(s.p("d")), fs.ErrPermission)
		s.want(s.Rename(s.p("a"), s.p("b")), fs.ErrPermission)
		s.want(s.Remove(s.p("a")), fs.ErrPermission)
		s.holds("a", "A")
		s.lists("a")
	})
	must(t, os.Chmod(dir, 0o700))
}

// Disk full and too many files are told from other errors.
func TestResourceErrors(t *testing.T) {
	f, err := vfs.OS().Create("/dev/full")
	must(t, err)
	if err := f.Append([]byte("x")); !vfs.IsNoSpace(err) || vfs.IsTooManyFiles(err) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("append to a full disk: %v", err)
	}
	must(t, f.Close())

	name := filepath.Join(t.TempDir(), "a")
	must(t, os.WriteFile(name, nil, 0o600))
	err = exhaustFiles(t, name)
	if !vfs.IsTooManyFiles(err) || vfs.IsNoSpace(err) {
		t.Errorf("open of one file too many: %v", err)
	}
	if vfs.IsNoSpace(nil) || vfs.IsNoSpace(fs.ErrNotExist) || vfs.IsTooManyFiles(nil) {
		t.Error("an error is taken for another")
	}
}

// exhaustFiles opens a file until that fails, under a small limit.
func exhaustFiles(t *testing.T, name string) error {
	t.Helper()
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	small := limit
	small.Cur = 100
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &small))
	defer func() { must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)) }()
	for range 200 {
		f, err := vfs.OS().Open(name)
		if err != nil {
			return err
		}
		defer func() { must(t, f.Close()) }()
	}
	return nil
}

// Failed calls leave no descriptor open.
func TestNoDescriptorLeaks(t *testing.T) {
	s := &system{T: t, FS: vfs.OS(), dir: t.TempDir()}
	s.write("a", "A")
	held, err := s.Lock(s.p("LOCK"), false)
	must(t, err)
	before := descriptors(t, s.dir)
	for range 10 {
		_, err := s.Open(s.dir)
		s.fails(err)
		_, err = s.Lock(s.p("LOCK"), false)
		s.want(err, key.ErrLocked)
		_, err = s.Lock(s.dir, true)
		s.fails(err)
		_, err = s.List(s.p("a"))
		s.fails(err)
		must(t, s.SyncDir(s.dir))
		s.lists("LOCK", "a")
	}
	if after := descriptors(t, s.dir); after != before {
		t.Errorf("%d descriptors below the directory, %d before", after, before)
	}
	must(t, held.Close())
	if after := descriptors(t, s.dir); after != 0 {
		t.Errorf("%d descriptors below the directory at the end", after)
	}
}

// descriptors counts the open descriptors of files in or below dir.
func descriptors(t *testing.T, dir string) int {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	must(t, err)
	n := 0
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, dir) {
			n++
		}
	}
	return n
}

// Allocate takes the blocks at once, where the file system can; elsewhere it
// does nothing.
func TestAllocateReservesBlocks(t *testing.T) {
	const size = 1 << 20
	dir := t.TempDir()
	other, err := os.Create(filepath.Join(dir, "other"))
	must(t, err)
	want := int64(size)
	if err := syscall.Fallocate(int(other.Fd()), 0, 0, size); err != nil {
		want = 0
	}
	must(t, other.Close())

	name := filepath.Join(dir, "a")
	f, err := vfs.OS().Create(name)
	must(t, err)
	must(t, f.Allocate(size))
	must(t, f.Close())
	var stat syscall.Stat_t
	must(t, syscall.Stat(name, &stat))
	if stat.Size != want || stat.Blocks*512 < want {
		t.Errorf("size %d with %d blocks of 512 B, want %d bytes", stat.Size, stat.Blocks, want)
	}
}

// Syncs, reads, appends and Close beside each other neither race nor touch a
// descriptor that has become another file's.
func TestSyncBesideClose(t *testing.T) {
	dir := t.TempDir()
	for i := range 50 {
		f, err := vfs.OS().Create(filepath.Join(dir, fmt.Sprint(i%3)))
		must(t, err)
		var group sync.WaitGroup
		use := func(call func() error) {
			group.Go(func() {
				for range 5 {
					if err := call(); err != nil && !errors.Is(err, fs.ErrClosed) {
						t.Error(err)
					}
				}
			})
		}
		use(f.Sync)
		use(f.Sync)
		use(func() error { return f.Append([]byte("x")) })
		use(func() error { _, err := f.Size(); return err })
		if i%2 == 0 {
			must(t, f.Close())
		}
		group.Wait()
		if i%2 == 1 {
			must(t, f.Close())
		}
	}
}
