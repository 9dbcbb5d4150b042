package vfs_test

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

	"github.com/siftkv/sift/internal/vfs"
)

// newMemDir returns a Mem with one durable directory.
func newMemDir(t *testing.T) (*vfs.Mem, string) {
	t.Helper()
	m := watched(t, vfs.NewMem())
	must(t, m.MkdirAll("db"))
	must(t, m.SyncDir("."))
	return m, "db"
}

// watched checks at the end of the test that nothing was left open.
func watched(t *testing.T, m *vfs.Mem) *vfs.Mem {
	t.Cleanup(func() {
		if n := m.OpenFiles(); n != 0 {
			t.Errorf("%d files or locks left open", n)
		}
	})
	return m
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// system is a file system under test, with steps that fail the test.
type system struct {
	*testing.T
	vfs.FS
	dir string
}

func (s *system) p(name string) string { return filepath.Join(s.dir, name) }

func (s *system) want(err, target error) {
	s.Helper()
	if !errors.Is(err, target) {
		s.Errorf("error %v, want one that is %v", err, target)
	}
}

func (s *system) fails(err error) {
	s.Helper()
	if err == nil {
		s.Error("no error")
	}
}

// write makes a closed, synced file.
func (s *system) write(name, text string) {
	s.Helper()
	f, err := s.Create(s.p(name))
	must(s.T, err)
	must(s.T, f.Append([]byte(text)))
	must(s.T, f.Sync())
	must(s.T, f.Close())
}

// read returns what a file contains, or the error as text.
func (s *system) read(name string) string {
	s.Helper()
	f, err := s.Open(s.p(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "(missing)"
	}
	must(s.T, err)
	defer func() { must(s.T, f.Close()) }()
	return contentsOf(s.T, f)
}

func contentsOf(t *testing.T, f vfs.File) string {
	t.Helper()
	size, err := f.Size()
	must(t, err)
	b := make([]byte, size)
	n, err := f.ReadAt(b, 0)
	if n != len(b) || err != nil && err != io.EOF {
		t.Fatalf("read %d of %d bytes: %v", n, size, err)
	}
	return string(b)
}

func (s *system) holds(name, text string) {
	s.Helper()
	if got := s.read(name); got != text {
		s.Errorf("%s contains %q, want %q", name, got, text)
	}
}

func (s *system) lists(names ...string) {
	s.Helper()
	got, err := s.List(s.dir)
	must(s.T, err)
	if !slices.Equal(got, names) {
		s.Errorf("directory lists %q, want %q", got, names)
	}
}
