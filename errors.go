package sift

import "github.com/siftkv/sift/internal/key"

// The errors that a caller can test for with errors.Is. What a method returns
// wraps one of them with what went wrong, where, and what to do, and keeps the
// cause: errors.Is(err, syscall.ENOSPC) works on a write to a full disk.
var (
	// ErrNotFound: the key has no value.
	ErrNotFound = key.ErrNotFound
	// ErrNotExist: there is no database at that path, and Options.ReadOnly or
	// Options.MustExist says not to make one.
	ErrNotExist = key.ErrNotExist
	// ErrExists: there is a database at that path, and Options.ErrorIfExists is
	// set.
	ErrExists = key.ErrExists
	// ErrLocked: another process, or another DB in this one, has it open.
	ErrLocked = key.ErrLocked
	// ErrInvalidOption: an option is out of range or contradicts another. The
	// message lists every fault.
	ErrInvalidOption = key.ErrInvalidOption
	// ErrVersion: a file has a format that this release does not know.
	ErrVersion = key.ErrVersion
	// ErrTooLarge: a key, value or batch is over its limit.
	ErrTooLarge = key.ErrTooLarge
	// ErrReadOnly: a write to a database that was opened read-only.
	ErrReadOnly = key.ErrReadOnly
	// ErrClosed: the database or iterator is closed.
	ErrClosed = key.ErrClosed
	// ErrReleased: the snapshot is closed.
	ErrReleased = key.ErrReleased
	// ErrBackground: a sync, flush or compaction failed, so that a write cannot
	// be accepted. It wraps the failure.
	ErrBackground = key.ErrBackground
	// ErrCorrupt: every CorruptionError is one of these.
	ErrCorrupt = key.ErrCorrupt
)

// CorruptionError says that a file does not hold what was written to it. It
// names the file and the offset.
type CorruptionError = key.CorruptionError

// Limits of what can be stored, in bytes.
const (
	MaxKeyLen   = key.MaxKeyLen   // 65,535
	MaxValueLen = key.MaxValueLen // 512 MiB
	MaxBatchLen = 1 << 30         // encoded: keys, values and about 12 bytes a pair
)
