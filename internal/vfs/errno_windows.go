package vfs

import "syscall"

// The codes are those of winerror.h.
var (
	noSpace = []error{
		syscall.ENOSPC,
		syscall.Errno(112),  // ERROR_DISK_FULL
		syscall.Errno(39),   // ERROR_HANDLE_DISK_FULL
		syscall.Errno(1295), // ERROR_DISK_QUOTA_EXCEEDED
	}
	tooManyFiles = []error{
		syscall.EMFILE,
		syscall.Errno(4), // ERROR_TOO_MANY_OPEN_FILES
	}
)
