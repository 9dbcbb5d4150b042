//go:build aix || (solaris && !illumos) || js || wasip1

package vfs

import (
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
)

const lockPerm = filePerm

// locks are the files that this process has locked. The state is global because
// what it stands in for is: on these systems a lock belongs to the whole process,
// and closing any descriptor of the file gives it up. So a locked file is never
// opened a second time; readers share one opening.
var locks struct {
	mu   sync.Mutex
	held []*lockedFile
}

type lockedFile struct {
	f       *os.File
	info    os.FileInfo
	shared  bool
	holders int
}

type tableLock struct {
	file   *lockedFile
	closed bool
}

func acquire(name string, readOnly bool) (io.Closer, os.FileInfo, error) {
	locks.mu.Lock()
	defer locks.mu.Unlock()
	l := findLock(name)
	if l == nil {
		f, info, err := openLock(name, readOnly)
		if err != nil {
			return nil, nil, err
		}
		if err := lockProcess(f, readOnly); err != nil {
			return nil, nil, closeAfter(f, err)
		}
		l = &lockedFile{f: f, info: info, shared: readOnly}
		locks.held = append(locks.held, l)
	} else if !l.shared || !readOnly {
		return nil, nil, errHeld
	}
	l.holders++
	return &tableLock{file: l}, l.info, nil
}

// findLock returns the locked file of that name, or nil. The caller holds
// locks.mu.
func findLock(name string) *lockedFile {
	info, err := os.Stat(name)
	if err != nil {
		return nil
	}
	for _, l := range locks.held {
		if os.SameFile(l.info, info) {
			return l
		}
	}
	return nil
}

// Close releases the lock.
func (t *tableLock) Close() error {
	locks.mu.Lock()
	defer locks.mu.Unlock()
	if t.closed {
		return pathError(OpUnlock, t.file.f.Name(), fs.ErrClosed)
	}
	t.closed = true
	if t.file.holders--; t.file.holders > 0 {
		return nil
	}
	locks.held = slices.DeleteFunc(locks.held, func(l *lockedFile) bool { return l == t.file })
	return t.file.f.Close()
}
