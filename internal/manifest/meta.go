package manifest

import (
	"bytes"
	"fmt"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/sstable"
)

// TableMeta is what the manifest knows of one table: enough to plan memory,
// choose compactions and answer "cannot be in there" without opening the file.
//
// Invariants:
//  1. Smallest <= Largest, and every version in the table lies between them; the
//     span of a range deletion counts.
//  2. MinSeq <= MaxSeq, over all entries.
//  3. Num names the file for as long as it exists; ID is random and stands in
//     every block, so that a swapped or reused file is found out.
//
// A TableMeta is immutable from the moment that a Version holds it, and shared
// by all versions that do. Any goroutine may read it.
type TableMeta struct {
	Num  uint64 // file number
	ID   uint64 // random identity, part of the file's checksums
	Size int64  // bytes

	// Bounds, inclusive. The table owns their bytes.
	Smallest, Largest key.Internal

	Entries       uint64 // versions of single keys
	Deletes       uint64 // tombstones of single keys
	RangeDeletes  uint64 // apart from Entries
	RawKeyBytes   uint64 // user keys and trailers, before compression
	RawValueBytes uint64
	MinSeq        uint64
	MaxSeq        uint64

	FilterOff uint64 // where the filter block lies in the file
	FilterLen uint64 // 0: the table has no filter
	TailOff   uint64 // where the data blocks end

	Sum sstable.Sum // conservation sum of entries and range deletions

	// Filter is the resident filter, set before the table joins a Version. Nil
	// says "maybe" to every key. It is not part of the manifest.
	Filter *bloom.Filter
}

// NewTableMeta describes a finished table under the file number num. The
// result shares the bounds with info. The filter is not opened.
func NewTableMeta(num uint64, info sstable.Info) *TableMeta {
	return &TableMeta{
		Num:           num,
		ID:            info.ID,
		Size:          int64(info.Size),
		Smallest:      info.Smallest,
		Largest:       info.Largest,
		Entries:       info.Entries,
		Deletes:       info.Deletes,
		RangeDeletes:  info.RangeDeletes,
		RawKeyBytes:   info.RawKeyBytes,
		RawValueBytes: info.RawValueBytes,
		MinSeq:        info.MinSeq,
		MaxSeq:        info.MaxSeq,
		FilterOff:     info.Filter.Off,
		FilterLen:     info.Filter.Len,
		TailOff:       info.TailOff,
		Sum:           info.Sum,
	}
}

// Overlaps reports whether the table may hold a key in [lo, hi]. A nil bound is
// open.
func (t *TableMeta) Overlaps(lo, hi []byte) bool {
	return (hi == nil || bytes.Compare(t.Smallest.User, hi) <= 0) &&
		(lo == nil || bytes.Compare(t.Largest.User, lo) >= 0)
}

func (t *TableMeta) String() string {
	return fmt.Sprintf("%06d:[%v, %v]", t.Num, t.Smallest, t.Largest)
}

// check returns what is impossible about the table's record, or nil.
func (t *TableMeta) check() error {
	size := uint64(t.Size)
	switch {
	case t.Num == 0 || t.Num > MaxFileNum:
		return fmt.Errorf("table has file number %d", t.Num)
	case t.Size <= 0:
		return fmt.Errorf("table %06d has size %d", t.Num, t.Size)
	case key.Compare(t.Smallest, t.Largest) > 0:
		return fmt.Errorf("table %06d: smallest key %v is after largest %v", t.Num, t.Smallest, t.Largest)
	case len(t.Smallest.User) > key.MaxKeyLen || len(t.Largest.User) > key.MaxKeyLen:
		return fmt.Errorf("table %06d has a key over %d bytes", t.Num, key.MaxKeyLen)
	case t.MinSeq > t.MaxSeq || t.MaxSeq > key.MaxSeq:
		return fmt.Errorf("table %06d has sequence numbers %d to %d", t.Num, t.MinSeq, t.MaxSeq)
	case t.Deletes > t.Entries:
		return fmt.Errorf("table %06d has %d tombstones in %d entries", t.Num, t.Deletes, t.Entries)
	case t.TailOff > size || t.FilterOff > size || t.FilterLen > size-t.FilterOff:
		return fmt.Errorf("table %06d of %d bytes: filter at %d+%d, tail at %d",
			t.Num, t.Size, t.FilterOff, t.FilterLen, t.TailOff)
	}
	return nil
}
