package tablecache

import "github.com/siftkv/sift/internal/vfs"

// relief is how many idle tables are closed when the system has no descriptor
// left: more than one, since logs and new tables need some too.
const relief = 8

// FS returns the file system that the cache opens tables with, for all else that
// needs descriptors: a log or a new table must not fail for want of one while
// idle tables hold them.
func (c *Cache) FS() vfs.FS { return c.fs }

// relieved is a file system that closes idle tables when too many files are open,
// and tries once more.
type relieved struct {
	vfs.FS
	cache *Cache
}

// again makes room if err says that there is none, and reports whether it did.
func (r relieved) again(err error) bool {
	if err == nil || !vfs.IsTooManyFiles(err) {
		return false
	}
	r.cache.evict(max(0, r.cache.open.Load()-relief))
	return true
}

// Create implements vfs.FS.
func (r relieved) Create(name string) (vfs.File, error) {
	f, err := r.FS.Create(name)
	if r.again(err) {
		return r.FS.Create(name)
	}
	return f, err
}

// Open implements vfs.FS.
func (r relieved) Open(name string) (vfs.File, error) {
	f, err := r.FS.Open(name)
	if r.again(err) {
		return r.FS.Open(name)
	}
	return f, err
}

// Reuse implements vfs.FS. It may have failed half done, so that only the
// caller's next call finds the room.
func (r relieved) Reuse(old, name string) (vfs.File, error) {
	f, err := r.FS.Reuse(old, name)
	r.again(err)
	return f, err
}

// SyncDir implements vfs.FS. It opens the directory.
func (r relieved) SyncDir(dir string) error {
	err := r.FS.SyncDir(dir)
	if r.again(err) {
		return r.FS.SyncDir(dir)
	}
	return err
}
