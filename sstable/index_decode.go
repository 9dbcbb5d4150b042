package sstable

import (
	"fmt"
	"math"

	"github.com/siftkv/sift/internal/coding"
	"github.com/siftkv/sift/internal/key"
)

// minIndexEntry is the length of the shortest entry: head and block length.
const minIndexEntry = 2

// decodeIndex decodes the body of an index block of a table whose data blocks
// take dataLen bytes. It checks what a search relies on: that separators ascend
// and that the blocks fill the data exactly. It allocates at most a constant
// times the length of body.
func decodeIndex(body []byte, dataLen uint64) (*index, error) {
	d := coding.NewDecoder(body)
	n := d.Uvarint()
	prefix := d.Bytes()
	switch {
	case d.Err() != nil:
		return nil, d.Err()
	case n > uint64(d.Len()/minIndexEntry), uint64(len(body)) > math.MaxUint32, len(prefix) > key.MaxKeyLen:
		return nil, coding.ErrMalformed
	}
	x := newIndex(int(n), prefix, d.Len())
	for i := range int(n) {
		if err := x.decodeEntry(&d, i); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
	}
	if err := d.Finish(); err != nil {
		return nil, err
	}
	if n == 0 && dataLen != 0 || n > 0 && x.ends[n-1] != dataLen {
		return nil, fmt.Errorf("blocks do not fill the data of %d bytes", dataLen)
	}
	x.tails = append([]byte(nil), x.tails...) // drop the spare capacity
	return x, nil
}

func newIndex(n int, prefix []byte, maxTails int) *index {
	return &index{
		prefix: append([]byte(nil), prefix...),
		heads:  make([]uint64, n),
		sizes:  make([]uint16, n),
		starts: make([]uint32, n),
		ends:   make([]uint64, n),
		tails:  make([]byte, 0, maxTails),
	}
}

// decodeEntry decodes the i-th entry, the ones before being there.
func (x *index) decodeEntry(d *coding.Decoder, i int) error {
	suffix := d.Bytes()
	place := d.Uvarint()
	var t key.Trailer
	if place&indexHasTrailer != 0 {
		t = key.Trailer(d.Uint64())
	}
	if d.Err() != nil {
		return d.Err()
	}
	if !x.setKey(i, suffix, place&indexSameKey != 0, t) || !x.setEnd(i, place>>2) {
		return coding.ErrMalformed
	}
	return nil
}

// setKey sets the i-th separator. It reports false if that is too long or not
// after the one before.
func (x *index) setKey(i int, suffix []byte, same bool, t key.Trailer) bool {
	head := key.Prefix(suffix, 0)
	switch {
	case len(x.prefix)+len(suffix) > key.MaxKeyLen:
		return false
	case same && (i == 0 || len(suffix) > 0 || x.trailer(i-1) <= t):
		return false
	case same:
		x.heads[i], x.sizes[i], x.starts[i] = x.heads[i-1], x.sizes[i-1], x.starts[i-1]
	case i > 0 && (x.heads[i-1] > head || x.heads[i-1] == head && !x.before(i-1, suffix, t)):
		return false
	default:
		x.heads[i], x.sizes[i], x.starts[i] = head, uint16(len(suffix)), uint32(len(x.tails))
		x.tails = append(x.tails, suffix[min(headLen, len(suffix)):]...)
	}
	if t != 0 && x.trailers == nil {
		x.trailers = make([]key.Trailer, len(x.heads))
	}
	if t != 0 {
		x.trailers[i] = t
	}
	return true
}

// setEnd sets the end of the i-th block. It reports false for an impossible
// length.
func (x *index) setEnd(i int, blockLen uint64) bool {
	var start uint64
	if i > 0 {
		start = x.ends[i-1]
	}
	if blockLen <= blockTrailerLen || blockLen > maxBlockLen || start > math.MaxInt64-maxBlockLen {
		return false
	}
	x.ends[i] = start + blockLen
	return true
}
