// Package coding holds the few encodings that every sift file is made of:
// little-endian integers, varints, length-prefixed bytes and CRC32C.
//
// Encoding appends to a slice. Decoding goes through a Decoder, which treats
// its input as hostile: it never reads past the end, never allocates, and
// remembers the first fault so that a caller may read a whole record and check
// once.
package coding

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// ErrTruncated says that the input ended inside a field.
var ErrTruncated = errors.New("ends inside a field")

// ErrMalformed says that a field has a value that its encoder never writes.
var ErrMalformed = errors.New("malformed field")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CRC returns the CRC32C of b.
func CRC(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// ExtendCRC returns the CRC32C of what crc covers followed by b.
func ExtendCRC(crc uint32, b []byte) uint32 { return crc32.Update(crc, castagnoli, b) }

// AppendBytes appends the length of b as a varint, then b.
func AppendBytes(dst, b []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}

// A Decoder reads fields from the front of a byte slice. After the first fault
// every read returns a zero value and Err says what was wrong.
//
// The zero Decoder is an empty input.
type Decoder struct {
	rest []byte
	err  error
}

// NewDecoder returns a Decoder that reads b. Slices that it returns alias b.
func NewDecoder(b []byte) Decoder { return Decoder{rest: b} }

// Err returns the first fault, or nil.
func (d *Decoder) Err() error { return d.err }

// Len returns the number of bytes not yet read.
func (d *Decoder) Len() int { return len(d.rest) }

// Finish returns the first fault, counting bytes left over as one.
func (d *Decoder) Finish() error {
	if d.err == nil && len(d.rest) > 0 {
		d.err = ErrMalformed
	}
	return d.err
}

// Fail records err as the first fault, unless there is one already.
func (d *Decoder) Fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.rest = nil
}

// Uvarint reads an unsigned varint.
func (d *Decoder) Uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	switch {
	case n > 0:
		d.rest = d.rest[n:]
		return v
	case n == 0:
		d.Fail(ErrTruncated)
	default:
		d.Fail(ErrMalformed)
	}
	return 0
}

// Uint8 reads one byte.
func (d *Decoder) Uint8() uint8 {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint32 reads a little-endian 32-bit integer.
func (d *Decoder) Uint32() uint32 {
	if b := d.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Uint64 reads a little-endian 64-bit integer.
func (d *Decoder) Uint64() uint64 {
	if b := d.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Bytes reads length-prefixed bytes. The result aliases the input and has no
// spare capacity.
func (d *Decoder) Bytes() []byte {
	n := d.Uvarint()
	if n > uint64(len(d.rest)) {
		d.Fail(ErrTruncated)
		return nil
	}
	return d.take(int(n))
}

// take returns the next n bytes, or nil after recording a fault.
func (d *Decoder) take(n int) []byte {
	if n > len(d.rest) || d.err != nil {
		d.Fail(ErrTruncated)
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}
