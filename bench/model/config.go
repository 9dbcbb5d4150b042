package model

import (
	"errors"
	"fmt"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/compaction"
	"github.com/siftkv/sift/sstable"
)

// Config is a load, and the options of the database that takes it. Sizes are in
// bytes. The writer is one that compactions keep up with: it waits after each flush
// until none is due.
type Config struct {
	Keys       uint64  // distinct ones, each put once
	Overwrites float64 // then keys drawn at random are put again, so many times Keys
	Sequential bool    // the first puts come in key order, and not in random order

	KeySize   int // at least MinKeySize
	ValueSize int
	// ValueRatio is what compression leaves of a value: 0.5 is half. 1 means that
	// values do not compress.
	ValueRatio float64

	MemTableSize int64
	TableSize    int64
	BlockSize    int
	// Tree says when tables are compacted. Its TableSize is not used.
	Tree compaction.Options
	// Workers is how many compactions may run at once, and into how many parts one
	// is cut.
	Workers int
	// MaxOpenFiles is how many tables stay open: asking another one costs a read
	// more.
	MaxOpenFiles int
	BitsPerKey   float64 // of filters; 0: none
}

// Limits of what can be asked.
const (
	// MinKeySize leaves no doubt that keys are distinct.
	MinKeySize = 8
	MaxKeys    = 1_000_000_000_000_000
)

// Default returns the options that a database has unless told otherwise, and keys
// and values as kvbench makes them.
func Default() Config {
	return Config{
		Keys: 1_000_000, KeySize: 16, ValueSize: 100, ValueRatio: 0.5,
		MemTableSize: 64 << 20, TableSize: 64 << 20, BlockSize: sstable.DefaultBlockSize,
		Tree: compaction.Options{}.WithDefaults(), Workers: 1, MaxOpenFiles: 1000, BitsPerKey: 10,
	}
}

// Validate lists every fault.
func (c *Config) Validate() error {
	var faults []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("model: "+format, args...))
		}
	}
	check(c.Keys <= MaxKeys, "%d keys; want at most %d", c.Keys, int64(MaxKeys))
	check(c.Overwrites >= 0 && c.Overwrites <= 1000, "overwritten %v times; want 0 to 1000", c.Overwrites)
	check(c.KeySize >= MinKeySize && c.KeySize <= 65_535, "keys of %d bytes; want %d to 65535", c.KeySize, MinKeySize)
	check(c.ValueSize >= 0 && c.ValueSize <= 1<<20, "values of %d bytes; want 0 to 1 MiB", c.ValueSize)
	check(c.ValueRatio > 0 && c.ValueRatio <= 1, "values compressed to %v; want more than 0, at most 1", c.ValueRatio)
	check(c.MemTableSize >= 1<<10 && c.MemTableSize <= 4<<30, "a memtable of %d bytes; want 1 KiB to 4 GiB", c.MemTableSize)
	check(c.TableSize >= 1<<10 && c.TableSize <= 4<<30, "tables of %d bytes; want 1 KiB to 4 GiB", c.TableSize)
	check(c.BlockSize >= 1 && c.BlockSize <= sstable.MaxBlockSize, "blocks of %d bytes; want 1 to %d", c.BlockSize, sstable.MaxBlockSize)
	check(c.Workers >= 1 && c.Workers <= 64, "%d workers; want 1 to 64", c.Workers)
	check(c.MaxOpenFiles >= 1, "%d open files; want 1 or more", c.MaxOpenFiles)
	check(c.BitsPerKey >= 0 && c.BitsPerKey <= bloom.MaxBitsPerKey, "%v bits a key; want 0 to %d", c.BitsPerKey, bloom.MaxBitsPerKey)
	return errors.Join(faults...)
}

// tree returns the options for the picker.
func (c *Config) tree() compaction.Options {
	o := c.Tree
	o.TableSize = c.TableSize
	return o.WithDefaults()
}

// puts returns how many writes the load is.
func (c *Config) puts() float64 { return float64(c.Keys) * (1 + c.Overwrites) }

// pairBytes is what a user puts at once.
func (c *Config) pairBytes() float64 { return float64(c.KeySize + c.ValueSize) }
