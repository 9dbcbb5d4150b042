package sift

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/siftkv/sift/internal/coding"
	"github.com/siftkv/sift/internal/key"
)

// A Batch collects writes that Apply then makes visible, and durable, all at
// once or not at all. Later writes of a key win over earlier ones. A Batch may
// be applied more than once. It is for one goroutine at a time.
//
// It is kept in the form in which the log stores it:
//
//	batch = seq (u64) count (u32) entry*
//	entry = kind (u8) keylen (uvarint) key                          kind: delete
//	      | kind (u8) keylen (uvarint) key vallen (uvarint) value   kind: set
//
// The high bit of kind is kept free for a keyspace number to follow it.
type Batch struct {
	rep []byte // at least batchHeader long once something was added
}

const batchHeader = 12

// Put adds "key has this value". The batch copies both. A nil value is an empty
// value. A key, value or batch over its limit is ErrTooLarge: nothing is added
// and the batch stays usable.
func (b *Batch) Put(k, value []byte) error {
	if err := checkSizes(k, value); err != nil {
		return err
	}
	if err := b.grow(len(k) + len(value)); err != nil {
		return err
	}
	b.rep = append(b.rep, byte(key.Set))
	b.rep = coding.AppendBytes(b.rep, k)
	b.rep = coding.AppendBytes(b.rep, value)
	return nil
}

// Delete adds "key has no value". Its errors are those of Put.
func (b *Batch) Delete(k []byte) error {
	if err := checkSizes(k, nil); err != nil {
		return err
	}
	if err := b.grow(len(k)); err != nil {
		return err
	}
	b.rep = append(b.rep, byte(key.Delete))
	b.rep = coding.AppendBytes(b.rep, k)
	return nil
}

// Len returns the number of writes in the batch.
func (b *Batch) Len() int {
	if len(b.rep) == 0 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(b.rep[8:]))
}

// Size returns the encoded size in bytes, which MaxBatchLen limits.
func (b *Batch) Size() int { return len(b.rep) }

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	if len(b.rep) > 0 {
		b.rep = b.rep[:batchHeader]
		clear(b.rep)
	}
}

// entryOverhead bounds what an entry takes beside its key and value.
const entryOverhead = 1 + binary.MaxVarintLen32 + binary.MaxVarintLen32

// grow counts one more entry of n payload bytes, or refuses it.
func (b *Batch) grow(n int) error {
	if len(b.rep) == 0 {
		b.rep = append(b.rep, make([]byte, batchHeader)...)
	}
	if len(b.rep)+n+entryOverhead > MaxBatchLen {
		return fmt.Errorf("%w: batch of %d bytes has no room for %d more (limit %d): apply it and go on with a new one",
			ErrTooLarge, len(b.rep), n, MaxBatchLen)
	}
	binary.LittleEndian.PutUint32(b.rep[8:], uint32(b.Len()+1))
	return nil
}

func checkSizes(k, value []byte) error {
	if len(k) > MaxKeyLen {
		return fmt.Errorf("%w: key of %d bytes (limit %d)", ErrTooLarge, len(k), MaxKeyLen)
	}
	if len(value) > MaxValueLen {
		return fmt.Errorf("%w: value of %d bytes (limit %d)", ErrTooLarge, len(value), MaxValueLen)
	}
	return nil
}

// setSeq stamps the sequence number of the first entry. Entry i has seq+i.
func (b *Batch) setSeq(seq uint64) { binary.LittleEndian.PutUint64(b.rep, seq) }

// memSize bounds the memtable space that the batch's entries need.
func (b *Batch) memSize() int64 { return int64(len(b.rep)) + 64*int64(b.Len()) }

// A batchReader walks the entries of an encoded batch, which may be hostile.
type batchReader struct {
	seq   uint64
	count uint32
	d     coding.Decoder
}

// readBatch reads the header of an encoded batch.
func readBatch(rep []byte) (batchReader, error) {
	d := coding.NewDecoder(rep)
	r := batchReader{seq: d.Uint64(), count: d.Uint32()}
	r.d = d
	if d.Err() != nil {
		return r, fmt.Errorf("batch header %w", d.Err())
	}
	if r.seq == 0 || r.seq+uint64(r.count) > key.MaxSeq {
		return r, fmt.Errorf("batch with sequence number %d and %d entries", r.seq, r.count)
	}
	return r, nil
}

// next returns the next entry. It reports false at the end, where the error
// says whether the batch held exactly what its header promised. The slices
// alias the batch.
func (r *batchReader) next() (k key.Internal, value []byte, ok bool, err error) {
	if r.count == 0 {
		if err := r.d.Finish(); err != nil {
			return k, nil, false, fmt.Errorf("batch with %d bytes after its last entry", r.d.Len())
		}
		return k, nil, false, nil
	}
	kind := key.Kind(r.d.Uint8())
	k = key.Make(r.d.Bytes(), r.seq, kind)
	switch kind {
	case key.Delete:
	case key.Set:
		value = r.d.Bytes()
	default:
		if r.d.Err() == nil {
			return k, nil, false, fmt.Errorf("%w: batch entry of %v; this release knows set and delete", ErrVersion, kind)
		}
	}
	if err := r.d.Err(); err != nil {
		return k, nil, false, fmt.Errorf("batch entry %w", err)
	}
	if len(k.User) > MaxKeyLen || len(value) > MaxValueLen {
		return k, nil, false, fmt.Errorf("batch entry with a key of %d and a value of %d bytes", len(k.User), len(value))
	}
	r.seq++
	r.count--
	return k, value, true, nil
}

// batchPool holds the one-entry batches of Put and Delete.
var batchPool = sync.Pool{New: func() any { return new(Batch) }}

// maxPooledBatch keeps one huge value from pinning its memory for ever.
const maxPooledBatch = 64 << 10

func putBatch(b *Batch) {
	if cap(b.rep) <= maxPooledBatch {
		b.Reset()
		batchPool.Put(b)
	}
}
