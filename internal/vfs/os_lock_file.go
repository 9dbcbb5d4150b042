//go:build !aix && (!solaris || illumos) && !js && !wasip1 && !plan9

package vfs

import (
	"io"
	"os"
)

// acquire locks the file by this opening of it; closing it unlocks.
func acquire(name string, readOnly bool) (io.Closer, os.FileInfo, error) {
	f, info, err := openLock(name, readOnly)
	if err != nil {
		return nil, nil, err
	}
	if err := lockFile(f, readOnly); err != nil {
		return nil, nil, closeAfter(f, err)
	}
	return f, info, nil
}
