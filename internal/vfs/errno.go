package vfs

import "errors"

// IsNoSpace says that a disk, or a quota, is full.
func IsNoSpace(err error) bool {
	for _, e := range noSpace {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// IsTooManyFiles says that the process, or the system, may open no more files.
func IsTooManyFiles(err error) bool {
	for _, e := range tooManyFiles {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
