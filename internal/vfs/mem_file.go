package vfs

import (
	"io"
	"io/fs"
	"os"
)

// memFile is an open file of a Mem. fs.mu guards its fields.
type memFile struct {
	fs       *Mem
	node     *inode
	name     string // under which it was opened
	pos      int64
	writable bool
	closed   bool
}

func (m *Mem) open(n *inode, name string, writable bool) *memFile {
	n.handles++
	return &memFile{fs: m, node: n, name: name, writable: writable}
}

// Create implements FS.
func (m *Mem) Create(name string) (File, error) {
	m.wait(Op{Kind: OpCreate, Name: name})
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base, err := m.parent(name)
	if err != nil {
		return nil, pathError(OpCreate, name, err)
	}
	n := d.names[base]
	switch {
	case n == nil:
		n = &inode{file: &contents{}}
		d.add(base, n)
	case n.dir != nil:
		return nil, pathError(OpCreate, name, errIsDir)
	default:
		m.resize(n, 0)
	}
	return m.open(n, name, true), nil
}

// Reuse implements FS.
func (m *Mem) Reuse(old, name string) (File, error) {
	m.wait(Op{Kind: OpReuse, Name: name, Old: old})
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.lookupFile(old); err != nil {
		return nil, linkError(OpReuse, old, name, err)
	}
	n, err := m.rename(old, name)
	if err != nil {
		return nil, linkError(OpReuse, old, name, err)
	}
	return m.open(n, name, true), nil
}

// Open implements FS.
func (m *Mem) Open(name string) (File, error) {
	m.wait(Op{Kind: OpOpen, Name: name})
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.lookupFile(name)
	if err != nil {
		return nil, pathError(OpOpen, name, err)
	}
	return m.open(n, name, false), nil
}

// check says why the handle cannot do an operation, or nil.
func (f *memFile) check(kind OpKind, arg int64, write bool) error {
	switch {
	case f.closed:
		return pathError(kind, f.name, fs.ErrClosed)
	case write && !f.writable:
		return pathError(kind, f.name, errReadOnly)
	case arg < 0:
		return pathError(kind, f.name, errNegative)
	}
	return nil
}

// ReadAt implements io.ReaderAt.
func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.fs.wait(Op{Kind: OpRead, Name: f.name, Off: off, Len: int64(len(p))})
	f.fs.mu.RLock()
	defer f.fs.mu.RUnlock()
	if err := f.check(OpRead, off, false); err != nil {
		return 0, err
	}
	n := f.node.file.readAt(p, off)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Append implements File.
func (f *memFile) Append(p []byte) error {
	f.fs.wait(Op{Kind: OpAppend, Name: f.name, Off: f.position(), Len: int64(len(p))})
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.check(OpAppend, 0, true); err != nil {
		return err
	}
	n := min(int64(len(p)), max(0, f.fs.room(f.node)-f.pos))
	if n > 0 {
		f.fs.charge(f.node, max(f.node.file.size, f.pos+n))
		f.node.file.writeAt(p[:n], f.pos)
		f.pos += n
	}
	if n < int64(len(p)) {
		return pathError(OpAppend, f.name, noSpace[0])
	}
	return nil
}

func (f *memFile) position() int64 {
	f.fs.mu.RLock()
	defer f.fs.mu.RUnlock()
	return f.pos
}

// Skip implements File.
func (f *memFile) Skip(off int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.check(OpSkip, off, true); err != nil {
		return err
	}
	if off < f.pos {
		return pathError(OpSkip, f.name, errBackwards)
	}
	f.pos = off
	return nil
}

// Sync implements File.
func (f *memFile) Sync() error {
	epoch, size, err := f.beginSync()
	if err != nil {
		return err
	}
	f.fs.wait(Op{Kind: OpSync, Name: f.name})
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.node.file.endSync(epoch, size)
	return nil
}

func (f *memFile) beginSync() (epoch uint64, size int64, err error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.check(OpSync, 0, f.fs.windows); err != nil {
		return 0, 0, err
	}
	epoch, size = f.node.file.beginSync()
	return epoch, size, nil
}

// Allocate implements File.
func (f *memFile) Allocate(n int64) error {
	f.fs.wait(Op{Kind: OpAllocate, Name: f.name, Off: n})
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.check(OpAllocate, n, true); err != nil {
		return err
	}
	if n <= f.node.file.size {
		return nil
	}
	return f.grow(OpAllocate, n)
}

// Truncate implements File.
func (f *memFile) Truncate(n int64) error {
	f.fs.wait(Op{Kind: OpTruncate, Name: f.name, Off: n})
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.check(OpTruncate, n, true); err != nil {
		return err
	}
	return f.grow(OpTruncate, n)
}

func (f *memFile) grow(kind OpKind, n int64) error {
	if n > f.fs.room(f.node) {
		return pathError(kind, f.name, noSpace[0])
	}
	f.fs.resize(f.node, n)
	return nil
}

// Size implements File.
func (f *memFile) Size() (int64, error) {
	f.fs.wait(Op{Kind: OpSize, Name: f.name})
	f.fs.mu.RLock()
	defer f.fs.mu.RUnlock()
	if err := f.check(OpSize, 0, false); err != nil {
		return 0, err
	}
	return f.node.file.size, nil
}

// Close implements io.Closer.
func (f *memFile) Close() error {
	f.fs.wait(Op{Kind: OpClose, Name: f.name})
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.check(OpClose, 0, false); err != nil {
		return err
	}
	f.closed = true
	f.fs.release(f.node)
	return nil
}

// linkError wraps err the way package os does for a call with two names.
func linkError(kind OpKind, old, name string, err error) error {
	return &os.LinkError{Op: kind.String(), Old: old, New: name, Err: err}
}
