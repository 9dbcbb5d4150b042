package vfs

import (
	"io"
	"io/fs"
	"os"
	"strings"
)

// lockPerm makes a file that only one opener at a time can have.
const lockPerm = filePerm | fs.ModeExclusive

// acquire relies on exclusive-use files: opening one is locking it. A file that
// came without the bit, by a copy for instance, gets it first.
func acquire(name string, readOnly bool) (io.Closer, os.FileInfo, error) {
	if info, err := os.Stat(name); err == nil && !info.IsDir() && info.Mode()&fs.ModeExclusive == 0 {
		if err := os.Chmod(name, info.Mode()|fs.ModeExclusive); err != nil {
			return nil, nil, err
		}
	}
	f, info, err := openLock(name, readOnly)
	if err != nil && isHeld(err) {
		err = errHeld
	}
	if err != nil {
		return nil, nil, err
	}
	return f, info, nil
}

// isHeld knows the words of the file servers cwfs and kfs, fossil, and ramfs.
func isHeld(err error) bool {
	for _, words := range []string{"file is locked", "exclusive lock", "exclusive use file already open"} {
		if strings.Contains(err.Error(), words) {
			return true
		}
	}
	return false
}
