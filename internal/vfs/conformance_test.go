package vfs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"testing"
	"time"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

// The same tests run over every file system and wrapper: what the engine is
// tested on must be what it runs on.
func TestConformance(t *testing.T) {
	systems := map[string]func(t *testing.T) (vfs.FS, string){
		"os":  func(t *testing.T) (vfs.FS, string) { return vfs.OS(), t.TempDir() },
		"mem": func(t *testing.T) (vfs.FS, string) { return newMemDir(t) },
		"mem with the rules of Windows": func(t *testing.T) (vfs.FS, string) {
			m, dir := newMemDir(t)
			m.SetWindowsRules(true)
			return m, dir
		},
		"mem with latency": func(t *testing.T) (vfs.FS, string) {
			m, dir := newMemDir(t)
			m.SetLatency(func(vfs.Op) time.Duration { return time.Microsecond })
			return m, dir
		},
		"mem with a limit": func(t *testing.T) (vfs.FS, string) {
			m, dir := newMemDir(t)
			m.SetSpace(1 << 20)
			return m, dir
		},
		"mem after a crash": func(t *testing.T) (vfs.FS, string) {
			m, dir := newMemDir(t)
			return watched(t, m.Crash(0, 1)), dir
		},
		"mem after a kill": func(t *testing.T) (vfs.FS, string) {
			m, dir := newMemDir(t)
			return watched(t, m.Kill()), dir
		},
		"counter": func(t *testing.T) (vfs.FS, string) {
			m, dir := newMemDir(t)
			c := vfs.NewCounter(m)
			t.Cleanup(func() {
				if n := c.Handles(); n != 0 {
					t.Errorf("the counter sees %d open handles at the end", n)
				}
			})
			return c, dir
		},
		"fault": func(t *testing.T) (vfs.FS, string) {
			m, dir := newMemDir(t)
			return vfs.NewFault(m, nil), dir
		},
		"fault over counter over os": func(t *testing.T) (vfs.FS, string) {
			return vfs.NewFault(vfs.NewCounter(vfs.OS()), new(vfs.SyncSites).Note), t.TempDir()
		},
	}
	for name, make := range systems {
		t.Run(name, func(t *testing.T) {
			for _, c := range conformance {
				t.Run(c.name, func(t *testing.T) {
					fs, dir := make(t)
					c.run(&system{T: t, FS: fs, dir: dir})
				})
			}
		})
	}
}

var conformance = []struct {
	name string
	run  func(s *system)
}{
	{"append and read", func(s *system) {
		f, err := s.Create(s.p("a"))
		must(s.T, err)
		for _, part := range []string{"one ", "", "two ", "three"} {
			must(s.T, f.Append([]byte(part)))
		}
		buf := make([]byte, 4)
		if n, err := f.ReadAt(buf, 4); n != 4 || err != nil || string(buf) != "two " {
			s.Errorf("ReadAt(4) = %d %v %q", n, err, buf)
		}
		if n, err := f.ReadAt(buf, 10); n != 3 || err != io.EOF {
			s.Errorf("ReadAt across the end = %d %v, want 3 EOF", n, err)
		}
		if n, err := f.ReadAt(buf, 99); n != 0 || err != io.EOF {
			s.Errorf("ReadAt behind the end = %d %v, want 0 EOF", n, err)
		}
		if n, err := f.ReadAt(nil, 0); n != 0 || err != nil {
			s.Errorf("ReadAt of nothing = %d %v, want 0 nil", n, err)
		}
		_, err = f.ReadAt(buf, -1)
		s.fails(err)
		must(s.T, f.Sync())
		must(s.T, f.Close())
		s.holds("a", "one two three")
	}},
	{"create truncates", func(s *system) {
		s.write("a", "a long text")
		s.write("a", "new")
		s.holds("a", "new")
	}},
	{"an append keeps the caller's buffer apart", func(s *system) {
		f, err := s.Create(s.p("a"))
		must(s.T, err)
		buf := []byte("before")
		must(s.T, f.Append(buf))
		copy(buf, "after!")
		must(s.T, f.Close())
		s.holds("a", "before")
	}},
	{"skip leaves zeros and no size", func(s *system) {
		f, err := s.Create(s.p("a"))
		must(s.T, err)
		must(s.T, f.Append([]byte("x")))
		must(s.T, f.Skip(4))
		s.fails(f.Skip(3))
		if size, err := f.Size(); size != 1 || err != nil {
			s.Errorf("size after a skip = %d %v, want 1", size, err)
		}
		must(s.T, f.Append([]byte("y")))
		must(s.T, f.Close())
		s.holds("a", "x\x00\x00\x00y")
	}},
	{"truncate", func(s *system) {
		f, err := s.Create(s.p("a"))
		must(s.T, err)
		must(s.T, f.Append([]byte("0123456789")))
		must(s.T, f.Truncate(4))
		must(s.T, f.Truncate(6))
		s.fails(f.Truncate(-1))
		must(s.T, f.Append([]byte("end"))) // the position is where it was
		must(s.T, f.Close())
		s.holds("a", "0123\x00\x00\x00\x00\x00\x00end")
	}},
	{"allocate keeps data and may add zeros", func(s *system) {
		f, err := s.Create(s.p("a"))
		must(s.T, err)
		must(s.T, f.Append([]byte("data")))
		must(s.T, f.Allocate(0))
		must(s.T, f.Allocate(1))
		must(s.T, f.Allocate(5000))
		s.fails(f.Allocate(-1))
		must(s.T, f.Append([]byte("more")))
		must(s.T, f.Sync())
		must(s.T, f.Close())
		got := s.read("a")
		if rest := bytes.TrimRight([]byte(got), "\x00"); string(rest) != "datamore" || len(got) > 5000 {
			s.Errorf("contents %q… (%d bytes)", rest, len(got))
		}
	}},
	{"reuse keeps what is not overwritten", func(s *system) {
		s.write("old", "old contents")
		f, err := s.Reuse(s.p("old"), s.p("new"))
		must(s.T, err)
		must(s.T, f.Append([]byte("NEW")))
		must(s.T, f.Skip(5))
		must(s.T, f.Append([]byte("!")))
		must(s.T, f.Close())
		s.holds("new", "NEW c!ntents")
		s.lists("new")
		_, err = s.Reuse(s.p("missing"), s.p("b"))
		s.want(err, fs.ErrNotExist)
		must(s.T, s.MkdirAll(s.p("d")))
		_, err = s.Reuse(s.p("d"), s.p("b"))
		s.fails(err)
		s.lists("d", "new")
	}},
	{"rename replaces", func(s *system) {
		s.write("a", "A")
		s.write("b", "B")
		must(s.T, s.Rename(s.p("a"), s.p("b")))
		must(s.T, s.Rename(s.p("b"), s.p("b")))
		s.holds("b", "A")
		s.lists("b")
		s.want(s.Rename(s.p("a"), s.p("c")), fs.ErrNotExist)
		s.want(s.Rename(s.p("b"), s.p("missing/b")), fs.ErrNotExist)
	}},
	{"rename of directories", func(s *system) {
		must(s.T, s.MkdirAll(s.p("d/e")))
		s.write("d/e/f", "F")
		must(s.T, s.Rename(s.p("d"), s.p("g")))
		s.holds("g/e/f", "F")
		s.fails(s.Rename(s.p("g"), s.p("g/e/h")))
		s.write("file", "x")
		s.fails(s.Rename(s.p("g"), s.p("file")))
		s.fails(s.Rename(s.p("file"), s.p("g")))
		must(s.T, s.Rename(s.p("g/e/f"), s.p("f")))
		s.lists("f", "file", "g")
	}},
	{"remove", func(s *system) {
		s.write("a", "A")
		must(s.T, s.MkdirAll(s.p("d/e")))
		s.fails(s.Remove(s.p("d")))
		must(s.T, s.Remove(s.p("d/e")))
		must(s.T, s.Remove(s.p("d")))
		must(s.T, s.Remove(s.p("a")))
		s.want(s.Remove(s.p("a")), fs.ErrNotExist)
		s.lists()
	}},
	{"link is a second name", func(s *system) {
		s.write("a", "A")
		must(s.T, s.Link(s.p("a"), s.p("b")))
		s.want(s.Link(s.p("a"), s.p("b")), fs.ErrExist)
		s.want(s.Link(s.p("missing"), s.p("c")), fs.ErrNotExist)
		must(s.T, s.Remove(s.p("a")))
		s.holds("b", "A")
		must(s.T, s.MkdirAll(s.p("d")))
		s.fails(s.Link(s.p("d"), s.p("e")))
		s.lists("b", "d")
	}},
	{"directories", func(s *system) {
		must(s.T, s.MkdirAll(s.p("x/y")))
		must(s.T, s.MkdirAll(s.p("x/y")))
		s.write("x/y/f", "F")
		s.write("a", "A")
		s.fails(s.MkdirAll(s.p("a")))
		s.fails(s.MkdirAll(s.p("a/b")))
		must(s.T, s.SyncDir(s.p("x/y")))
		s.want(s.SyncDir(s.p("missing")), fs.ErrNotExist)
		s.fails(s.SyncDir(s.p("a")))
		_, err := s.List(s.p("missing"))
		s.want(err, fs.ErrNotExist)
		_, err = s.List(s.p("a"))
		s.fails(err)
		s.lists("a", "x")
	}},
	{"stat", func(s *system) {
		s.write("a", "12345")
		if info, err := s.Stat(s.p("a")); err != nil || info != (vfs.Info{Size: 5}) {
			s.Errorf("Stat of a file = %+v %v", info, err)
		}
		if info, err := s.Stat(s.dir); err != nil || !info.IsDir {
			s.Errorf("Stat of a directory = %+v %v", info, err)
		}
		_, err := s.Stat(s.p("missing"))
		s.want(err, fs.ErrNotExist)
	}},
	{"what is not a file cannot be opened", func(s *system) {
		must(s.T, s.MkdirAll(s.p("d")))
		s.write("a", "A")
		for _, name := range []string{"d", "missing", "missing/a", "a/b"} {
			_, err := s.Open(s.p(name))
			s.fails(err)
		}
		for _, name := range []string{"d", "missing/a", "a/b"} {
			_, err := s.Create(s.p(name))
			s.fails(err)
		}
		_, err := s.Open(s.p("missing"))
		s.want(err, fs.ErrNotExist)
		_, err = s.Create(s.p("missing/a"))
		s.want(err, fs.ErrNotExist)
		s.lists("a", "d")
	}},
	{"errors name the path", func(s *system) {
		_, err := s.Open(s.p("missing"))
		var pathErr *fs.PathError
		if !errors.As(err, &pathErr) || pathErr.Path != s.p("missing") {
			s.Errorf("%v does not name the path", err)
		}
	}},
	{"a file opened for reading is not written", func(s *system) {
		s.write("a", "A")
		f, err := s.Open(s.p("a"))
		must(s.T, err)
		s.fails(f.Append([]byte("x")))
		s.fails(f.Truncate(0))
		must(s.T, f.Close())
		s.holds("a", "A")
	}},
	{"closed", func(s *system) {
		f, err := s.Create(s.p("a"))
		must(s.T, err)
		must(s.T, f.Close())
		s.want(f.Close(), fs.ErrClosed)
		s.want(f.Append([]byte("x")), fs.ErrClosed)
		s.want(f.Sync(), fs.ErrClosed)
		s.want(f.Truncate(0), fs.ErrClosed)
		_, err = f.ReadAt(make([]byte, 1), 0)
		s.want(err, fs.ErrClosed)
		_, err = f.Size()
		s.want(err, fs.ErrClosed)
	}},
	{"lock excludes", func(s *system) {
		l, err := s.Lock(s.p("LOCK"), false)
		must(s.T, err)
		for _, readOnly := range []bool{false, true, false} {
			_, err := s.Lock(s.p("LOCK"), readOnly)
			s.want(err, key.ErrLocked)
		}
		must(s.T, l.Close())
		s.want(l.Close(), fs.ErrClosed)
		l, err = s.Lock(s.p("LOCK"), false)
		must(s.T, err)
		must(s.T, l.Close())
		s.holds("LOCK", "")
	}},
	{"readers share a lock", func(s *system) {
		_, err := s.Lock(s.p("LOCK"), true)
		s.want(err, fs.ErrNotExist)
		s.lists()
		s.write("LOCK", "garbage \x00 12345") // left by somebody else: it means nothing
		a, err := s.Lock(s.p("LOCK"), true)
		must(s.T, err)
		b, err := s.Lock(s.p("LOCK"), true)
		must(s.T, err)
		must(s.T, a.Close())
		_, err = s.Lock(s.p("LOCK"), false)
		s.want(err, key.ErrLocked)
		must(s.T, b.Close())
		c, err := s.Lock(s.p("LOCK"), false)
		must(s.T, err)
		must(s.T, c.Close())
		s.holds("LOCK", "garbage \x00 12345")
	}},
	{"what cannot be locked", func(s *system) {
		must(s.T, s.MkdirAll(s.p("d")))
		for _, readOnly := range []bool{false, true} {
			_, err := s.Lock(s.p("d"), readOnly)
			s.fails(err)
			_, err = s.Lock(s.p("missing/LOCK"), readOnly)
			s.want(err, fs.ErrNotExist)
		}
		s.lists("d")
	}},
}
