package workload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A State is how a database lies on disk when a workload begins.
type State string

const (
	// Empty has nothing in it.
	Empty State = "empty"
	// Compacted is one sorted run of all pairs.
	Compacted State = "compacted"
	// Overlapping is what the load leaves where nothing is ever compacted: some
	// ten tables, by how much memory a store takes for a pair, each of which spans
	// nearly the whole range.
	Overlapping State = "overlapping"
	// Overwritten is Compacted, and half of the pairs put again, as the store's
	// own compaction left it.
	Overwritten State = "overwritten"
	// Deleted is Compacted, and half of the keys deleted, as the store's own
	// compaction left it.
	Deleted State = "deleted"
	// Logged is what SIGKILL leaves where all pairs were put one by one and
	// nothing was flushed: see Runner.Kill.
	Logged State = "logged"
	// ManyTables is Compacted, in about 1000 tables.
	ManyTables State = "manytables"
)

// settings returns those that a database in this state is made and used with.
func (s State) settings(c *Config) Settings {
	const (
		entryOverhead = 64 // of a memtable, in bytes an entry, roughly
		tables        = 8  // or some more, where the overhead is larger
		manyTables    = 1000
		smallest      = 16 << 10
	)
	o := c.Settings
	inMemory := c.raw() + entryOverhead*int64(c.Pairs)
	switch s {
	case Overlapping:
		o.NoCompaction = true
		o.MemTableSize = max(inMemory/tables, smallest)
	case Logged:
		o.MemTableSize = max(o.MemTableSize, 2*inMemory)
	case ManyTables:
		o.TableSize = max(c.raw()/manyTables, smallest)
	default:
	}
	return o
}

// pairs returns how many there are.
func (s State) pairs(c *Config) int {
	switch s {
	case Empty:
		return 0
	case Deleted:
		return c.Pairs - half(c)
	default:
		return c.Pairs
	}
}

// A builder makes a state. It never waits for the device.
type builder struct {
	ctx   context.Context
	cfg   *Config
	keys  Keys
	store Store
	what  string
}

// build makes a state of a store in an empty directory.
func (b *builder) build(s State) error {
	switch s {
	case Empty:
		return nil
	case Overlapping:
		return b.do(func() error { return b.load(1, loaded) }, b.store.Flush)
	case Logged:
		return b.putAll()
	default:
	}
	if err := b.do(func() error { return b.load(1, loaded) }, b.store.Flush, b.store.Compact); err != nil {
		return err
	}
	switch s {
	case Overwritten:
		return b.do(func() error { return b.load(2, updated) }, b.store.Flush)
	case Deleted:
		return b.do(b.deleteHalf, b.store.Flush)
	default:
		return nil
	}
}

func (b *builder) do(steps ...func() error) error {
	for _, f := range steps {
		if err := f(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	return nil
}

// load puts every stride-th key of the load, in batches: how they came does not
// matter here, and some stores take an age by single puts.
func (b *builder) load(stride int, v version) error {
	var pairs batch
	n := b.cfg.Pairs
	for i := 0; i < n; i += stride {
		pairs.add(b.keys, i, b.cfg.ValueSize, v)
		if len(pairs.pairs) < batchSize && i+stride < n {
			continue
		}
		b.cfg.progress(b.what, i, n)
		if err := b.ctx.Err(); err != nil {
			return context.Cause(b.ctx)
		}
		if err := b.store.Apply(pairs.pairs); err != nil {
			return err
		}
		pairs.reset()
	}
	return nil
}

// putAll puts every key by itself: a log of single records takes longer to replay.
func (b *builder) putAll() error {
	var key, value []byte
	return b.each(b.cfg.Pairs, func(i int) error {
		key = b.keys.Present(key[:0], i)
		value = appendValue(value[:0], key, b.cfg.ValueSize, loaded)
		return b.store.Put(key, value, false)
	})
}

func (b *builder) deleteHalf() error {
	var key []byte
	return b.each(half(b.cfg), func(i int) error {
		key = b.keys.Present(key[:0], deletedKey(b.cfg, i))
		return b.store.Delete(key)
	})
}

// each does something n times, unless the context ends.
func (b *builder) each(n int, do func(i int) error) error {
	for i := range n {
		if i%batchSize == 0 {
			b.cfg.progress(b.what, i, n)
			if b.ctx.Err() != nil {
				return context.Cause(b.ctx)
			}
		}
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

// copyTree copies a directory and syncs the copy, so that no write to the device
// is left for the workload to wait for.
func copyTree(from, to string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return fmt.Errorf("copying a database: %w", err)
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := root.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}

// treeSize returns the sum of the sizes of a directory's files, in bytes.
func treeSize(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
