package bloom

import (
	"encoding/binary"
	"fmt"
	"math"
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
// key.
func blockedProbes(bitsPerKey float64) uint8 {
	for i, limit := range blockedProbeLimits {
		if bitsPerKey < limit {
			return uint8(i + 1)
		}
	}
	return maxBlockedProbes
}

// blockedProbeLimits[i] is where i+2 probes begin to have a rate more than 2 %
// below that of i+1. Fewer probes are cheaper, and the rate as a function of the
// bits stays monotone.
var blockedProbeLimits = [maxBlockedProbes - 1]float64{
	2.25, 4, 5.5, 7.25, 8.75, 10.75, 12.75, 14.75, 17.25, 19.75, 22.75, 26, 29.5, 33.75, 38.25,
}

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

// touchAhead is the number of lines that are on their way into the cache while
// keys are added: about as many as a processor can have misses in flight.
const touchAhead = 32

// touchFrom is the size in bytes from which a filter is taken not to be in the
// cache while it is built.
const touchFrom = 512 << 10

// addBlockedGo sets the bits of hashes in the lines of body. Their order is
// random, so nearly every line of a large filter is a cache miss; touching
// lines ahead overlaps them. It is the reference for the assembly.
func addBlockedGo(body []byte, probes uint8, hashes []uint64) {
	lines := uint64(len(body) / lineBytes)
	if len(body) < touchFrom {
		addLines(body, lines, probes, hashes)
		return
	}
	for len(hashes) > touchAhead {
		now, next := hashes[:touchAhead], hashes[touchAhead:]
		touchLines(&body[0], lines, next[:min(touchAhead, len(next))])
		addLines(body, lines, probes, now)
		hashes = next
	}
	addLines(body, lines, probes, hashes)
}

func addLines(body []byte, lines uint64, probes uint8, hashes []uint64) {
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

// Powers of golden32 mod 2^32.
const (
	golden32x2 = golden32 * golden32 & math.MaxUint32
	golden32x3 = golden32x2 * golden32 & math.MaxUint32
	golden32x4 = golden32x3 * golden32 & math.MaxUint32
)

// probeBlockedGo reports whether all bits of h are set. It takes a branch on
// four bits at once, not on each: half the bits are set, so that a processor
// guesses wrong about once a lookup, which costs more than all the probes. It
// is the reference for the assembly.
func probeBlockedGo(body []byte, lines uint64, probes uint8, h uint64) bool {
	off := lineOf(h, lines) * lineBytes
	line := (*[lineBytes]byte)(body[off : off+lineBytes])
	x := uint32(h)
	for ; probes >= 4; probes -= 4 {
		a, b, c, d := x*golden32, x*golden32x2, x*golden32x3, x*golden32x4
		if bitAt(line, a)&bitAt(line, b)&bitAt(line, c)&bitAt(line, d) == 0 {
			return false
		}
		x = d
	}
	all := uint8(1)
	for ; probes > 0; probes-- {
		x *= golden32
		all &= bitAt(line, x)
	}
	return all != 0
}

// bitAt returns the bit of line that x chooses. Testing a bit of a word and not
// shifting it down is one instruction on amd64, and a tenth of a lookup faster.
func bitAt(line *[lineBytes]byte, x uint32) (bit uint8) {
	if binary.LittleEndian.Uint64(line[x>>29*8:][:8])&(1<<(x>>23&63)) != 0 {
		bit = 1
	}
	return bit
}

// checkBlocked reports what is wrong with a header for a body of size bytes.
func (h *header) checkBlocked(size uint64) error {
	if h.scheme != schemeChain32 || h.seed != 0 || h.param != 0 {
		return fmt.Errorf("%w: blocked, index scheme %d, seed %#x, parameter %d", ErrUnknown, h.scheme, h.seed, h.param)
	}
	if h.units == 0 || h.units > size/lineBytes || h.units*lineBytes != size {
		return fmt.Errorf("%w: %d lines in %d bytes", ErrCorrupt, h.units, size)
	}
	if h.probes == 0 || h.probes > maxBlockedProbes {
		return fmt.Errorf("%w: blocked, %d probes", ErrCorrupt, h.probes)
	}
	return nil
}
