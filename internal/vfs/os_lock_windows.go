package vfs

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

const lockPerm = filePerm

// Constants of LockFileEx and of winerror.h.
const (
	lockFailImmediately = 1
	lockExclusive       = 2

	errorLockViolation = syscall.Errno(33)
	errorIOPending     = syscall.Errno(997)
)

// lockFile uses LockFileEx on all possible bytes. Its locks belong to the handle.
func lockFile(f *os.File, shared bool) error {
	flags := uintptr(lockFailImmediately | lockExclusive)
	if shared {
		flags = lockFailImmediately
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) { failed = lockFileEx(fd, flags) })
	if err != nil {
		return err
	}
	if failed != nil && !errors.Is(failed, errHeld) {
		return pathError(OpLock, f.Name(), failed)
	}
	return failed
}

func lockFileEx(handle, flags uintptr) error {
	const all = ^uint32(0)
	proc := syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")
	if err := proc.Find(); err != nil {
		return err
	}
	var overlapped syscall.Overlapped
	ok, _, err := proc.Call(handle, flags, 0, uintptr(all), uintptr(all), uintptr(unsafe.Pointer(&overlapped)))
	switch {
	case ok != 0:
		return nil
	case errors.Is(err, errorLockViolation) || errors.Is(err, errorIOPending):
		return errHeld
	}
	return err
}
