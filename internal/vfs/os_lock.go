package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// errHeld is what acquire returns when somebody else holds the lock.
var errHeld = errors.New("lock is held")

// lockTries bounds how often Lock begins again because the file was removed
// between its opening and its locking.
const lockTries = 10

// Lock implements FS. The operating system holds the lock for this opening of
// the file, so what the file contains does not matter, a crash leaves no lock
// behind, and a failed attempt in the same process releases nothing. Where there
// are only locks per process (AIX, Solaris), or none at all (WebAssembly), a
// table in this process makes up for what is missing within it. On Plan 9
// readers do not share.
func (osFS) Lock(name string, readOnly bool) (io.Closer, error) {
	for range lockTries {
		lock, info, err := acquire(name, readOnly)
		if errors.Is(err, errHeld) {
			return nil, lockedError(name)
		}
		if err != nil {
			return nil, err
		}
		// A lock on a file that lost its name would exclude nobody.
		if now, err := os.Stat(name); err == nil && os.SameFile(info, now) {
			return lock, nil
		}
		if err := lock.Close(); err != nil {
			return nil, err
		}
	}
	return nil, pathError(OpLock, name, fmt.Errorf("the file is replaced again and again: %w", fs.ErrNotExist))
}

// openLock opens a lock file. Being allowed to read it is enough: the lock of a
// database whose owner made the file read-only still works.
func openLock(name string, readOnly bool) (*os.File, os.FileInfo, error) {
	flags := os.O_RDWR | os.O_CREATE
	if readOnly {
		flags = os.O_RDONLY
	}
	f, err := os.OpenFile(name, flags, lockPerm)
	if errors.Is(err, fs.ErrPermission) && !readOnly {
		if r, readErr := os.OpenFile(name, os.O_RDONLY, 0); readErr == nil {
			f, err = r, nil
		}
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = pathError(OpLock, name, errIsDir)
	}
	if err != nil {
		return nil, nil, closeAfter(f, err)
	}
	return f, info, nil
}
