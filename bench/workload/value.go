package workload

import (
	"bytes"
	"encoding/binary"

	"github.com/siftkv/sift/bench"
)

// A version says when a value was written: whoever reads it knows which ones a
// key may have.
type version uint64

const (
	loaded  version = iota // by the load
	updated                // by a workload, or by a state's second load
)

// appendValue appends the value of a key. It follows from the key, so that a pair
// can be checked wherever it is met, and compresses to about half.
func appendValue(dst, key []byte, size int, v version) []byte {
	return bench.AppendValue(dst, size, hash(key)+uint64(v)*golden)
}

// rightValue reports whether a key may have this value, and returns scratch,
// grown.
func rightValue(scratch, key, value []byte, size int, versions ...version) ([]byte, bool) {
	for _, v := range versions {
		if scratch = appendValue(scratch[:0], key, size, v); bytes.Equal(scratch, value) {
			return scratch, true
		}
	}
	return scratch, false
}

// hash makes a number of a key. It need only be quick and well spread.
func hash(key []byte) uint64 {
	h := uint64(len(key))
	for ; len(key) >= 8; key = key[8:] {
		h = (h ^ binary.LittleEndian.Uint64(key)) * golden
		h ^= h >> 32
	}
	for _, b := range key {
		h = (h ^ uint64(b)) * golden
	}
	return mix(h)
}
