package vfs

import (
	"errors"
	"syscall"
)

// Plan 9 reports a full disk as text that differs between file servers, so only
// the error of the in-memory file system is known here.
var (
	noSpace      = []error{errors.New("no space left on device")}
	tooManyFiles = []error{syscall.EMFILE}
)
