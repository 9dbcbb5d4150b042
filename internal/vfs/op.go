package vfs

import (
	"io/fs"
	"path/filepath"
	"strings"
)

// OpKind is a kind of call on an FS, a File or a lock.
type OpKind uint8

// One kind for each method of FS and File, and for the release of a lock.
const (
	OpCreate OpKind = iota
	OpReuse
	OpOpen
	OpRename
	OpRemove
	OpLink
	OpMkdirAll
	OpSyncDir
	OpList
	OpStat
	OpLock
	OpUnlock
	OpRead
	OpAppend
	OpSkip
	OpSync
	OpAllocate
	OpTruncate
	OpSize
	OpClose
	NumOps // how many kinds there are
)

var opNames = [NumOps]string{
	"create", "reuse", "open", "rename", "remove", "link", "mkdirall", "syncdir", "list", "stat",
	"lock", "unlock", "read", "append", "skip", "sync", "allocate", "truncate", "size", "close",
}

// String returns the name that errors carry.
func (k OpKind) String() string {
	if k < NumOps {
		return opNames[k]
	}
	return "unknown"
}

// Op is one call, as the hooks of this package see it.
type Op struct {
	Kind OpKind
	Name string // the file or directory; of two names, the new one
	Old  string // the old name in OpReuse, OpRename and OpLink
	Off  int64  // where OpRead and OpAppend begin; the argument of OpSkip, OpAllocate and OpTruncate
	Len  int64  // how many bytes OpRead and OpAppend were given
	Seq  uint64 // the number of the call on its Fault, from 1
	Site string // OpSync and OpSyncDir on a Fault: which sync of the engine this is
}

// FileType groups file names for counts and reports: the extension without its
// dot ("sst"), or the base name up to its first dash ("MANIFEST").
func FileType(name string) string {
	base := filepath.Base(name)
	if ext := filepath.Ext(base); len(ext) > 1 {
		return ext[1:]
	}
	prefix, _, _ := strings.Cut(base, "-")
	return prefix
}

// pathError wraps err the way package os does.
func pathError(kind OpKind, name string, err error) error {
	return &fs.PathError{Op: kind.String(), Path: name, Err: err}
}
