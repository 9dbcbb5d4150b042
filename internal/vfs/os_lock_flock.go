//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package vfs

import (
	"errors"
	"os"
	"syscall"
)

const lockPerm = filePerm

// lockFile uses flock, whose locks belong to the open file and not, like those
// of fcntl, to the process.
func lockFile(f *os.File, shared bool) error {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		for failed = syscall.EINTR; errors.Is(failed, syscall.EINTR); {
			failed = syscall.Flock(int(fd), how|syscall.LOCK_NB)
		}
	})
	switch {
	case err != nil:
		return err
	case errors.Is(failed, syscall.EWOULDBLOCK):
		return errHeld
	case failed != nil:
		return pathError(OpLock, f.Name(), failed)
	}
	return nil
}
