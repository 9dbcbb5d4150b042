package vfs

import (
	"fmt"
	"io"
	"io/fs"

	"github.com/siftkv/sift/internal/key"
)

// memLock is a held lock. fs.mu guards its fields.
type memLock struct {
	fs     *Mem
	node   *inode
	name   string
	shared bool
	closed bool
}

// Lock implements FS. Two Mems share no locks, and a clone starts with none.
func (m *Mem) Lock(name string, readOnly bool) (io.Closer, error) {
	m.wait(Op{Kind: OpLock, Name: name})
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.lockFile(name, readOnly)
	if err != nil {
		return nil, pathError(OpLock, name, err)
	}
	if n.exclusive || n.shared > 0 && !readOnly {
		return nil, lockedError(name)
	}
	n.exclusive = !readOnly
	if readOnly {
		n.shared++
	}
	n.handles++
	return &memLock{fs: m, node: n, name: name, shared: readOnly}, nil
}

// lockFile finds the file to lock, or makes it if that is allowed.
func (m *Mem) lockFile(name string, readOnly bool) (*inode, error) {
	d, base, err := m.parent(name)
	if err != nil {
		return nil, err
	}
	n := d.names[base]
	switch {
	case n != nil && n.dir != nil:
		return nil, errIsDir
	case n != nil:
		return n, nil
	case readOnly:
		return nil, fs.ErrNotExist
	}
	n = &inode{file: &contents{}}
	d.add(base, n)
	return n, nil
}

// Close releases the lock.
func (l *memLock) Close() error {
	l.fs.wait(Op{Kind: OpUnlock, Name: l.name})
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	if l.closed {
		return pathError(OpUnlock, l.name, fs.ErrClosed)
	}
	l.closed = true
	if l.shared {
		l.node.shared--
	} else {
		l.node.exclusive = false
	}
	l.fs.release(l.node)
	return nil
}

// lockedError is what Lock returns when somebody else holds the lock.
func lockedError(name string) error {
	return fmt.Errorf("%w: %s is held by another process or another open in this one: close that first", key.ErrLocked, name)
}
