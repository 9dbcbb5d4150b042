package bloom

import (
	"fmt"
	"math/bits"
)

// A blocked filter is an array of 512-bit lines. A key sets and tests k bits of
// a single line:
//
//	      line = floor(h * lines / 2^64)            all 64 bits of the hash
//	       x_1 = C * low32(h), x_i = C * x_(i-1)    mod 2^32, C odd
//	     bit_i = top 9 bits of x_i                  in [0, 512)
//
//	lines:  |  0  |  1  | ... | line | ... |
//	                          /       \
//	                0 1 0 0 1 1 0 ... 0 1   512 bits, bit b in byte b/8 at b%8
//
// Multiply-shift for the line keeps its low hash bits out of the choice, needs
// no division and lets a filter be folded. The multiply chain is what keeps
// the measured rate at the formula's: a rotate-and-add chain in so small a block
// repeats whole bit patterns, and at 24 bits a key measures more than ten times
// the formula.
//
// Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters,
// JEA 14 (2009), https://doi.org/10.1145/1498698.1594230.
const (
	lineBytes = 64
	lineBits  = 8 * lineBytes

	schemeChain32 = 1 // the index scheme above

	golden32 = 0x9e3779b9 // 2^32 / golden ratio, odd

	maxBlockedProbes = 16 // one 512-bit register of 32-bit lanes
)

// blockedProbes returns the number of bits a key sets at a number of bits per
// key: the cheapest one whose rate is within 2 % of the best.
func blockedProbes(bitsPerKey float64) uint8 {
	for i, limit := range blockedProbeLimits {
		if bitsPerKey < limit {
			return uint8(i + 1)
		}
	}
	return uint8(len(blockedProbeLimits) + 1)
}

// blockedProbeLimits[i] is the number of bits per key up to which i+1 probes
// are used.
var blockedProbeLimits = [...]float64{2.2, 3.7, 5.2, 7, 9, 11.5, 14, 16.5, 18.5, 20.5, 23.5, 28}

// blockedLines returns the number of lines for n keys.
func blockedLines(n uint64, bitsPerKey float64) uint64 {
	lines := uint64(float64(n)*bitsPerKey/lineBits) + 1
	switch { // a multiple of a power of two can be folded
	case lines >= 1024:
		return (lines + 7) &^ 7
	case lines >= 128:
		return (lines + 1) &^ 1
	}
	return lines
}

// lineOf returns the line of a hash.
func lineOf(h, lines uint64) uint64 {
	hi, _ := bits.Mul64(h, lines)
	return hi
}

// addBlockedGo sets the bits of hashes in the lines of body. It is the
// reference for the assembly.
func addBlockedGo(body []byte, probes uint8, hashes []uint64) {
	lines := uint64(len(body) / lineBytes)
	for _, h := range hashes {
		off := lineOf(h, lines) * lineBytes
		line := (*[lineBytes]byte)(body[off : off+lineBytes])
		x := uint32(h)
		for range probes {
			x *= golden32
			line[x>>26] |= 1 << (x >> 23 & 7)
		}
	}
}

// probeBlockedGo reports whether all bits of h are set. It takes no branch on
// the bits: half of them are set, so a processor would guess wrong about once a
// lookup, which costs more than the probes. It is the reference for the
// assembly.
func probeBlockedGo(body []byte, lines uint64, probes uint8, h uint64) bool {
	off := lineOf(h, lines) * lineBytes
	line := (*[lineBytes]byte)(body[off : off+lineBytes])
	x := uint32(h)
	all := byte(1)
	for range probes {
		x *= golden32
		all &= line[x>>26] >> (x >> 23 & 7)
	}
	return all != 0
}

// checkBlocked reports what is wrong with a header for a body of size bytes.
func (h *header) checkBlocked(size uint64) error {
	if h.scheme != schemeChain32 || h.seed != 0 {
		return fmt.Errorf("%w: blocked, index scheme %d, seed %#x", ErrUnknown, h.scheme, h.seed)
	}
	if h.units == 0 || h.units > size/lineBytes || h.units*lineBytes != size {
		return fmt.Errorf("%w: %d lines in %d bytes", ErrCorrupt, h.units, size)
	}
	if h.probes == 0 || h.probes > maxBlockedProbes {
		return fmt.Errorf("%w: blocked, %d probes", ErrCorrupt, h.probes)
	}
	return nil
}
