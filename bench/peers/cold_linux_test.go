package main

import (
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// After dropPages the system holds no page of a file, in a directory below too.
func TestDropPages(t *testing.T) {
	dir := t.TempDir()
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		t.Fatal(err)
	}
	if disk.Type == unix.TMPFS_MAGIC {
		t.Skip("files in memory have no device to be read from")
	}
	name := filepath.Join(dir, "below", "file")
	if err := makeDir(filepath.Dir(name)); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size = 1 << 20
	if _, err := f.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if held := pagesHeld(t, f, size); held == 0 {
		t.Fatal("no page is held of what was just written")
	}
	if err := dropPages(dir); err != nil {
		t.Fatal(err)
	}
	if held := pagesHeld(t, f, size); held > 0 {
		t.Errorf("%d pages are still held", held)
	}
}

// pagesHeld returns how many of a file's pages are in memory.
func pagesHeld(t *testing.T, f *os.File, size int) (n int) {
	t.Helper()
	m, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Munmap(m); err != nil {
			t.Error(err)
		}
	}()
	pages := make([]byte, (size+os.Getpagesize()-1)/os.Getpagesize())
	if _, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(size), uintptr(unsafe.Pointer(&pages[0]))); errno != 0 {
		t.Fatal(errno)
	}
	for _, p := range pages {
		n += int(p & 1)
	}
	return n
}
