//go:build aix || (solaris && !illumos) || js || wasip1

package vfs

import (
	"io"
	"os"
	"slices"
	"sync"
)

const lockPerm = filePerm

// locks are the locks that this process holds. The state is global because what
// it stands in for is: on these systems a lock belongs to the whole process, and
// closing any descriptor of the file gives it up. So a file in the table is not
// even opened a second time.
var locks struct {
	mu   sync.Mutex
	held []*tableLock
}

type tableLock struct {
	f    *os.File
	info os.FileInfo
}

func acquire(name string, readOnly bool) (io.Closer, os.FileInfo, error) {
	locks.mu.Lock()
	defer locks.mu.Unlock()
	if info, err := os.Stat(name); err == nil {
		for _, l := range locks.held {
			if os.SameFile(l.info, info) {
				return nil, nil, errHeld
			}
		}
	}
	f, info, err := openLock(name, readOnly)
	if err != nil {
		return nil, nil, err
	}
	if err := lockProcess(f, readOnly); err != nil {
		return nil, nil, closeAfter(f, err)
	}
	l := &tableLock{f: f, info: info}
	locks.held = append(locks.held, l)
	return l, info, nil
}

// Close releases the lock.
func (l *tableLock) Close() error {
	locks.mu.Lock()
	defer locks.mu.Unlock()
	locks.held = slices.DeleteFunc(locks.held, func(h *tableLock) bool { return h == l })
	return l.f.Close()
}
