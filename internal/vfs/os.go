package vfs

import (
	"os"
	"slices"
)

// The permissions of new files and directories, before the umask.
const (
	filePerm = 0o644
	dirPerm  = 0o755
)

// osFS is the file system of the operating system.
type osFS struct{}

// OS returns the file system of the operating system.
//
// Sync is fdatasync on Linux, F_FULLFSYNC on Apple systems and fsync elsewhere.
// Allocate works on Linux. SyncDir needs a Unix: on Windows names are journaled
// and there is nothing to call, on the others nothing is promised.
func OS() FS { return osFS{} }

// Create implements FS.
func (osFS) Create(name string) (File, error) {
	return openFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

// Reuse implements FS.
func (o osFS) Reuse(old, name string) (File, error) {
	info, err := os.Stat(old)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, linkError(OpReuse, old, name, errIsDir)
	}
	if err := os.Rename(old, name); err != nil {
		return nil, err
	}
	return openFile(name, os.O_RDWR)
}

// Open implements FS. A directory is not a file.
func (osFS) Open(name string) (File, error) { return openFile(name, os.O_RDONLY) }

func openFile(name string, flags int) (File, error) {
	f, err := os.OpenFile(name, flags, filePerm)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = pathError(OpOpen, name, errIsDir)
	}
	if err != nil {
		return nil, closeAfter(f, err)
	}
	return &osFile{f: f, named: named(info)}, nil
}

// closeAfter closes f because of err, which says more than what Close says.
func closeAfter(f *os.File, err error) error {
	_ = f.Close()
	return err
}

// Rename implements FS.
func (osFS) Rename(old, name string) error { return os.Rename(old, name) }

// Remove implements FS.
func (osFS) Remove(name string) error { return os.Remove(name) }

// Link implements FS.
func (osFS) Link(old, name string) error { return os.Link(old, name) }

// MkdirAll implements FS.
func (osFS) MkdirAll(dir string) error { return os.MkdirAll(dir, dirPerm) }

// SyncDir implements FS.
func (osFS) SyncDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return pathError(OpSyncDir, dir, errNotDir)
	}
	return syncDir(dir)
}

// List implements FS.
func (osFS) List(dir string) (names []string, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	names, err = d.Readdirnames(-1)
	if err != nil {
		return nil, closeAfter(d, err)
	}
	slices.Sort(names)
	return names, d.Close()
}

// Stat implements FS.
func (osFS) Stat(name string) (Info, error) {
	info, err := os.Stat(name)
	if err != nil {
		return Info{}, err
	}
	return Info{Size: info.Size(), IsDir: info.IsDir()}, nil
}

// osFile is a file of the operating system. Appends are positional writes, so
// that the position is never shared with reads.
type osFile struct {
	f   *os.File
	pos int64 // where Append writes; only the appending goroutine uses it

	named bool // it had a name when it was opened, and the system says so
}

func (o *osFile) ReadAt(p []byte, off int64) (int, error) { return o.f.ReadAt(p, off) }

func (o *osFile) Append(p []byte) error {
	n, err := o.f.WriteAt(p, o.pos)
	o.pos += int64(n)
	return err
}

func (o *osFile) Skip(off int64) error {
	if off < o.pos {
		return pathError(OpSkip, o.f.Name(), errBackwards)
	}
	o.pos = off
	return nil
}

func (o *osFile) Allocate(n int64) error {
	if n < 0 {
		return pathError(OpAllocate, o.f.Name(), errNegative)
	}
	if n == 0 {
		return nil // fallocate refuses it
	}
	return o.allocate(n)
}

func (o *osFile) Truncate(n int64) error {
	if n < 0 {
		return pathError(OpTruncate, o.f.Name(), errNegative) // some systems take it for 0
	}
	return o.f.Truncate(n)
}

func (o *osFile) Size() (int64, error) {
	info, err := o.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Sync implements File. What is durable in a file that has lost its name is not
// there after a restart: to say so is no use to anybody.
func (o *osFile) Sync() error {
	if err := o.sync(); err != nil {
		return err
	}
	if info, err := o.f.Stat(); o.named && err == nil && !named(info) {
		return pathError(OpSync, o.f.Name(), errRemoved)
	}
	return nil
}

func (o *osFile) Close() error { return o.f.Close() }
