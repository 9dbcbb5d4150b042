package sstable

import (
	"bytes"

	"github.com/siftkv/sift/internal/key"
)

// index finds the data block that holds a key. It is immutable and safe for use
// by several goroutines.
//
// It is laid out for searching: the eight bytes of each separator behind the
// common prefix stand in one flat array as integers, so that most steps of the
// binary search are one load and one comparison. What a separator has beyond
// those is in tails, which is touched only on equality.
type index struct {
	prefix []byte   // what all separators have in common
	heads  []uint64 // the next 8 bytes of each, big-endian, zeros where it is shorter
	sizes  []uint16 // length of each behind the prefix
	starts []uint32 // where the bytes of each behind head begin in tails
	tails  []byte
	ends   []uint64 // file offset behind each block

	trailers []key.Trailer // of each separator; nil if all cover all versions
}

// headLen is the number of bytes of a separator in heads.
const headLen = 8

// numBlocks returns the number of data blocks.
func (x *index) numBlocks() int { return len(x.ends) }

// handle returns the place of the i-th data block.
func (x *index) handle(i int) Handle {
	var off uint64
	if i > 0 {
		off = x.ends[i-1]
	}
	return Handle{off, x.ends[i] - off}
}

// memory returns the bytes that the index occupies.
func (x *index) memory() int64 {
	perBlock := 8 + 2 + 4 + 8
	return int64(len(x.ends)*perBlock + len(x.tails) + len(x.prefix) + 8*len(x.trailers))
}

// find returns the one block that can hold the first entry at or after
// (user, t) if any block before the next user key does: the first whose
// separator is not before (user, t). It returns numBlocks if there is none.
func (x *index) find(user []byte, t key.Trailer) int {
	skip := len(x.prefix)
	if len(user) < skip || string(user[:skip]) != string(x.prefix) {
		if bytes.Compare(user, x.prefix) < 0 {
			return 0
		}
		return x.numBlocks()
	}
	head := key.Prefix(user, skip)
	lo, hi := 0, len(x.heads)
	for lo < hi {
		m := int(uint(lo+hi) / 2)
		h := x.heads[m]
		if h < head || h == head && x.before(m, user[skip:], t) {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// before reports whether the i-th separator is before (suffix, t), where suffix
// is a user key behind the prefix that has the same head.
func (x *index) before(i int, suffix []byte, t key.Trailer) bool {
	size := int(x.sizes[i])
	if min(size, len(suffix)) < headLen {
		// One ends within its head, and what the other has there is zeros.
		if size != len(suffix) {
			return size < len(suffix)
		}
	} else if c := bytes.Compare(x.tail(i), suffix[headLen:]); c != 0 {
		return c < 0
	}
	return x.trailer(i) > t
}

// trailer returns the trailer of the i-th separator, 0 if it covers all
// versions.
func (x *index) trailer(i int) key.Trailer {
	if x.trailers == nil {
		return 0
	}
	return x.trailers[i]
}

// tail returns the bytes of the i-th separator behind its head.
func (x *index) tail(i int) []byte {
	start := x.starts[i]
	return x.tails[start : int(start)+max(int(x.sizes[i])-headLen, 0)]
}

// separator appends the user key of the i-th separator to dst.
func (x *index) separator(dst []byte, i int) []byte {
	dst = append(dst, x.prefix...)
	head := x.heads[i]
	for range min(int(x.sizes[i]), headLen) {
		dst = append(dst, byte(head>>56))
		head <<= 8
	}
	return append(dst, x.tail(i)...)
}
