package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Mem is a file system in memory that knows what a power cut would leave behind.
//
// It is strict: nothing is durable that the rules of FS do not promise. Bytes
// wait as pending sectors until the file's Sync, names wait as pending
// operations until the directory's SyncDir, and a new directory is itself a
// pending name in its parent. Crash and Kill make independent clones in which a
// power cut or the end of the process has happened. A file (its inode) is apart
// from its names, so that a rename keeps the data and loses only the name.
//
// "/", "." and "x/.." all name the root, which always exists. There are no
// permissions, owners or symbolic links.
//
// Invariants:
//
//  1. mu guards all that can be reached from root, and every handle. It is never
//     held while latency is waited out.
//  2. A directory's durable names with all its pending operations applied, in
//     order, are its names.
//  3. A sector of a file that is not pending is the same after a power cut.
//  4. used is the space of all files that have a name or an open handle.
type Mem struct {
	latency atomic.Pointer[func(Op) time.Duration]

	mu      sync.RWMutex
	root    *inode
	space   int64 // bytes that fit; negative: no limit
	used    int64
	windows bool
}

// inode is a file or a directory, without its names.
type inode struct {
	dir     *directory // nil in a file
	file    *contents  // nil in a directory
	links   int        // names that refer to it
	handles int        // open files and locks

	exclusive bool // somebody holds the exclusive lock
	shared    int  // holders of the shared lock
}

var (
	errIsDir     = errors.New("is a directory")
	errNotDir    = errors.New("not a directory")
	errNotEmpty  = errors.New("directory not empty")
	errInUse     = errors.New("file is in use (rules of Windows)")
	errReadOnly  = errors.New("file is not open for writing")
	errBackwards = errors.New("the append position cannot move backwards")
	errNegative  = errors.New("negative offset or size")
	errIntoSelf  = errors.New("directory would move into itself")
	errRemoved   = fmt.Errorf("the file was removed: %w", fs.ErrNotExist)
)

// NewMem returns an empty file system without a limit of space, latency, or the
// rules of Windows.
func NewMem() *Mem {
	return &Mem{root: newDir(), space: -1}
}

// SetWindowsRules turns the rules of Windows on or off: a file that is open
// cannot be renamed, replaced or removed, and Sync needs a file open for
// writing.
func (m *Mem) SetWindowsRules(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.windows = on
}

// SetSpace limits the bytes of all files together; negative means no limit. An
// append that does not fit writes what fits and fails with an error for which
// IsNoSpace is true. Space comes back when a file has lost its last name and
// its last handle.
func (m *Mem) SetSpace(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.space = bytes
}

// SetLatency makes each call wait as long as f says before it takes effect; nil
// means not at all. A Sync or SyncDir makes durable only what was there when it
// began. f is called by several goroutines at once, with no lock held. In a
// testing/synctest bubble the waits take no real time.
func (m *Mem) SetLatency(f func(Op) time.Duration) {
	if f == nil {
		m.latency.Store(nil)
		return
	}
	m.latency.Store(&f)
}

func (m *Mem) wait(op Op) {
	f := m.latency.Load()
	if f == nil {
		return
	}
	if d := (*f)(op); d > 0 {
		<-time.After(d)
	}
}

// OpenFiles counts the open files and locks, to find leaks.
func (m *Mem) OpenFiles() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n := 0
	for _, i := range m.inodes() {
		n += i.handles
	}
	return n
}

// Used returns the bytes of all files together, rounded up to whole sectors.
func (m *Mem) Used() int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.used
}

// components splits a path; nil is the root.
func components(name string) ([]string, error) {
	if name == "" {
		return nil, fs.ErrNotExist
	}
	p := path.Clean("/" + filepath.ToSlash(name))
	if p == "/" {
		return nil, nil
	}
	return strings.Split(p[1:], "/"), nil
}

func (m *Mem) lookup(name string) (*inode, error) {
	parts, err := components(name)
	if err != nil {
		return nil, err
	}
	return m.walk(parts)
}

func (m *Mem) walk(parts []string) (*inode, error) {
	n := m.root
	for _, part := range parts {
		if n.dir == nil {
			return nil, errNotDir
		}
		if n = n.dir.names[part]; n == nil {
			return nil, fs.ErrNotExist
		}
	}
	return n, nil
}

func (m *Mem) lookupDir(name string) (*inode, error) {
	n, err := m.lookup(name)
	if err == nil && n.dir == nil {
		return nil, errNotDir
	}
	return n, err
}

func (m *Mem) lookupFile(name string) (*inode, error) {
	n, err := m.lookup(name)
	if err == nil && n.dir != nil {
		return nil, errIsDir
	}
	return n, err
}

// parent returns the directory that name is in, and the last part of name.
func (m *Mem) parent(name string) (*directory, string, error) {
	parts, err := components(name)
	if err != nil {
		return nil, "", err
	}
	if len(parts) == 0 {
		return nil, "", errIsDir
	}
	last := len(parts) - 1
	n, err := m.walk(parts[:last])
	if err != nil {
		return nil, "", err
	}
	if n.dir == nil {
		return nil, "", errNotDir
	}
	return n.dir, parts[last], nil
}

// MkdirAll implements FS.
func (m *Mem) MkdirAll(dir string) error {
	m.wait(Op{Kind: OpMkdirAll, Name: dir})
	m.mu.Lock()
	defer m.mu.Unlock()
	parts, err := components(dir)
	if err != nil {
		return pathError(OpMkdirAll, dir, err)
	}
	n := m.root
	for _, part := range parts {
		child := n.dir.names[part]
		if child == nil {
			child = newDir()
			n.dir.add(part, child)
		}
		if child.dir == nil {
			return pathError(OpMkdirAll, dir, errNotDir)
		}
		n = child
	}
	return nil
}

// SyncDir implements FS.
func (m *Mem) SyncDir(dir string) error {
	m.mu.RLock()
	n, err := m.lookupDir(dir)
	var upTo uint64
	if err == nil {
		upTo = n.dir.lastOp
	}
	m.mu.RUnlock()
	if err != nil {
		return pathError(OpSyncDir, dir, err)
	}
	m.wait(Op{Kind: OpSyncDir, Name: dir})
	m.mu.Lock()
	defer m.mu.Unlock()
	n.dir.sync(upTo)
	return nil
}

// List implements FS.
func (m *Mem) List(dir string) ([]string, error) {
	m.wait(Op{Kind: OpList, Name: dir})
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, err := m.lookupDir(dir)
	if err != nil {
		return nil, pathError(OpList, dir, err)
	}
	return slices.Sorted(maps.Keys(n.dir.names)), nil
}

// Stat implements FS.
func (m *Mem) Stat(name string) (Info, error) {
	m.wait(Op{Kind: OpStat, Name: name})
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, err := m.lookup(name)
	if err != nil {
		return Info{}, pathError(OpStat, name, err)
	}
	if n.dir != nil {
		return Info{IsDir: true}, nil
	}
	return Info{Size: n.file.size}, nil
}
