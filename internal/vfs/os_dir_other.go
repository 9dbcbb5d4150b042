//go:build !unix

package vfs

import "os"

// syncDir does nothing: these systems have no call for it.
func syncDir(string) error { return nil }

// named reports whether a file is known to have a name.
func named(os.FileInfo) bool { return false }
