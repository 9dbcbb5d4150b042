package sstable

import (
	"encoding/binary"
	"math/bits"

	"github.com/siftkv/sift/internal/key"
)

// A data block's body is entries, then the offsets of the restarts:
//
//	body    = entry … entry | restart u32 … restart u32 | restarts u32
//	entry   = shared uvarint     bytes of the user key taken from the entry before
//	        | unshared uvarint   bytes of the user key that follow here
//	        | valueLen uvarint
//	        | trailer u64        sequence number<<8 | kind
//	        | unshared bytes of the user key
//	        | value
//	restart = offset of an entry whose shared is 0; the first restart is 0
//
// Apart from restarts, shared is as large as possible: a search relies on the
// first unshared byte being another one than the key before has there.
//
// A block holds at least one entry. The range deletion block is of the same
// form, its keys the starts and its values the ends of ranges.

// blockWriter collects one block at a time. The buffer is used again for the
// next one.
type blockWriter struct {
	interval int // entries from one restart to the next
	buf      []byte
	restarts []uint32
	entries  int
}

// add appends an entry. shared is the number of bytes that user has in common
// with the user key added before, to this block or the last one.
func (w *blockWriter) add(user []byte, t key.Trailer, value []byte, shared int) {
	if w.entries%w.interval == 0 {
		shared = 0
		w.restarts = append(w.restarts, uint32(len(w.buf)))
	}
	w.entries++
	b := w.buf
	if len(value) < 0x80 && len(user) < 0x80 {
		b = append(b, byte(shared), byte(len(user)-shared), byte(len(value)))
	} else {
		b = binary.AppendUvarint(b, uint64(shared))
		b = binary.AppendUvarint(b, uint64(len(user)-shared))
		b = binary.AppendUvarint(b, uint64(len(value)))
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(t))
	b = append(b, user[shared:]...)
	w.buf = append(b, value...)
}

// empty reports whether the block has no entry yet.
func (w *blockWriter) empty() bool { return w.entries == 0 }

// size returns the length that the body would have if it ended now.
func (w *blockWriter) size() int { return len(w.buf) + 4*len(w.restarts) + 4 }

// sizeWith returns what size would be with one more entry, whose user key has
// shared bytes in common with the one before.
func (w *blockWriter) sizeWith(user, value, shared int) int {
	n := w.size()
	if w.entries%w.interval == 0 {
		shared = 0
		n += 4
	}
	return n + uvarintLen(shared) + uvarintLen(user-shared) + uvarintLen(value) +
		key.TrailerLen + user - shared + value
}

func uvarintLen(n int) int { return (bits.Len(uint(n)|1) + 6) / 7 }

// finish returns the body, which is valid until reset.
func (w *blockWriter) finish() []byte {
	for _, r := range w.restarts {
		w.buf = binary.LittleEndian.AppendUint32(w.buf, r)
	}
	w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(len(w.restarts)))
	return w.buf
}

// reset makes the writer ready for the next block. A buffer that a huge value
// has grown is let go.
func (w *blockWriter) reset() {
	if cap(w.buf) > maxKeptBuffer {
		w.buf = nil
	}
	w.buf, w.restarts, w.entries = w.buf[:0], w.restarts[:0], 0
}
