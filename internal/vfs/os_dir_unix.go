//go:build unix

package vfs

import (
	"errors"
	"os"
	"syscall"
)

// syncDir is fsync on the directory. Some network and user-space file systems
// refuse that with EINVAL or ENOTSUP; they offer nothing else to call.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	if err != nil {
		return closeAfter(d, err)
	}
	return d.Close()
}

// named reports whether a file is known to have a name.
func named(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink > 0
}
