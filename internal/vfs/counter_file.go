package vfs

import (
	"io"
	"sync/atomic"
)

// counterFile is an open file of a Counter.
type counterFile struct {
	File
	counter *Counter
	tally   *tally
	closed  atomic.Bool
}

// ReadAt implements io.ReaderAt.
func (f *counterFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	f.tally.add(OpRead, n)
	return n, err
}

// Append implements File. The bytes of a failed append do not count.
func (f *counterFile) Append(p []byte) error {
	err := f.File.Append(p)
	n := len(p)
	if err != nil {
		n = 0
	}
	f.tally.add(OpAppend, n)
	return err
}

// Skip implements File.
func (f *counterFile) Skip(off int64) error {
	f.tally.add(OpSkip, 0)
	return f.File.Skip(off)
}

// Sync implements File.
func (f *counterFile) Sync() error {
	f.tally.add(OpSync, 0)
	return f.File.Sync()
}

// Allocate implements File.
func (f *counterFile) Allocate(n int64) error {
	f.tally.add(OpAllocate, 0)
	return f.File.Allocate(n)
}

// Truncate implements File.
func (f *counterFile) Truncate(n int64) error {
	f.tally.add(OpTruncate, 0)
	return f.File.Truncate(n)
}

// Size implements File.
func (f *counterFile) Size() (int64, error) {
	f.tally.add(OpSize, 0)
	return f.File.Size()
}

// Close implements io.Closer.
func (f *counterFile) Close() error {
	f.tally.add(OpClose, 0)
	if f.closed.CompareAndSwap(false, true) {
		f.counter.handles.Add(-1)
	}
	return f.File.Close()
}

// counterLock is a lock held on a Counter.
type counterLock struct {
	inner   io.Closer
	counter *Counter
	tally   *tally
	closed  atomic.Bool
}

// Close releases the lock.
func (l *counterLock) Close() error {
	l.tally.add(OpUnlock, 0)
	if l.closed.CompareAndSwap(false, true) {
		l.counter.handles.Add(-1)
	}
	return l.inner.Close()
}
