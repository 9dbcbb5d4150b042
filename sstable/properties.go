package sstable

import (
	"encoding/binary"
	"math"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/internal/coding"
	"github.com/siftkv/sift/internal/key"
)

// Properties describe a table, so that the file alone says what it holds.
type Properties struct {
	DataBlocks    uint64
	Entries       uint64 // range deletions not counted
	Deletes       uint64 // entries of kind Delete
	RangeDeletes  uint64
	RawKeyBytes   uint64 // user keys and 8 bytes of trailer each
	RawValueBytes uint64
	MinSeq        uint64 // of entries and range deletions; 0 if there are none
	MaxSeq        uint64
	Kinds         uint64 // bit k is set if a key of kind k is there

	// Smallest and Largest bound the entries and what range deletions cover.
	// The end of a range deletion, which it does not cover, counts as the
	// internal key before all versions of it. Both are zero if there is nothing.
	Smallest, Largest key.Internal

	Compression     Compression // as wished; a block that does not shrink is stored as it is
	BlockSize       uint64      // bytes before compression, as wished
	RestartInterval uint64
	FilterKind      bloom.Kind
	FilterBits      float64 // bits per key as wished; 0: no filter

	Sum Sum // of entries and range deletions
}

// The properties block's body is a list of fields in ascending order of tags:
//
//	body  = field … field
//	field = tag uvarint | length uvarint | length bytes
//
// A number is a uvarint, an internal key is the user key and its trailer, and
// a field that is zero may be left out. A reader skips tags that it does not
// know: what a reader must understand raises the format version instead.
const (
	tagDataBlocks      = 1
	tagEntries         = 2
	tagDeletes         = 3
	tagRangeDeletes    = 4
	tagRawKeyBytes     = 5
	tagRawValueBytes   = 6
	tagMinSeq          = 7
	tagMaxSeq          = 8
	tagKinds           = 9
	tagSmallest        = 10
	tagLargest         = 11
	tagCompression     = 12
	tagBlockSize       = 13
	tagRestartInterval = 14
	tagFilterKind      = 15
	tagFilterBits      = 16 // the 64 bits of the IEEE 754 number, as a uvarint
	tagSum             = 17
)

// numbers returns the number fields below tagSmallest, at their tags.
func (p *Properties) numbers() [tagSmallest]*uint64 {
	return [...]*uint64{
		tagDataBlocks: &p.DataBlocks, tagEntries: &p.Entries, tagDeletes: &p.Deletes,
		tagRangeDeletes: &p.RangeDeletes, tagRawKeyBytes: &p.RawKeyBytes,
		tagRawValueBytes: &p.RawValueBytes, tagMinSeq: &p.MinSeq, tagMaxSeq: &p.MaxSeq, tagKinds: &p.Kinds,
	}
}

// encode returns the body.
func (p *Properties) encode() []byte {
	var dst []byte
	for tag, n := range p.numbers() {
		if n != nil {
			dst = appendNumber(dst, uint64(tag), *n)
		}
	}
	if p.Entries+p.RangeDeletes > 0 {
		dst = appendKey(dst, tagSmallest, p.Smallest)
		dst = appendKey(dst, tagLargest, p.Largest)
	}
	dst = appendNumber(dst, tagCompression, uint64(p.Compression))
	dst = appendNumber(dst, tagBlockSize, p.BlockSize)
	dst = appendNumber(dst, tagRestartInterval, p.RestartInterval)
	dst = appendNumber(dst, tagFilterKind, uint64(p.FilterKind))
	dst = appendNumber(dst, tagFilterBits, math.Float64bits(p.FilterBits))
	return appendNumber(dst, tagSum, uint64(p.Sum))
}

func appendNumber(dst []byte, tag, n uint64) []byte {
	if n == 0 {
		return dst
	}
	var b [binary.MaxVarintLen64]byte
	dst = binary.AppendUvarint(dst, tag)
	return coding.AppendBytes(dst, binary.AppendUvarint(b[:0], n))
}

func appendKey(dst []byte, tag uint64, k key.Internal) []byte {
	dst = binary.AppendUvarint(dst, tag)
	dst = binary.AppendUvarint(dst, uint64(len(k.User)+key.TrailerLen))
	return k.Append(dst)
}

// decodeProperties decodes a body. The result owns its keys.
func decodeProperties(body []byte) (p Properties, err error) {
	d := coding.NewDecoder(body)
	last := uint64(0)
	for d.Len() > 0 && d.Err() == nil {
		tag := d.Uvarint()
		field := d.Bytes()
		if d.Err() != nil {
			break
		}
		if tag <= last || !p.setField(tag, field) {
			d.Fail(coding.ErrMalformed)
		}
		last = tag
	}
	return p, d.Finish()
}

// setField sets the field with this tag. It reports false if it is malformed.
func (p *Properties) setField(tag uint64, field []byte) bool {
	switch {
	case tag > tagSum:
		return true
	case tag == tagSmallest:
		return setKey(&p.Smallest, field)
	case tag == tagLargest:
		return setKey(&p.Largest, field)
	}
	d := coding.NewDecoder(field)
	n := d.Uvarint()
	if d.Finish() != nil {
		return false
	}
	switch tag {
	case tagCompression:
		p.Compression = Compression(n)
		return n <= math.MaxUint8
	case tagBlockSize:
		p.BlockSize = n
	case tagRestartInterval:
		p.RestartInterval = n
	case tagFilterKind:
		p.FilterKind = bloom.Kind(n)
		return n <= math.MaxUint8
	case tagFilterBits:
		p.FilterBits = math.Float64frombits(n)
	case tagSum:
		p.Sum = Sum(n)
	default:
		*p.numbers()[tag] = n
	}
	return true
}

func setKey(k *key.Internal, field []byte) bool {
	decoded, ok := key.Decode(field)
	if !ok || len(decoded.User) > key.MaxKeyLen {
		return false
	}
	*k = decoded.Clone()
	return true
}
