// Package tablecache keeps tables open, up to a limit, so that a lookup finds the
// reader of its table without asking the file system.
package tablecache

import (
	"errors"
	"fmt"
	"sync"
	"syscall"

	"github.com/siftkv/sift/internal/cache"
	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
	"github.com/siftkv/sift/internal/vfs"
	"github.com/siftkv/sift/sstable"
)

const numShards = 16

// Cache opens tables when they are first needed and closes those that were not
// used for long once there are too many. It is safe for use by several
// goroutines.
//
// Invariants:
//  1. An open table is in its shard's map, or has users and was evicted: then
//     its last user closes it.
//  2. A table is closed exactly once.
//  3. A table in use is never closed but by Close.
type Cache struct {
	fs     vfs.FS
	dir    string
	blocks *cache.Cache
	stats  *sstable.Stats
	shards [numShards]shard
}

// A shard holds the tables whose number it owns. Its list runs from the most to
// the least recently used.
type shard struct {
	mu     sync.Mutex
	room   int // tables to keep open
	tables map[uint64]*Table
	list   Table // sentinel
	closed bool
	_      [40]byte
}

// Table is an open table in use. It must be released, once.
type Table struct {
	*sstable.Reader
	num        uint64
	shard      *shard
	users      int  // guarded by the shard's mu
	evicted    bool // not in the map any more
	next, prev *Table
}

// New returns a Cache for the tables in dir that keeps about maxOpen of them
// open while nobody uses them.
func New(fs vfs.FS, dir string, blocks *cache.Cache, maxOpen int, stats *sstable.Stats) *Cache {
	c := &Cache{fs: fs, dir: dir, blocks: blocks, stats: stats}
	for i := range c.shards {
		s := &c.shards[i]
		s.room = (maxOpen + i) / numShards
		s.tables = make(map[uint64]*Table)
		s.list.next, s.list.prev = &s.list, &s.list
	}
	return c
}

func (c *Cache) shard(num uint64) *shard { return &c.shards[num%numShards] }

// Acquire returns the table t, opened if need be. The first use checks that the
// file is the table that the manifest speaks of. The caller releases the result.
func (c *Cache) Acquire(t *manifest.TableMeta) (*Table, error) {
	s := c.shard(t.Num)
	s.mu.Lock()
	if x := s.tables[t.Num]; x != nil {
		x.users++
		s.touch(x)
		s.mu.Unlock()
		return x, nil
	}
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return nil, fmt.Errorf("sift: table cache: %w", key.ErrClosed)
	}
	r, err := c.open(t)
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		c.closeIdle()
		r, err = c.open(t)
	}
	if err != nil {
		return nil, err
	}
	return s.add(t.Num, r)
}

func (c *Cache) open(t *manifest.TableMeta) (*sstable.Reader, error) {
	path := manifest.Path(c.dir, manifest.Table, t.Num)
	f, err := c.fs.Open(path)
	if err != nil {
		return nil, fmt.Errorf("sift: open table: %w", err)
	}
	r, err := sstable.Open(f, sstable.ReaderOptions{
		Name: path, Cache: c.blocks, Stats: c.stats,
		ID: t.ID, Size: t.Size, TailOff: int64(t.TailOff),
		Filter: sstable.Handle{Off: t.FilterOff, Len: t.FilterLen},
	})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// add puts a table that was just opened into the map, with one user, unless
// another goroutine was faster.
func (s *shard) add(num uint64, r *sstable.Reader) (*Table, error) {
	s.mu.Lock()
	if x := s.tables[num]; x != nil {
		x.users++
		s.touch(x)
		s.mu.Unlock()
		return x, r.Close()
	}
	if s.closed {
		s.mu.Unlock()
		return nil, errors.Join(fmt.Errorf("sift: table cache: %w", key.ErrClosed), r.Close())
	}
	x := &Table{Reader: r, num: num, shard: s, users: 1}
	s.tables[num] = x
	s.link(x)
	idle := s.overflow(s.room)
	s.mu.Unlock()
	return x, closeAll(idle)
}

// Release ends one use of the table.
func (t *Table) Release() {
	s := t.shard
	s.mu.Lock()
	t.users--
	last := t.evicted && t.users == 0
	s.mu.Unlock()
	if last {
		// Nobody is left to tell; the file was only read.
		_ = t.Reader.Close()
	}
}

// Evict closes the table num as soon as nobody uses it.
func (c *Cache) Evict(num uint64) {
	s := c.shard(num)
	s.mu.Lock()
	x := s.tables[num]
	var idle []*Table
	if x != nil {
		idle = s.drop(x, nil)
	}
	s.mu.Unlock()
	_ = closeAll(idle)
}

// closeIdle closes every table that nobody uses.
func (c *Cache) closeIdle() {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		idle := s.overflow(0)
		s.mu.Unlock()
		_ = closeAll(idle)
	}
}

// Close closes all tables, those in use too: their next read fails.
func (c *Cache) Close() error {
	var all []*Table
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.closed = true
		for _, x := range s.tables {
			all = append(all, x)
			s.unlink(x)
		}
		clear(s.tables)
		s.mu.Unlock()
	}
	return closeAll(all)
}

// overflow takes the least recently used tables that nobody uses out of the
// shard until no more than room are left. It needs mu. The caller closes them.
func (s *shard) overflow(room int) (idle []*Table) {
	for x := s.list.prev; x != &s.list && len(s.tables) > room; {
		older := x.prev
		if x.users == 0 {
			idle = s.drop(x, idle)
		}
		x = older
	}
	return idle
}

// drop takes a table out of the shard, and appends it to idle if it has no user.
// It needs mu.
func (s *shard) drop(x *Table, idle []*Table) []*Table {
	delete(s.tables, x.num)
	s.unlink(x)
	x.evicted = true
	if x.users == 0 {
		idle = append(idle, x)
	}
	return idle
}

func (s *shard) link(x *Table) {
	x.prev, x.next = &s.list, s.list.next
	x.prev.next, x.next.prev = x, x
}

func (s *shard) unlink(x *Table) { x.prev.next, x.next.prev = x.next, x.prev }

func (s *shard) touch(x *Table) {
	if s.list.next != x {
		s.unlink(x)
		s.link(x)
	}
}

func closeAll(tables []*Table) error {
	var errs []error
	for _, x := range tables {
		errs = append(errs, x.Reader.Close())
	}
	return errors.Join(errs...)
}

// NewIter returns an iterator over t, which holds the table until it is closed.
func (c *Cache) NewIter(t *manifest.TableMeta) (iterator.Iterator, error) {
	x, err := c.Acquire(t)
	if err != nil {
		return nil, err
	}
	return &tableIter{x.Reader.NewIter(), x}, nil
}

// NewCompactionIter is NewIter for one walk from front to back.
func (c *Cache) NewCompactionIter(t *manifest.TableMeta) (iterator.Iterator, error) {
	x, err := c.Acquire(t)
	if err != nil {
		return nil, err
	}
	return &tableIter{x.Reader.NewCompactionIter(), x}, nil
}

type tableIter struct {
	iterator.Iterator
	table *Table
}

func (it *tableIter) Close() error {
	err := it.Iterator.Close()
	it.table.Release()
	return err
}
