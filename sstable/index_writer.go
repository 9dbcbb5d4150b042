package sstable

import (
	"encoding/binary"

	"github.com/siftkv/sift/internal/coding"
	"github.com/siftkv/sift/internal/key"
)

// The index block's body names every data block by a separator, in order:
//
//	body  = blocks uvarint | prefixLen uvarint | prefix | entry … entry
//	entry = suffixLen uvarint | suffix   the separator's user key after prefix
//	      | place uvarint                the data block's length<<2 | flags
//	      | trailer u64                  if flag 1 is set
//	flags = 1 the separator has a trailer
//	        2 its user key is that of the entry before; suffix is empty
//
// prefix is what all separators have in common. The data blocks fill the file
// from offset 0 on, so their lengths,
// block trailers included, give their offsets.
//
// A separator is at or after the last internal key of its block and before the
// first of the next one. Between two user keys it is the shortest user key that
// will do, and covers all versions of it. Where versions of one user key go on
// in the next block, it is the exact internal key of the block's last entry.
// The last separator is the last user key.
const (
	indexHasTrailer = 1
	indexSameKey    = 2
)

// indexWriter collects the separators of a table.
type indexWriter struct {
	keys    []byte // the separators' user keys, joined
	entries []indexEntry
}

type indexEntry struct {
	keyEnd   int // in keys; equal to the one before if sameKey
	sameKey  bool
	trailer  key.Trailer // 0: all versions
	blockLen uint64
}

// add enters a block. A trailer of 0 covers all versions of the separator.
func (w *indexWriter) add(sep []byte, t key.Trailer, blockLen uint64) {
	n := len(w.entries)
	same := n > 0 && string(w.key(n-1)) == string(sep)
	if !same {
		w.keys = append(w.keys, sep...)
	}
	w.entries = append(w.entries, indexEntry{len(w.keys), same, t, blockLen})
}

// key returns the user key of the i-th separator.
func (w *indexWriter) key(i int) []byte {
	for w.entries[i].sameKey {
		i--
	}
	start := 0
	if i > 0 {
		start = w.entries[i-1].keyEnd
	}
	return w.keys[start:w.entries[i].keyEnd]
}

// size returns about what the body will take.
func (w *indexWriter) size() int { return len(w.keys) + 4*len(w.entries) }

// encode returns the body.
func (w *indexWriter) encode() []byte {
	var dst []byte
	dst = binary.AppendUvarint(dst, uint64(len(w.entries)))
	skip := w.commonPrefix()
	dst = coding.AppendBytes(dst, w.keys[:skip])
	start := 0
	for _, e := range w.entries {
		dst = w.appendEntry(dst, e, start+skip)
		start = e.keyEnd
	}
	return dst
}

// appendEntry appends one entry; its suffix begins at suffixStart in keys.
func (w *indexWriter) appendEntry(dst []byte, e indexEntry, suffixStart int) []byte {
	var flags uint64
	var suffix []byte
	if e.sameKey {
		flags |= indexSameKey
	} else {
		suffix = w.keys[suffixStart:e.keyEnd]
	}
	if e.trailer != 0 {
		flags |= indexHasTrailer
	}
	dst = coding.AppendBytes(dst, suffix)
	dst = binary.AppendUvarint(dst, e.blockLen<<2|flags)
	if e.trailer != 0 {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(e.trailer))
	}
	return dst
}

// commonPrefix returns how many bytes all separators have in common, which are
// those of the first and the last, as they are sorted.
func (w *indexWriter) commonPrefix() int {
	if len(w.entries) == 0 {
		return 0
	}
	return key.CommonPrefix(w.key(0), w.key(len(w.entries)-1))
}

// appendSeparator appends the shortest user key s with last <= s < next, for
// last < next.
func appendSeparator(dst, last, next []byte) []byte {
	n := key.CommonPrefix(last, next)
	if n == len(last) {
		return append(dst, last...)
	}
	// last and next differ at byte n. The first n+1 bytes of next are after
	// last; unless they are all of next, they are also before it.
	if n+1 < len(next) {
		return append(dst, next[:n+1]...)
	}
	if last[n]+1 < next[n] {
		return append(append(dst, last[:n]...), last[n]+1)
	}
	// Nothing fits between at byte n: raise a later byte of last.
	for i := n + 1; i < len(last); i++ {
		if last[i] != 0xff {
			return append(append(dst, last[:i]...), last[i]+1)
		}
	}
	return append(dst, last...)
}
