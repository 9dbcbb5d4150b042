package vfs

import "io"

// faultFile is an open file of a Fault.
type faultFile struct {
	fault *Fault
	inner File
	name  string
	pos   int64 // where Append writes, for Op.Off
}

// ReadAt implements io.ReaderAt.
func (f *faultFile) ReadAt(p []byte, off int64) (got int, err error) {
	op := Op{Kind: OpRead, Name: f.name, Off: off, Len: int64(len(p))}
	err = f.fault.run(op, func(n int) (err error) {
		got, err = f.inner.ReadAt(p[:n], off)
		return err
	})
	return got, err
}

// Append implements File. One that is left out is a lost write: it leaves a gap.
func (f *faultFile) Append(p []byte) error {
	op := Op{Kind: OpAppend, Name: f.name, Off: f.pos, Len: int64(len(p))}
	made := false
	err := f.fault.run(op, func(n int) error {
		made = true
		f.pos += int64(n)
		return f.inner.Append(p[:n])
	})
	if err == nil && !made {
		f.pos += int64(len(p))
		return f.inner.Skip(f.pos)
	}
	return err
}

// Skip implements File.
func (f *faultFile) Skip(off int64) error {
	return f.fault.run(Op{Kind: OpSkip, Name: f.name, Off: off}, func(int) error {
		f.pos = off
		return f.inner.Skip(off)
	})
}

// Sync implements File.
func (f *faultFile) Sync() error {
	return f.fault.run(Op{Kind: OpSync, Name: f.name}, func(int) error { return f.inner.Sync() })
}

// Allocate implements File.
func (f *faultFile) Allocate(n int64) error {
	return f.fault.run(Op{Kind: OpAllocate, Name: f.name, Off: n}, func(int) error { return f.inner.Allocate(n) })
}

// Truncate implements File.
func (f *faultFile) Truncate(n int64) error {
	return f.fault.run(Op{Kind: OpTruncate, Name: f.name, Off: n}, func(int) error { return f.inner.Truncate(n) })
}

// Size implements File.
func (f *faultFile) Size() (size int64, err error) {
	err = f.fault.run(Op{Kind: OpSize, Name: f.name}, func(int) (err error) {
		size, err = f.inner.Size()
		return err
	})
	if err != nil {
		return 0, err
	}
	return size, nil
}

// Close implements io.Closer.
func (f *faultFile) Close() error {
	return f.fault.run(Op{Kind: OpClose, Name: f.name}, func(int) error { return f.inner.Close() })
}

// faultLock is a lock held on a Fault.
type faultLock struct {
	fault *Fault
	inner io.Closer
	name  string
}

// Close releases the lock.
func (l *faultLock) Close() error {
	return l.fault.run(Op{Kind: OpUnlock, Name: l.name}, func(int) error { return l.inner.Close() })
}
