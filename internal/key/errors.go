package key

import (
	"errors"
	"fmt"
	"path/filepath"
)

// The errors that callers test for with errors.Is. Package sift exports every
// one of them under the same name; layers wrap them with what, where and what
// to do.
var (
	// ErrNotFound: the key has no value.
	ErrNotFound = errors.New("sift: not found")
	// ErrNotExist: there is no database at that path.
	ErrNotExist = errors.New("sift: database does not exist")
	// ErrExists: there is a database at that path already.
	ErrExists = errors.New("sift: database exists")
	// ErrLocked: another process, or another DB in this one, has it open.
	ErrLocked = errors.New("sift: database is locked")
	// ErrInvalidOption: an option is out of range or contradicts another.
	ErrInvalidOption = errors.New("sift: invalid option")
	// ErrVersion: a file has a format that this release does not know.
	ErrVersion = errors.New("sift: unsupported format version")
	// ErrTooLarge: a key, value or batch is over its limit.
	ErrTooLarge = errors.New("sift: too large")
	// ErrReadOnly: a write to a database that was opened read-only.
	ErrReadOnly = errors.New("sift: read-only")
	// ErrClosed: the database, iterator or batch is closed.
	ErrClosed = errors.New("sift: closed")
	// ErrReleased: the snapshot is closed.
	ErrReleased = errors.New("sift: snapshot released")
	// ErrBackground: a flush or compaction failed, so that writes are refused.
	ErrBackground = errors.New("sift: background work failed")
	// ErrCorrupt: every CorruptionError is one of these.
	ErrCorrupt = errors.New("sift: corrupt")
)

// CorruptionError says that a file does not hold what was written to it.
type CorruptionError struct {
	File   string // base name
	Offset int64  // where the damage was met, in bytes; -1 if it is the whole file
	What   string // what was expected and what was found
	Err    error  // the cause, or nil
}

func (e *CorruptionError) Error() string {
	s := "sift: corrupt " + e.File
	if e.Offset >= 0 {
		s += fmt.Sprintf(" at offset %d", e.Offset)
	}
	s += ": " + e.What
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is makes errors.Is(err, ErrCorrupt) true.
func (e *CorruptionError) Is(target error) bool { return target == ErrCorrupt }

// Unwrap returns the cause.
func (e *CorruptionError) Unwrap() error { return e.Err }

// Corruptf returns a CorruptionError for a file, of which it keeps the base
// name only. An offset of -1 means the whole file.
func Corruptf(file string, offset int64, format string, args ...any) error {
	return &CorruptionError{File: filepath.Base(file), Offset: offset, What: fmt.Sprintf(format, args...)}
}
