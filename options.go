package sift

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/compaction"
	"github.com/siftkv/sift/internal/vfs"
	"github.com/siftkv/sift/sstable"
)

// FS is the file system that a database lives in: an interface small enough to
// implement over anything that can append, rename and sync.
type FS = vfs.FS

// File is an open file of an FS.
type File = vfs.File

// NewMemFS returns an empty file system in memory. It keeps what is synced apart
// from what is not, so that a test can cut the power: see the Crash method of
// its value.
func NewMemFS() *vfs.Mem { return vfs.NewMem() }

// Options says how a database behaves. The zero value, and nil, mean the
// defaults. A field that is zero takes its default; no field is read after Open
// returns.
type Options struct {
	// FS holds the files. Default: the operating system's.
	FS FS

	// ReadOnly opens without writing a byte: the log is replayed in memory, and
	// every write is ErrReadOnly.
	ReadOnly bool
	// MustExist makes Open of a missing database ErrNotExist, instead of
	// creating it.
	MustExist bool
	// ErrorIfExists makes Open of an existing database ErrExists.
	ErrorIfExists bool

	// MemTableSize is how much memory, in bytes, the newest writes may take
	// before they are written to a table: entries, index and order counted. A
	// log is preallocated to this size. Default 64 MiB; 1 KiB to 4 GiB.
	MemTableSize int64
	// MaxMemTables is how many full memtables may wait for their flush before
	// writers have to wait too. Default 4; 1 to 64.
	MaxMemTables int

	// CacheSize is the memory, in bytes, for blocks of tables that were read.
	// Filters and indexes are not in it. Default 64 MiB; 1 keeps nothing.
	CacheSize int64
	// MaxOpenFiles bounds the tables kept open. Default 1,000; 1 or more. Tables in
	// use stay open beyond it: a compaction or an iterator uses all of level 0 and
	// one of each other level at once. If the process may not open so many, those
	// calls fail with EMFILE.
	MaxOpenFiles int

	// BlockSize is the size, in bytes before compression, at which a table's
	// block ends: what a present key costs to read. Default 4 KiB; 1 to 1 MiB.
	BlockSize int
	// TableSize is the size, in bytes, at which a compaction begins another
	// table. Default 64 MiB; 1 KiB to 4 GiB.
	TableSize int64
	// Compression of blocks. Default Snappy.
	Compression Compression

	// Filter says what the tables' filters are.
	Filter FilterOptions
	// Compaction says when tables are merged.
	Compaction CompactionOptions
	// Workers is how many compactions may run at once. Default: the number of
	// processors, at most 4; 1 to 64.
	Workers int

	// ManifestSize is the size, in bytes, at which the manifest begins anew with
	// a description of the present state. Default 4 MiB; 1 KiB to 1 GiB.
	ManifestSize int64

	// Logger gets a line for each event that an operator would want to see.
	// Default: none.
	Logger *slog.Logger
	// Events are called when something happens. Default: none.
	Events *Events
}

// Compression of a table's blocks.
type Compression uint8

const (
	// DefaultCompression is Snappy.
	DefaultCompression Compression = iota
	// Snappy keeps a block compressed where that saves an eighth or more.
	Snappy
	// NoCompression stores blocks as they are.
	NoCompression
)

// FilterOptions says what the tables' filters are. A filter answers "definitely
// not here" from memory, and is wrong about an absent key at its
// false-positive rate only; it is never wrong about a present one.
type FilterOptions struct {
	// Off builds no filters: an absent key then costs a disk read for every
	// table whose range holds it.
	Off bool
	// BitsPerKey is the filter memory, in bits for each key. 10 means about 1 %
	// false positives, 15.5 about 0.1 %. Default 10; 1 to 64. It holds for
	// tables written from now on; existing ones keep what they have.
	BitsPerKey float64
}

// CompactionOptions says when tables are merged. Level 0 holds flushed tables,
// whose ranges overlap; each level below is one sorted run.
type CompactionOptions struct {
	// Disable stops automatic compaction. Compact still works.
	Disable bool
	// L0Compact, L0Slow and L0Stop are the numbers of tables in level 0 from
	// which they are compacted, writers are slowed, and writers wait. Defaults
	// 4, 12 and 20.
	L0Compact, L0Slow, L0Stop int
	// BaseLevelSize is the target, in bytes, of the first level below 0 that
	// holds data. Default 256 MiB; 1 KiB or more.
	BaseLevelSize int64
	// Multiplier is how much larger each level is than the one above. Default
	// 10; 2 to 100.
	Multiplier int
}

// WriteOptions says what an acknowledged write survives.
type WriteOptions struct {
	// Sync: a power cut. Otherwise: the end of this process, kill -9 included.
	Sync bool
}

var (
	// Sync makes a write wait until it survives a power cut. It is the default.
	Sync = &WriteOptions{Sync: true}
	// NoSync makes a write wait only until it survives the end of this process.
	// SyncWAL makes all of them survive a power cut.
	NoSync = &WriteOptions{Sync: false}
)

// defaultWorkers bounds what compactions take of a large machine.
const defaultWorkers = 4

// withDefaults returns a copy in which no zero is left that means a default.
func (o *Options) withDefaults() Options {
	var c Options
	if o != nil {
		c = *o
	}
	if c.FS == nil {
		c.FS = vfs.OS()
	}
	setDefault(&c.MemTableSize, 64<<20)
	setDefault(&c.MaxMemTables, 4)
	setDefault(&c.CacheSize, 64<<20)
	setDefault(&c.MaxOpenFiles, 1000)
	setDefault(&c.BlockSize, 4<<10)
	setDefault(&c.TableSize, 64<<20)
	setDefault(&c.Compression, Snappy)
	setDefault(&c.Filter.BitsPerKey, 10)
	setDefault(&c.Compaction.L0Compact, 4)
	setDefault(&c.Compaction.L0Slow, max(12, c.Compaction.L0Compact))
	setDefault(&c.Compaction.L0Stop, max(20, c.Compaction.L0Slow))
	setDefault(&c.Compaction.BaseLevelSize, 256<<20)
	setDefault(&c.Compaction.Multiplier, 10)
	setDefault(&c.Workers, min(runtime.GOMAXPROCS(0), defaultWorkers))
	setDefault(&c.ManifestSize, 4<<20)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Events == nil {
		c.Events = new(Events)
	}
	return c
}

func setDefault[T comparable](p *T, def T) {
	var zero T
	if *p == zero {
		*p = def
	}
}

// validate lists every fault of options that have their defaults.
func (o *Options) validate() error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%w: "+format, append([]any{ErrInvalidOption}, args...)...))
	}
	between := func(name string, v, lo, hi int64) {
		if v < lo || v > hi {
			fault("%s is %d; it must be from %d to %d", name, v, lo, hi)
		}
	}
	between("MemTableSize", o.MemTableSize, 1<<10, 4<<30)
	between("MaxMemTables", int64(o.MaxMemTables), 1, 64)
	between("CacheSize", o.CacheSize, 1, math.MaxInt64)
	between("MaxOpenFiles", int64(o.MaxOpenFiles), 1, math.MaxInt32)
	between("BlockSize", int64(o.BlockSize), 1, 1<<20)
	between("TableSize", o.TableSize, 1<<10, 4<<30)
	between("Compression", int64(o.Compression), int64(Snappy), int64(NoCompression))
	between("Compaction.L0Compact", int64(o.Compaction.L0Compact), 1, math.MaxInt32)
	between("Compaction.L0Slow", int64(o.Compaction.L0Slow), 1, math.MaxInt32)
	between("Compaction.L0Stop", int64(o.Compaction.L0Stop), 1, math.MaxInt32)
	between("Compaction.BaseLevelSize", o.Compaction.BaseLevelSize, 1<<10, math.MaxInt64)
	between("Compaction.Multiplier", int64(o.Compaction.Multiplier), 2, 100)
	between("Workers", int64(o.Workers), 1, 64)
	between("ManifestSize", o.ManifestSize, 1<<10, 1<<30)
	if b := o.Filter.BitsPerKey; !(b >= 1 && b <= 64) {
		fault("Filter.BitsPerKey is %v; it must be from 1 to 64, or set Filter.Off", b)
	}
	if o.Compaction.L0Slow < o.Compaction.L0Compact || o.Compaction.L0Stop < o.Compaction.L0Slow {
		fault("Compaction.L0Compact, L0Slow and L0Stop are %d, %d and %d; none may be smaller than the one before",
			o.Compaction.L0Compact, o.Compaction.L0Slow, o.Compaction.L0Stop)
	}
	if o.ErrorIfExists && (o.ReadOnly || o.MustExist) {
		fault("ErrorIfExists contradicts ReadOnly and MustExist")
	}
	return errors.Join(faults...)
}

// tableOptions says how tables are written.
func (o *Options) tableOptions() sstable.WriterOptions {
	w := sstable.WriterOptions{
		BlockSize:       o.BlockSize,
		RestartInterval: 16,
		Compression:     sstable.Snappy,
		FilterKind:      bloom.Blocked,
		BitsPerKey:      o.Filter.BitsPerKey,
	}
	if o.Compression == NoCompression {
		w.Compression = sstable.NoCompression
	}
	if o.Filter.Off {
		w.BitsPerKey = 0
	}
	return w
}

// pickerOptions says when tables are compacted.
func (o *Options) pickerOptions() compaction.Options {
	return compaction.Options{
		L0Compact:     o.Compaction.L0Compact,
		L0Slow:        o.Compaction.L0Slow,
		L0Stop:        o.Compaction.L0Stop,
		BaseLevelSize: o.Compaction.BaseLevelSize,
		Multiplier:    o.Compaction.Multiplier,
		TableSize:     o.TableSize,
	}
}
