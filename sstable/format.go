package sstable

import (
	"math/bits"

	"github.com/siftkv/sift/internal/coding"
)

// A table file is blocks and a footer, without a gap between them:
//
//	0          ┌──────────────────────┐
//	           │ data block 0         │  entries in internal key order
//	           │ data block 1         │
//	           │ …                    │
//	tailOffset ├──────────────────────┤ ┐
//	           │ filter block         │ │  encoded by package bloom; may be absent
//	           │ index block          │ │  one separator for each data block
//	           │ range deletion block │ │  as a data block; may be absent
//	           │ properties block     │ │  what the table holds
//	           ├──────────────────────┤ │
//	           │ footer               │ ┘  where those are
//	size       └──────────────────────┘
//
// Every block ends in a trailer of five bytes:
//
//	block  = body | type u8 | check u32
//	type   = role<<4 | codec
//	check  = CRC32C(body | type) XOR stamp(table id, offset of body)
//
// The stamp makes a block that was swapped with another, or copied from another
// table, fail its check. As it is mixed in by XOR, whoever moves a block on
// purpose can stamp it anew without decoding it.
//
// The order of the tail lets one read fetch everything but the filter, which
// lives beside the version and not in an open table.
//
// All integers are little-endian; "uvarint" is the base-128 varint of
// encoding/binary.

// blockTrailerLen is the length of what follows a block's body.
const blockTrailerLen = 1 + 4

// maxBlockLen bounds a block, in the file and decoded: the largest entry and
// room to spare. It fits into an int of 32 bits.
const maxBlockLen = 1 << 30

// role says what a block is for. It is the high half of the block's type.
type role uint8

const (
	roleData       role = 0
	roleFilter     role = 1
	roleIndex      role = 2
	roleRangeDel   role = 3
	roleProperties role = 4
)

var roleNames = [...]string{"data", "filter", "index", "range deletion", "properties"}

func (r role) String() string { return roleNames[r] }

// Compression is how the bytes of a block are stored. It is the low half of a
// block's type.
type Compression uint8

// The compressions of format version 1.
const (
	NoCompression Compression = 0 // the bytes themselves
	Snappy        Compression = 1 // the Snappy block format
)

func (c Compression) String() string {
	switch c {
	case NoCompression:
		return "none"
	case Snappy:
		return "snappy"
	}
	return "unknown"
}

func blockType(r role, c Compression) byte { return byte(r)<<4 | byte(c) }

// A Handle is the place of a block: its offset in the file and its length
// there, trailer included. A length of 0 means that there is no such block.
type Handle struct{ Off, Len uint64 }

// end returns the offset behind the block.
func (h Handle) end() uint64 { return h.Off + h.Len }

// stamp returns what is mixed into the check of the block at off in the table
// with this id.
func stamp(id, off uint64) uint32 {
	const a, b = 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93 // odd
	hi, lo := bits.Mul64((id^a)+off*b, a)
	x := hi ^ lo
	return uint32(x ^ x>>32)
}

// blockCheck returns the check of a block at off. typed is its body and type.
func blockCheck(typed []byte, id, off uint64) uint32 {
	return coding.CRC(typed) ^ stamp(id, off)
}
