package sstable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/golang/snappy"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/internal/invariants"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

const (
	// flushBytes is how much is collected before it is handed to the file.
	flushBytes = 256 << 10
	// maxKeptBuffer is the largest buffer that is kept for the next block.
	maxKeptBuffer = 4 << 20
)

var errFinished = errors.New("sstable: the table is finished")

// Info describes a finished table. It is what the manifest records, and owns
// what it holds.
type Info struct {
	Properties
	ID         uint64
	Size       uint64 // bytes of the file
	TailOff    uint64 // where the data blocks end
	Filter     Handle // Len is 0 if there is no filter
	FilterData []byte // the encoded filter, so that nobody needs to read it back
}

// A Writer writes one table. It is for one goroutine. After an error every
// method returns that error; the caller removes the file.
type Writer struct {
	f   vfs.File
	o   WriterOptions
	err error // sticky

	out []byte // encoded, not handed to the file yet
	off uint64 // file offset behind out

	data   blockWriter
	ranges rangeWriter
	index  indexWriter
	filter *bloom.Builder // nil: no filter

	last        []byte // user key of the last entry, owned
	lastTrailer key.Trailer
	lastHash    uint64
	sep         []byte // scratch
	props       Properties
}

// NewWriter returns a Writer that appends a table to the empty file f. Invalid
// options show at the first call.
func NewWriter(f vfs.File, o WriterOptions) *Writer {
	w := &Writer{f: f, err: o.check(), o: o}
	if w.err == nil && o.BitsPerKey != 0 {
		w.filter, w.err = bloom.NewBuilder(o.FilterKind, o.BitsPerKey)
	}
	w.o = o
	w.data.interval = o.RestartInterval
	w.ranges.block.interval = 1
	return w
}

// Add appends an entry. Entries come in strictly ascending order of internal
// keys; range deletions are apart and come in an order of their own. The caller
// may change key and value after the call.
func (w *Writer) Add(k key.Internal, value []byte) error {
	if w.err == nil {
		w.err = checkLimits(k, value)
	}
	if w.err != nil {
		return w.err
	}
	if k.Trailer.Kind() == key.RangeDelete {
		w.err = w.addRange(k, value)
	} else {
		w.err = w.addEntry(k, value)
	}
	return w.err
}

func checkLimits(k key.Internal, value []byte) error {
	switch {
	case len(k.User) > key.MaxKeyLen:
		return fmt.Errorf("%w: key of %d bytes, the limit is %d", key.ErrTooLarge, len(k.User), key.MaxKeyLen)
	case len(value) > key.MaxValueLen:
		return fmt.Errorf("%w: value of %d bytes, the limit is %d", key.ErrTooLarge, len(value), key.MaxValueLen)
	case !k.Trailer.Kind().Known():
		return fmt.Errorf("%w: table entry of %s", key.ErrVersion, k.Trailer.Kind())
	}
	return nil
}

func (w *Writer) addEntry(k key.Internal, value []byte) error {
	shared := key.CommonPrefix(w.last, k.User)
	sameUser := shared == len(w.last) && shared == len(k.User) && w.props.Entries > 0
	if w.props.Entries > 0 && !w.ascends(k, shared, sameUser) {
		return outOfOrder(key.Internal{User: w.last, Trailer: w.lastTrailer}, k)
	}
	if !w.data.empty() && w.data.sizeWith(len(k.User), len(value), shared)+blockTrailerLen > w.o.BlockSize {
		if err := w.finishData(&k); err != nil {
			return err
		}
	}
	w.data.add(k.User, k.Trailer, value, shared)
	if !sameUser {
		w.lastHash = bloom.Hash(k.User)
		if w.filter != nil {
			w.filter.Add(w.lastHash)
		}
	}
	w.count(k, value)
	w.last = append(w.last[:shared], k.User[shared:]...)
	w.lastTrailer = k.Trailer
	return nil
}

// ascends reports whether k is after the last entry, with whose user key it
// has shared bytes in common.
func (w *Writer) ascends(k key.Internal, shared int, sameUser bool) bool {
	if sameUser {
		return k.Trailer < w.lastTrailer
	}
	return shared == len(w.last) || shared < len(k.User) && w.last[shared] < k.User[shared]
}

// ErrEntry is the error for an entry that cannot stand where it was added. Whoever
// merges tables gets it if one of them is not what it should be.
var ErrEntry = errors.New("sstable: entry in a wrong place")

func outOfOrder(last, k key.Internal) error {
	err := fmt.Errorf("%w: %v is not after %v", ErrEntry, k, last)
	if invariants.Enabled {
		panic("BUG: " + err.Error())
	}
	return err
}

// count keeps the properties of an entry whose hash is lastHash.
func (w *Writer) count(k key.Internal, value []byte) {
	p := &w.props
	if p.Entries == 0 {
		p.Smallest = k.Clone()
	}
	p.Entries++
	if k.Trailer.Kind() == key.Delete {
		p.Deletes++
	}
	p.addAny(k, value)
	p.Sum.addHashed(w.lastHash, k.Trailer, value)
}

// addAny counts what entries and range deletions have in common.
func (p *Properties) addAny(k key.Internal, value []byte) {
	seq := k.Trailer.Seq()
	if p.Kinds == 0 || seq < p.MinSeq {
		p.MinSeq = seq
	}
	p.MaxSeq = max(p.MaxSeq, seq)
	p.Kinds |= 1 << k.Trailer.Kind()
	p.RawKeyBytes += uint64(len(k.User)) + key.TrailerLen
	p.RawValueBytes += uint64(len(value))
}

// finishData ends the data block before the entry next; nil at the end.
func (w *Writer) finishData(next *key.Internal) error {
	w.sep = w.sep[:0]
	var t key.Trailer // covers all versions
	switch {
	case next == nil:
		w.sep = append(w.sep, w.last...)
	case string(w.last) == string(next.User):
		w.sep, t = append(w.sep, w.last...), w.lastTrailer
	default:
		w.sep = appendSeparator(w.sep, w.last, next.User)
	}
	h, err := w.writeBlock(w.data.finish(), roleData, w.o.Compression)
	w.index.add(w.sep, t, h.Len)
	w.data.reset()
	w.props.DataBlocks++
	return err
}

// writeBlock appends a block to the file.
func (w *Writer) writeBlock(body []byte, r role, c Compression) (Handle, error) {
	start := len(w.out)
	c = w.appendBody(body, c)
	w.out = append(w.out, blockType(r, c))
	w.out = binary.LittleEndian.AppendUint32(w.out, blockCheck(w.out[start:], w.o.ID, w.off))
	h := Handle{w.off, uint64(len(w.out) - start)}
	w.off = h.end()
	if len(w.out) < flushBytes {
		return h, nil
	}
	return h, w.flush()
}

// appendBody appends body to out, compressed if that is worth it, and returns
// how it did.
func (w *Writer) appendBody(body []byte, c Compression) Compression {
	if c == Snappy {
		start, room := len(w.out), snappy.MaxEncodedLen(len(body))
		w.out = slices.Grow(w.out, room+blockTrailerLen)
		encoded := snappy.Encode(w.out[start:start+room], body)
		if len(encoded) <= len(body)-len(body)/8 {
			w.out = w.out[:start+len(encoded)]
			return Snappy
		}
	}
	w.out = append(w.out, body...)
	return NoCompression
}

// flush hands what is encoded to the file.
func (w *Writer) flush() error {
	if err := w.f.Append(w.out); err != nil {
		return fmt.Errorf("sstable: write table %016x before offset %d: %w", w.o.ID, w.off, err)
	}
	if cap(w.out) > maxKeptBuffer {
		w.out = nil
	}
	w.out = w.out[:0]
	return nil
}

// EstimatedSize returns about how many bytes the file would have if the table
// were finished now, with the current block not yet compressed.
func (w *Writer) EstimatedSize() int64 {
	n := int64(w.off) + int64(w.data.size()+w.index.size()+w.ranges.block.size()) + footerLen
	if w.filter != nil {
		n += int64(float64(w.filter.Len()) * w.o.BitsPerKey / 8)
	}
	return n
}
