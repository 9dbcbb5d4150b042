// Package vfs is the seam between sift and a file system. Everything that the
// engine does to a disk goes through FS and File, so that a test can count it,
// fail it, or cut the power in the middle of it.
//
// Three rules shape the seam:
//
//   - A file is written by appending. There is no positional write, so nothing
//     that is durable can be rewritten in place by mistake. A log reused under
//     a new name is the one exception, and Reuse says so.
//   - A name is durable only after SyncDir on its directory; a file's bytes only
//     after its Sync.
//   - Mapped memory never crosses the seam.
package vfs

import (
	"io"
)

// FS is a file system. Names are slash- or system-separated paths, as the
// implementation likes them; the engine builds them with path/filepath. All
// methods are safe for use by several goroutines. Errors name the path and wrap
// what the system said, so that errors.Is(err, fs.ErrNotExist), IsNoSpace and
// IsTooManyFiles work.
type FS interface {
	// Create makes an empty file for appending, or truncates an existing one.
	Create(name string) (File, error)

	// Reuse renames the file old to name and opens it for appending at offset
	// 0. Its former contents stay until they are overwritten, so its format
	// must tell old bytes from new ones.
	Reuse(old, name string) (File, error)

	// Open opens a file for reading. A directory is an error.
	Open(name string) (File, error)

	// Rename renames a file, replacing name if it exists.
	Rename(old, name string) error

	// Remove removes a file or an empty directory.
	Remove(name string) error

	// Link makes name a second name of the file old.
	Link(old, name string) error

	// MkdirAll makes a directory and its missing parents.
	MkdirAll(dir string) error

	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error

	// List returns the base names of the entries of a directory, sorted.
	List(dir string) ([]string, error)

	// Stat describes a file, following symbolic links.
	Stat(name string) (Info, error)

	// Lock takes an exclusive lock on the file name, creating it if it is
	// missing, and fails at once with an error that is key.ErrLocked when
	// somebody else holds it. With readOnly the file must exist and is not
	// written, and the lock is shared with other readers. Closing the result
	// releases the lock; the end of the process does so too.
	Lock(name string, readOnly bool) (io.Closer, error)
}

// File is an open file. One goroutine at a time may append; ReadAt, Sync and
// Size are safe beside it and beside each other.
type File interface {
	io.ReaderAt
	io.Closer

	// Append writes p at the append position and advances it. On an error any
	// part of p may have been written and the position is unspecified.
	Append(p []byte) error

	// Skip moves the append position forward to off, leaving a gap whose bytes
	// are zero (or, in a reused file, what they were). The size grows with the
	// next Append only.
	Skip(off int64) error

	// Sync makes all bytes appended before the call, and the size, durable: those
	// of other handles and of earlier processes too. On Windows it needs a file
	// opened for appending. A file that was removed may make it an error that is
	// fs.ErrNotExist.
	Sync() error

	// Allocate reserves disk space for the first n bytes, so that a later Sync
	// has no metadata to write. It may grow the file with zeros. Where it is
	// not supported it does nothing and returns nil. On an error nothing is
	// reserved.
	Allocate(n int64) error

	// Truncate cuts the file to n bytes. A cut within a sector may write that
	// sector again.
	Truncate(n int64) error

	// Size returns the size in bytes, allocated zeros included.
	Size() (int64, error)
}

// Info describes a file.
type Info struct {
	Size  int64
	IsDir bool
}
