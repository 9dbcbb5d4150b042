package vfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/siftkv/sift/internal/vfs"
)

// "/", "." and detours name the same directory, and system separators work.
func TestMemPaths(t *testing.T) {
	m := vfs.NewMem()
	must(t, m.MkdirAll("db"))
	for i, name := range []string{"db/0", "/db/1", "./db/2", "db//3", "x/../db/4", "../db/5", filepath.Join("db", "6")} {
		f, err := m.Create(name)
		must(t, err)
		must(t, f.Close())
		if _, err := m.Stat(fmt.Sprintf("/db/%d", i)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, root := range []string{"/", ".", "db/.."} {
		if names, err := m.List(root); err != nil || !slices.Equal(names, []string{"db"}) {
			t.Errorf("List(%q) = %q %v", root, names, err)
		}
		must(t, m.SyncDir(root))
		must(t, m.MkdirAll(root))
		if m.Remove(root) == nil || m.Rename(root, "a") == nil {
			t.Errorf("%q was removed or renamed", root)
		}
	}
	if _, err := m.Stat(""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat of an empty path: %v", err)
	}
	for _, empty := range []error{m.MkdirAll(""), m.Remove(""), m.SyncDir(""), m.Rename("db", "")} {
		(&system{T: t}).want(empty, fs.ErrNotExist)
	}
}

// Used counts each file once, while it has a name or a handle.
func TestMemUsed(t *testing.T) {
	m := vfs.NewMem()
	want := func(n int64) {
		t.Helper()
		if got := m.Used(); got != n {
			t.Errorf("used %d, want %d", got, n)
		}
	}
	f, err := m.Create("a")
	must(t, err)
	want(0)
	must(t, f.Append([]byte("x")))
	want(512)
	must(t, f.Allocate(5000))
	want(5120)
	g, err := m.Reuse("a", "a")
	must(t, err)
	must(t, g.Append([]byte("y"))) // inside: takes no more
	must(t, g.Close())
	want(5120)
	must(t, m.Link("a", "b"))
	must(t, m.Remove("a"))
	want(5120)
	for _, c := range []*vfs.Mem{m.Kill(), m.Crash(100, 1)} {
		must(t, c.Link("b", "c"))
		must(t, c.Remove("b"))
		if got := c.Used(); got != 5120 {
			t.Errorf("a clone uses %d", got)
		}
		must(t, c.Remove("c"))
		if got := c.Used(); got != 0 {
			t.Errorf("an empty clone uses %d", got)
		}
	}
	must(t, m.Remove("b"))
	want(5120)
	if got := m.Kill().Used(); got != 0 {
		t.Errorf("a clone keeps %d for a file that only the dead process had open", got)
	}
	must(t, f.Truncate(513))
	want(1024)
	must(t, f.Close())
	want(0)
	g, err = m.Create("c")
	must(t, err)
	must(t, g.Append(make([]byte, 100)))
	must(t, g.Close())
	h, err := m.Create("d")
	must(t, err)
	must(t, h.Append(make([]byte, 1000)))
	must(t, h.Close())
	want(512 + 1024)
	must(t, m.Rename("c", "d"))
	want(512)
	must(t, m.Remove("d"))
	want(0)
}

// Zeros that were only allocated take no memory, and offsets that cannot be
// held are errors.
func TestMemLargeOffsets(t *testing.T) {
	m := vfs.NewMem()
	f, err := m.Create("a")
	must(t, err)
	must(t, f.Allocate(1<<30-1))
	must(t, f.Append([]byte("x")))
	b := [2]byte{'?', '?'}
	if n, err := f.ReadAt(b[:], 1<<30-3); n != 2 || err != nil || b != [2]byte{} {
		t.Errorf("read %d %v %v", n, err, b)
	}
	if err := f.Allocate(math.MaxInt64); !vfs.IsNoSpace(err) {
		t.Errorf("an allocation of all there can be: %v", err)
	}
	must(t, f.Skip(math.MaxInt64-1))
	if err := f.Append([]byte("xy")); !vfs.IsNoSpace(err) {
		t.Errorf("an append past the largest offset: %v", err)
	}
	must(t, f.Close())
}
