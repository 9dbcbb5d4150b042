//go:build !windows && !plan9

package vfs

import "syscall"

var (
	noSpace      = []error{syscall.ENOSPC, syscall.EDQUOT}
	tooManyFiles = []error{syscall.EMFILE, syscall.ENFILE}
)
