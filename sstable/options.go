package sstable

import (
	"fmt"
	"sync/atomic"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/internal/cache"
	"github.com/siftkv/sift/internal/key"
)

// Defaults and limits of WriterOptions.
const (
	DefaultBlockSize       = 4 << 10
	MaxBlockSize           = 1 << 20
	DefaultRestartInterval = 16
	MaxRestartInterval     = 1 << 10
)

// WriterOptions say how a table is written. The zero value of each field but ID
// is valid.
type WriterOptions struct {
	// ID names the table for ever. It must be random and not 0: checksums and
	// cache entries rely on no other table having it.
	ID uint64
	// BlockSize is the most bytes that a data block takes before compression,
	// its trailer included, unless a single entry is larger. 0 means
	// DefaultBlockSize; at most MaxBlockSize.
	BlockSize int
	// RestartInterval is the number of entries from one whole key to the next.
	// 0 means DefaultRestartInterval; at most MaxRestartInterval.
	RestartInterval int
	// Compression of the data blocks, the index and the properties. A block
	// that would not shrink by an eighth is stored as it is.
	Compression Compression
	// FilterKind and BitsPerKey design the filter. 0 bits: no filter.
	FilterKind bloom.Kind
	BitsPerKey float64
}

// check fills in defaults. Its error names every fault.
func (o *WriterOptions) check() error {
	if o.BlockSize == 0 {
		o.BlockSize = DefaultBlockSize
	}
	if o.RestartInterval == 0 {
		o.RestartInterval = DefaultRestartInterval
	}
	faults := ""
	if o.ID == 0 {
		faults += "; ID is 0"
	}
	if o.BlockSize < 0 || o.BlockSize > MaxBlockSize {
		faults += fmt.Sprintf("; BlockSize %d is not in [1, %d]", o.BlockSize, MaxBlockSize)
	}
	if o.RestartInterval < 0 || o.RestartInterval > MaxRestartInterval {
		faults += fmt.Sprintf("; RestartInterval %d is not in [1, %d]", o.RestartInterval, MaxRestartInterval)
	}
	if o.Compression > Snappy {
		faults += fmt.Sprintf("; Compression %d is unknown", o.Compression)
	}
	if faults != "" {
		return fmt.Errorf("%w: table writer%s", key.ErrInvalidOption, faults)
	}
	return nil
}

// ReaderOptions say what is known of a table before it is opened. The zero
// value knows nothing, which costs a second read.
type ReaderOptions struct {
	// Name of the file, for errors.
	Name string
	// Cache keeps decoded blocks. nil: none are kept.
	Cache *cache.Cache
	// Stats counts what is read. nil: nothing is counted.
	Stats *Stats

	// What the manifest recorded; a file that disagrees is corrupt. 0: unknown.
	ID      uint64
	Size    int64 // bytes
	TailOff int64
	// Filter's place, if there is one, lets Open skip it.
	Filter Handle
}

// Stats counts fetches of bytes from table files: blocks, tails and filters. It
// is safe for use by several goroutines and may be shared by any number of
// tables.
type Stats struct {
	Reads atomic.Uint64 // read calls
	Bytes atomic.Uint64 // bytes that they returned
}
