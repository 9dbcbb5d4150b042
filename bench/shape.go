package bench

import (
	"context"
	"path/filepath"

	"github.com/siftkv/sift"
)

// Shape is how a database lies on disk when it is asked.
type Shape string

// The two shapes of a run.
const (
	// Fresh is as the load left it: flushed tables, all in level 0, each of
	// which spans nearly the whole range.
	Fresh Shape = "fresh"
	// Compacted is one sorted run: a key can be in one table at most.
	Compacted Shape = "compacted"
)

const (
	// freshTables is about how many tables a load leaves. A database in use has
	// as many runs when compaction is behind.
	freshTables = 8

	entryOverhead  = 64 // of a memtable, in bytes an entry, roughly
	minMemTable    = 16 << 10
	maxMemTable    = 128 << 20
	neverInLevel0  = 1 << 20 // more tables than any load leaves
	progressPeriod = 1 << 10 // operations
)

// options returns how a database of a run is opened: as anybody would, but with
// memtables so small that the load leaves several tables, and without automatic
// compaction, so that they stay and nothing but the lookups reads the disk.
func (c *Config) options(filters bool) *sift.Options {
	o := &sift.Options{
		FS:            c.FS,
		ErrorIfExists: true,
		CacheSize:     c.CacheSize,
		MemTableSize:  c.memTableSize(),
		Filter:        sift.FilterOptions{Off: !filters},
		Compaction: sift.CompactionOptions{
			Disable: true,
			L0Slow:  neverInLevel0,
			L0Stop:  neverInLevel0,
		},
	}
	if filters {
		o.Filter.BitsPerKey = c.BitsPerKey
	}
	return o
}

func (c *Config) memTableSize() int64 {
	inMemory := c.Keys.Bytes() + entryOverhead*int64(c.Keys.Len())
	return min(max(inMemory/freshTables, minMemTable), maxMemTable)
}

// load opens an empty database, puts every key, and flushes.
func (c *Config) load(ctx context.Context, filters bool) (*sift.DB, error) {
	name, what := "filters-off", "loading without filters"
	if filters {
		name, what = "filters-on", "loading with filters"
	}
	db, err := sift.Open(filepath.Join(c.Dir, name), c.options(filters))
	if err != nil {
		return nil, err
	}
	if err := c.fill(ctx, db, what); err != nil {
		_ = db.Close() // err says more
		return nil, err
	}
	return db, nil
}

func (c *Config) fill(ctx context.Context, db *sift.DB, what string) error {
	var key, value []byte
	n := c.Keys.Len()
	for i := range n {
		if i%progressPeriod == 0 {
			c.progress(what, i, n)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		key, value = c.Keys.Present(key[:0], i), c.Keys.Value(value[:0], i)
		if err := db.Put(key, value, sift.NoSync); err != nil {
			return err
		}
	}
	return interruptible(ctx, db, db.Flush)
}

// interruptible runs a call that takes no context. When the context ends it
// closes the database under the call, which then returns.
func interruptible(ctx context.Context, db *sift.DB, call func() error) error {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = db.Close() // the cause of the context's end says more
	})
	err := call()
	if stop() {
		return err
	}
	<-closed
	return context.Cause(ctx)
}
