package sstable

import (
	"bytes"
	"encoding/binary"

	"github.com/siftkv/sift/internal/key"
)

// block is the body of a data or range deletion block, split into its parts
// but not decoded. It owns nothing. Its bytes are hostile: every offset and
// length is checked where it is used.
type block struct {
	entries  []byte
	restarts []byte // 4 bytes each, at least one
}

// parseBlock splits a body. It reports false if the body cannot be one.
func parseBlock(body []byte) (block, bool) {
	end := len(body) - 4
	if end < 4 {
		return block{}, false
	}
	n := uint64(binary.LittleEndian.Uint32(body[end:]))
	if n == 0 || n > uint64(end/4) {
		return block{}, false
	}
	start := end - 4*int(n)
	b := block{entries: body[:start:start], restarts: body[start:end:end]}
	return b, len(b.entries) > 0 && b.restart(0) == 0
}

func (b *block) numRestarts() int { return len(b.restarts) / 4 }

// restart returns the offset of the i-th restart, or the end of the entries if
// it lies beyond.
func (b *block) restart(i int) int {
	off := binary.LittleEndian.Uint32(b.restarts[4*i:])
	return int(min(uint64(off), uint64(len(b.entries))))
}

// restartEnd returns the offset of the restart after the i-th, or the end of
// the entries.
func (b *block) restartEnd(i int) int {
	if i+1 < b.numRestarts() {
		return b.restart(i + 1)
	}
	return len(b.entries)
}

// A header is the front of an entry: three lengths, and where its user key
// begins. The trailer stands before that.
type header struct {
	shared, unshared, value int
	key                     int // offset of the unshared bytes of the user key
}

// valueStart and end are the offsets of the value and of the next entry.
func (h *header) valueStart() int { return h.key + h.unshared }
func (h *header) end() int        { return h.key + h.unshared + h.value }

// shortHeader is the length of an entry's front if no length in it takes more
// than one byte. No front is shorter.
const shortHeader = 3 + key.TrailerLen

// header decodes the front of the entry at off, which is less than the length
// of the entries. It reports false for an entry that reaches over their end or
// has a key over the limit.
//
// The front of nearly all entries is short. blockIter.step decodes such a one
// by itself, as scans spend their time there.
func (b *block) header(off int) (h header, ok bool) {
	p := b.entries[off:]
	if len(p) < shortHeader || p[0]|p[1]|p[2] >= 0x80 {
		return b.longHeader(off)
	}
	h = header{int(p[0]), int(p[1]), int(p[2]), off + shortHeader}
	return h, h.end() <= len(b.entries)
}

// longHeader is header for lengths that take more than one byte.
func (b *block) longHeader(off int) (h header, ok bool) {
	shared, off := b.uvarint(off)
	unshared, off := b.uvarint(off)
	value, off := b.uvarint(off)
	rest := len(b.entries) - off - key.TrailerLen
	if rest < 0 || shared > key.MaxKeyLen || unshared > key.MaxKeyLen || value > uint64(rest) {
		return h, false
	}
	h = header{int(shared), int(unshared), int(value), off + key.TrailerLen}
	return h, h.shared+h.unshared <= key.MaxKeyLen && h.unshared+h.value <= rest
}

// trailer returns the trailer of the entry with this front.
func (b *block) trailer(h *header) key.Trailer {
	return key.Trailer(binary.LittleEndian.Uint64(b.entries[h.key-key.TrailerLen:]))
}

// uvarint decodes a varint and returns the offset behind it. After a fault the
// offset is the end of the entries.
func (b *block) uvarint(off int) (uint64, int) {
	v, n := binary.Uvarint(b.entries[off:])
	if n <= 0 {
		return 0, len(b.entries)
	}
	return v, off + n
}

// seekRestart returns the last restart whose key is before (user, t), or the
// first one if none is. Keys are compared where they lie. It reports false for
// a malformed block.
func (b *block) seekRestart(user []byte, t key.Trailer) (int, bool) {
	lo, hi := 0, b.numRestarts()-1
	for lo < hi {
		m := int(uint(lo+hi+1) / 2)
		off := b.restart(m)
		if off >= len(b.entries) {
			return 0, false
		}
		h, ok := b.header(off)
		if !ok || h.shared != 0 {
			return 0, false
		}
		c := bytes.Compare(b.entries[h.key:h.valueStart()], user)
		if c < 0 || c == 0 && b.trailer(&h) > t {
			lo = m
		} else {
			hi = m - 1
		}
	}
	return lo, true
}
