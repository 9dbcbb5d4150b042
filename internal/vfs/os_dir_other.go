//go:build !unix

package vfs

// syncDir does nothing: these systems have no call for it.
func syncDir(string) error { return nil }
