package vfs

import (
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Counter passes calls to another file system and counts them, with the bytes
// read and appended, by kind and by type of file.
type Counter struct {
	inner   FS
	handles atomic.Int64

	mu    sync.Mutex
	types map[string]*tally
}

// Count is a number of calls, failed ones included, and of the bytes that they
// moved.
type Count struct{ Calls, Bytes int64 }

type tally [NumOps]struct{ calls, bytes atomic.Int64 }

// DirType is the file type under which a Counter counts calls on directories.
const DirType = "dir"

// NewCounter wraps a file system.
func NewCounter(inner FS) *Counter {
	return &Counter{inner: inner, types: map[string]*tally{}}
}

// Count returns the count of a kind of call for a file type (see FileType), or
// for all types if that is "".
func (c *Counter) Count(kind OpKind, fileType string) Count {
	c.mu.Lock()
	defer c.mu.Unlock()
	var sum Count
	for name, t := range c.types {
		if fileType == "" || fileType == name {
			sum.Calls += t[kind].calls.Load()
			sum.Bytes += t[kind].bytes.Load()
		}
	}
	return sum
}

// Types returns the file types seen so far, sorted.
func (c *Counter) Types() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.types))
}

// Handles returns how many files and locks are open.
func (c *Counter) Handles() int64 { return c.handles.Load() }

func (c *Counter) tally(fileType string) *tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.types[fileType]
	if t == nil {
		t = new(tally)
		c.types[fileType] = t
	}
	return t
}

func (t *tally) add(kind OpKind, bytes int) {
	t[kind].calls.Add(1)
	t[kind].bytes.Add(int64(bytes))
}

func (c *Counter) name(kind OpKind, name string) { c.tally(FileType(name)).add(kind, 0) }
func (c *Counter) dir(kind OpKind)               { c.tally(DirType).add(kind, 0) }

// file counts a call that opens a file.
func (c *Counter) file(kind OpKind, name string, inner File, err error) (File, error) {
	t := c.tally(FileType(name))
	t.add(kind, 0)
	if err != nil {
		return nil, err
	}
	c.handles.Add(1)
	return &counterFile{File: inner, counter: c, tally: t}, nil
}

// Create implements FS.
func (c *Counter) Create(name string) (File, error) {
	f, err := c.inner.Create(name)
	return c.file(OpCreate, name, f, err)
}

// Reuse implements FS.
func (c *Counter) Reuse(old, name string) (File, error) {
	f, err := c.inner.Reuse(old, name)
	return c.file(OpReuse, name, f, err)
}

// Open implements FS.
func (c *Counter) Open(name string) (File, error) {
	f, err := c.inner.Open(name)
	return c.file(OpOpen, name, f, err)
}

// Rename implements FS.
func (c *Counter) Rename(old, name string) error {
	c.name(OpRename, name)
	return c.inner.Rename(old, name)
}

// Remove implements FS.
func (c *Counter) Remove(name string) error {
	c.name(OpRemove, name)
	return c.inner.Remove(name)
}

// Link implements FS.
func (c *Counter) Link(old, name string) error {
	c.name(OpLink, name)
	return c.inner.Link(old, name)
}

// MkdirAll implements FS.
func (c *Counter) MkdirAll(dir string) error {
	c.dir(OpMkdirAll)
	return c.inner.MkdirAll(dir)
}

// SyncDir implements FS.
func (c *Counter) SyncDir(dir string) error {
	c.dir(OpSyncDir)
	return c.inner.SyncDir(dir)
}

// List implements FS.
func (c *Counter) List(dir string) ([]string, error) {
	c.dir(OpList)
	return c.inner.List(dir)
}

// Stat implements FS.
func (c *Counter) Stat(name string) (Info, error) {
	c.name(OpStat, name)
	return c.inner.Stat(name)
}

// Lock implements FS.
func (c *Counter) Lock(name string, readOnly bool) (io.Closer, error) {
	c.name(OpLock, name)
	inner, err := c.inner.Lock(name, readOnly)
	if err != nil {
		return nil, err
	}
	c.handles.Add(1)
	return &counterLock{inner: inner, counter: c, tally: c.tally(FileType(name))}, nil
}
