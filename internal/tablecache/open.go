package tablecache

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
	"github.com/siftkv/sift/internal/vfs"
	"github.com/siftkv/sift/sstable"
)

// opening is a table that one goroutine opens and others may wait for. The
// cache's mu guards it until done is closed.
type opening struct {
	done     chan struct{}
	waiters  int64
	obsolete bool // evicted meanwhile
	tab      *Table
	err      error
}

func (c *Cache) path(num uint64) string { return manifest.Path(c.dir, manifest.Table, num) }

// load returns a table that find did not find, retained for the caller. Of several
// callers one opens the file, and an error is everybody's.
func (c *Cache) load(t *manifest.TableMeta) (*Table, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, errClosed(t.Num)
	}
	if tab := c.find(t.Num); tab != nil && tab.retain() {
		c.mu.Unlock()
		return tab, nil
	}
	o := c.opening[t.Num]
	if o != nil {
		o.waiters++
		c.mu.Unlock()
		<-o.done
		return o.tab, o.err
	}
	o = &opening{done: make(chan struct{})}
	c.opening[t.Num] = o
	c.open.Add(1)
	c.mu.Unlock()

	reader, err := c.openTable(t)
	tab, err := c.finish(t.Num, o, reader, err)
	if err != nil && reader != nil {
		err = errors.Join(err, reader.Close())
	}
	return tab, err
}

func errClosed(num uint64) error { return fmt.Errorf("tablecache: table %06d: %w", num, key.ErrClosed) }

// finish hands a table that was opened, or the error, to the caller and to all
// who wait, and makes the table findable. On an error the reader, if there is one,
// is still the caller's.
func (c *Cache) finish(num uint64, o *opening, reader *sstable.Reader, err error) (*Table, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(o.done)
	delete(c.opening, num)
	if err == nil && c.closed {
		err = errClosed(num)
	}
	if err != nil {
		c.open.Add(-1)
		o.err = err
		return nil, err
	}
	c.opens++
	o.tab = &Table{Reader: reader, cache: c, num: num}
	o.tab.refs.Store(1 + o.waiters)
	if o.obsolete {
		c.obsolete[o.tab] = struct{}{}
	} else {
		o.tab.refs.Add(1) // the cache's own
		c.publish(o.tab)
	}
	return o.tab, nil
}

// openTable opens a table's file, after making room for it, and checks it.
func (c *Cache) openTable(t *manifest.TableMeta) (*sstable.Reader, error) {
	if c.open.Load() > c.maxOpen {
		c.evict(c.maxOpen)
	}
	f, err := c.openFile(c.path(t.Num))
	if err != nil {
		return nil, err
	}
	reader, err := sstable.Open(f, sstable.ReaderOptions{
		Name:    filepath.Base(c.path(t.Num)),
		Cache:   c.blocks,
		Stats:   c.stats,
		ID:      t.ID,
		Size:    t.Size,
		TailOff: int64(t.TailOff),
		Filter:  sstable.Handle{Off: t.FilterOff, Len: t.FilterLen},
	})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return reader, nil
}

// openFile opens a table's file. One that is missing is damage.
func (c *Cache) openFile(name string) (vfs.File, error) {
	f, err := c.fs.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &key.CorruptionError{
			File: filepath.Base(name), Offset: -1, What: "the manifest lists this table, but there is no such file", Err: err,
		}
	}
	if err != nil {
		return nil, fmt.Errorf("tablecache: open table: %w", err)
	}
	return f, nil
}
