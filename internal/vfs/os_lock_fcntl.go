//go:build aix || (solaris && !illumos)

package vfs

import (
	"errors"
	"os"
	"syscall"
)

// lockProcess keeps other processes out.
func lockProcess(f *os.File, shared bool) error {
	kind := int16(syscall.F_WRLCK)
	if shared {
		kind = syscall.F_RDLCK
	}
	err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: kind})
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return errHeld
	}
	if err != nil {
		return pathError(OpLock, f.Name(), err)
	}
	return nil
}
