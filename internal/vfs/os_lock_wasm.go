//go:build js || wasip1

package vfs

import "os"

// lockProcess does nothing: WebAssembly hosts offer no locks.
func lockProcess(*os.File, bool) error { return nil }
