package tablecache

import (
	"sync/atomic"

	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
	"github.com/siftkv/sift/sstable"
)

// Table is an open table in use. It must be released, once for each Acquire, when
// its user is done with it and with its iterators. Its Close is for the Cache only.
type Table struct {
	*sstable.Reader
	cache *Cache
	num   uint64
	at    int // its index in the ring; guarded by cache.mu

	refs atomic.Int64 // one of the cache while find finds the table, and one of each user
	used atomic.Bool  // again, after it was opened or evict came by
	shut atomic.Bool  // the file is closed
}

// retain takes a reference. It reports false if the table is closed.
func (tab *Table) retain() bool {
	for {
		n := tab.refs.Load()
		if n == 0 {
			return false
		}
		if tab.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// take takes the cache's reference if it is the only one. The table then belongs
// to the caller, to be closed.
func (tab *Table) take() bool { return tab.refs.CompareAndSwap(1, 0) }

// touch notes that the table was used. It writes only if that is news, so that
// readers on several cores do not fight for the cache line.
func (tab *Table) touch() {
	if !tab.used.Load() {
		tab.used.Store(true)
	}
}

// Release ends one use of the table.
func (tab *Table) Release() {
	c := tab.cache
	switch n := tab.refs.Add(-1); {
	case n < 0:
		panic("BUG: tablecache: a table was released more often than acquired")
	case n == 0:
		c.shut(tab)
	case n == 1 && c.open.Load() > c.maxOpen:
		c.evict(c.maxOpen)
	}
}

// NewIter returns an iterator over t that keeps the table open until it is closed.
func (c *Cache) NewIter(t *manifest.TableMeta) (iterator.Iterator, error) {
	tab, err := c.Acquire(t)
	if err != nil {
		return nil, err
	}
	return &tableIter{tab.Reader.NewIter(), tab}, nil
}

// NewCompactionIter is NewIter for one walk from front to back, which leaves the
// block cache alone.
func (c *Cache) NewCompactionIter(t *manifest.TableMeta) (iterator.Iterator, error) {
	tab, err := c.Acquire(t)
	if err != nil {
		return nil, err
	}
	return &tableIter{tab.Reader.NewCompactionIter(), tab}, nil
}

// Verify reads all of a table and returns where it differs from its format or from
// what the manifest records of it.
func (c *Cache) Verify(t *manifest.TableMeta) error {
	tab, err := c.Acquire(t)
	if err != nil {
		return err
	}
	defer tab.Release()
	if err := tab.Reader.Verify(); err != nil {
		return err
	}
	p := tab.Properties()
	if p.Sum != t.Sum || p.Entries != t.Entries || p.RangeDeletes != t.RangeDeletes ||
		key.Compare(p.Smallest, t.Smallest) != 0 || key.Compare(p.Largest, t.Largest) != 0 {
		return key.Corruptf(c.path(t.Num), -1, "it holds %d entries of sum %016x from %v to %v; the manifest records %d of %016x from %v to %v",
			p.Entries, uint64(p.Sum), p.Smallest, p.Largest, t.Entries, uint64(t.Sum), t.Smallest, t.Largest)
	}
	return nil
}

// tableIter releases its table when it is closed.
type tableIter struct {
	iterator.Iterator
	table *Table // nil: closed
}

func (it *tableIter) Close() error {
	err := it.Iterator.Close()
	if it.table != nil {
		it.table.Release()
		it.table = nil
	}
	return err
}
