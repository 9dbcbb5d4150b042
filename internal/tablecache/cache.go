// Package tablecache keeps tables open. A table is opened at its first use, and
// closed when more tables are open than allowed and nobody uses it, or when it is
// obsolete and its last user is done.
package tablecache

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/siftkv/sift/internal/cache"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
	"github.com/siftkv/sift/internal/vfs"
	"github.com/siftkv/sift/sstable"
)

// Cache holds the open tables of one database, by file number. It is safe for use
// by several goroutines. Finding an open table takes no lock and no memory.
//
// Invariants:
//  1. A table that find finds is open, and the cache holds one of its references.
//  2. Whoever gives back the last reference of a table closes it. There is no way
//     back from 0 references.
//  3. A table in use is closed by Close only.
//  4. Published maps never change: a change publishes a copy.
//  5. open counts the tables whose file is open or being opened.
//
// So more than maxOpen tables may be open for as long as that many are in use.
type Cache struct {
	fs      vfs.FS
	dir     string
	blocks  *cache.Cache
	stats   *sstable.Stats
	maxOpen int64

	shards [numShards]atomic.Pointer[map[uint64]*Table]
	open   atomic.Int64

	mu       sync.Mutex // guards what follows and changes of shards; never held for I/O
	ring     []*Table   // the tables that find finds, for evict
	hand     int        // where in ring evict goes on
	obsolete map[*Table]struct{}
	opening  map[uint64]*opening
	closed   bool
	closeErr error // the first error of closing a file
	opens    uint64
	evicted  uint64
}

// numShards bounds what copying a map costs when a table is opened or evicted.
const numShards = 16

// New returns an empty Cache of the tables in dir. It keeps at most maxOpen tables
// open that nobody uses; 0 closes each one after use. Readers share blocks and
// count what they read in stats; either may be nil.
func New(fs vfs.FS, dir string, blocks *cache.Cache, maxOpen int, stats *sstable.Stats) *Cache {
	c := &Cache{
		dir: dir, blocks: blocks, stats: stats,
		maxOpen:  int64(maxOpen),
		obsolete: make(map[*Table]struct{}),
		opening:  make(map[uint64]*opening),
	}
	c.fs = relieved{fs, c}
	for i := range c.shards {
		c.shards[i].Store(new(map[uint64]*Table))
	}
	return c
}

// Acquire returns the table t, open and kept open until the caller releases it.
// The first use opens the file and checks it against all that the manifest
// recorded, its random id above all.
//
// A missing file is a key.CorruptionError, since the manifest lists it. Errors
// are not remembered: the next call tries again.
func (c *Cache) Acquire(t *manifest.TableMeta) (*Table, error) {
	tab := c.find(t.Num)
	if tab != nil && tab.retain() {
		tab.touch()
	} else {
		var err error
		if tab, err = c.load(t); err != nil {
			return nil, err
		}
	}
	if tab.ID() != t.ID {
		tab.Release()
		return nil, key.Corruptf(c.path(t.Num), -1, "open as table %016x, recorded %016x", tab.ID(), t.ID)
	}
	return tab, nil
}

// Evict drops a table that is obsolete. Its file is closed when Evict returns, or
// else by the last user's release. Its cached blocks are not Evict's affair.
func (c *Cache) Evict(num uint64) {
	c.mu.Lock()
	if o := c.opening[num]; o != nil {
		o.obsolete = true
	}
	tab := c.find(num)
	if tab != nil {
		c.unpublish(tab)
		c.obsolete[tab] = struct{}{}
	}
	c.mu.Unlock()
	if tab != nil {
		tab.Release()
	}
}

// Close closes all tables. From then on Acquire fails with key.ErrClosed. Tables in
// use are closed too, and their next read fails: an iterator that was never closed
// must not keep a file open. Counting such iterators is the caller's business. The
// error tells of files that failed to close. A second call does nothing.
func (c *Cache) Close() error {
	for _, tab := range c.takeAll() {
		c.shut(tab)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.closeErr
	c.closeErr = nil
	return err
}

// takeAll marks the cache as closed, and returns all open tables. The references
// of the cache are gone.
func (c *Cache) takeAll() []*Table {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	tables := c.ring
	for _, tab := range tables {
		tab.refs.Add(-1)
	}
	tables = slices.AppendSeq(tables, maps.Keys(c.obsolete))
	c.ring = nil
	for i := range c.shards {
		c.shards[i].Store(new(map[uint64]*Table))
	}
	return tables
}

// Metrics are counts since New, but for Open.
type Metrics struct {
	Open    int64  // tables whose file is open now
	Opens   uint64 // files opened
	Evicted uint64 // tables closed to stay within the limit
}

// Metrics returns the current counts.
func (c *Cache) Metrics() Metrics {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Metrics{Open: c.open.Load(), Opens: c.opens, Evicted: c.evicted}
}
