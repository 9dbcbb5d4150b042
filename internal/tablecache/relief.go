package tablecache

import "github.com/siftkv/sift/internal/vfs"

// FS returns the file system that the cache opens tables with, for all else that
// needs descriptors: a log or a new table must not fail for want of one while
// idle tables hold them.
func (c *Cache) FS() vfs.FS { return c.fs }

// relieved is a file system that closes an idle table when too many files are
// open, and tries again, for as long as there is an idle one: what it makes free
// another goroutine may take.
type relieved struct {
	vfs.FS
	cache *Cache
}

// again reports whether a call that ended with err is worth another try.
func (r relieved) again(err error) bool {
	return err != nil && vfs.IsTooManyFiles(err) && r.cache.evict(max(0, r.cache.open.Load()-1)) > 0
}

// Create implements vfs.FS.
func (r relieved) Create(name string) (vfs.File, error) {
	for {
		f, err := r.FS.Create(name)
		if !r.again(err) {
			return f, err
		}
	}
}

// Open implements vfs.FS.
func (r relieved) Open(name string) (vfs.File, error) {
	for {
		f, err := r.FS.Open(name)
		if !r.again(err) {
			return f, err
		}
	}
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
	for {
		err := r.FS.SyncDir(dir)
		if !r.again(err) {
			return err
		}
	}
}
