package bench

import "encoding/binary"

// Keys is what a run loads and looks up. A key set is immutable, and safe for
// use by several goroutines.
//
//  1. Present keys are distinct, and come in the order of the load, which is
//     random: each part of the load spans nearly the whole range.
//  2. No absent key is present.
//  3. Every absent key lies well inside the range of the present keys, so that
//     no table that was filled from them can rule it out by its bounds alone.
type Keys interface {
	// Len returns the number of present keys.
	Len() int

	// Bytes returns the size of all present keys and their values, in bytes.
	Bytes() int64

	// Present appends the i-th key of the load to dst.
	Present(dst []byte, i int) []byte

	// Value appends the i-th key's value to dst.
	Value(dst []byte, i int) []byte

	// Absent appends the i-th absent key to dst, for any i >= 0. A set that
	// holds only so many of them starts again from the first.
	Absent(dst []byte, i int) []byte
}

// GeneratedKeySize is the size of a generated key, in bytes.
const GeneratedKeySize = 16

// Generated is a key set made by arithmetic: 16 hexadecimal digits each, spread
// evenly, with values that compress to about half.
//
// A key is the image of a number under a bijection of the 64-bit numbers. Even
// numbers give present keys and odd ones absent keys, so the two cannot meet.
type Generated struct {
	n         int
	valueSize int
	seed      uint64
	margin    uint64 // no absent key in the lowest or the highest so many images
}

// NewGenerated returns n keys, at least MinKeys, with values of valueSize bytes.
// Equal arguments give equal sets.
func NewGenerated(n, valueSize int, seed uint64) *Generated {
	return &Generated{
		n:         n,
		valueSize: valueSize,
		seed:      mix(seed),
		margin:    uint64(float64(1<<63) * 2 * float64(edge(n)) / float64(n)),
	}
}

// Len implements Keys.
func (g *Generated) Len() int { return g.n }

// Bytes implements Keys.
func (g *Generated) Bytes() int64 { return int64(g.n) * int64(GeneratedKeySize+g.valueSize) }

// Present implements Keys.
func (g *Generated) Present(dst []byte, i int) []byte {
	return appendHex(dst, mix(g.seed+2*uint64(i)))
}

// Value implements Keys.
func (g *Generated) Value(dst []byte, i int) []byte {
	return AppendValue(dst, g.valueSize, g.seed^uint64(i))
}

// retryStride keeps the retries of Absent apart from each other's indexes.
const retryStride = 1 << 40

// Absent implements Keys.
func (g *Generated) Absent(dst []byte, i int) []byte {
	x := uint64(i)
	for {
		if h := mix(g.seed + 2*x + 1); g.margin <= h && h <= ^g.margin {
			return appendHex(dst, h)
		}
		x += retryStride
	}
}

// edge returns how many of n keys at either end of the order have no absent key
// among them. A table that holds a random eighth of the keys leaves out such an
// edge of 200 keys once in 10^11 times.
func edge(n int) int {
	return max(n/100, min(n/4, 200))
}

// AppendValue appends a value of n bytes to dst that is the same for the same
// seed and compresses to about half: its second half repeats its first.
func AppendValue(dst []byte, n int, seed uint64) []byte {
	start := len(dst)
	half := n - n/2
	for x := seed; len(dst)-start < half; x += golden {
		dst = binary.LittleEndian.AppendUint64(dst, mix(x))
	}
	dst = dst[:start+half]
	return append(dst, dst[start:start+n/2]...)
}

const golden = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio, odd

// mix is the finaliser of splitmix64, a bijection of the 64-bit numbers.
// Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
// OOPSLA 2014, https://doi.org/10.1145/2660193.2660195
func mix(x uint64) uint64 {
	x += golden
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func appendHex(dst []byte, x uint64) []byte {
	const digits = "0123456789abcdef"
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, digits[x>>shift&15])
	}
	return dst
}
