package vfs

import (
	"errors"
	"io/fs"
	"syscall"
)

// sync is fdatasync: it writes the size too, when that has changed, but no times.
func (o *osFile) sync() error { return o.call(OpSync, syscall.Fdatasync) }

// allocate reserves blocks and grows the file. A file system that cannot do so
// is left alone. Some, ext4 for one, keep what they found before there was no
// more: that is given back, for it may be the last there is.
func (o *osFile) allocate(n int64) error {
	before, err := o.Size()
	if err != nil {
		return err
	}
	err = o.call(OpAllocate, func(fd int) error { return syscall.Fallocate(fd, 0, 0, n) })
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return nil
	}
	if err != nil {
		err = errors.Join(err, o.f.Truncate(before))
	}
	return err
}

// call runs a system call on the descriptor, again if a signal interrupted it.
// A Close meanwhile waits for its end.
func (o *osFile) call(kind OpKind, f func(fd int) error) error {
	conn, err := o.f.SyscallConn()
	if err != nil {
		return pathError(kind, o.f.Name(), err)
	}
	var failed error
	closed := conn.Control(func(fd uintptr) {
		for failed = syscall.EINTR; errors.Is(failed, syscall.EINTR); {
			failed = f(int(fd))
		}
	})
	if closed != nil {
		failed = fs.ErrClosed // all that Control can report, in words of its own
	}
	if failed != nil {
		return pathError(kind, o.f.Name(), failed)
	}
	return nil
}
