package bloom

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// A ribbon filter is the solution of a system of linear equations over bits. A
// key's equation says that the exclusive or of some of 128 neighbouring rows, of
// r columns each, is the key's fingerprint of r bits. An absent key's rows give a
// random value, which is its fingerprint with probability 2^-r. That takes
// r * 1.04 bits a key, within a few per cent of the least there can be, and r need
// not be whole: the first blocks of the body may have one column less. It costs
// more computing than a fuse filter and, in a large filter, about as many cache
// misses.
//
//	hi, lo = (h ^ seed) * C, 128 bits        x = hi ^ lo
//	 start = floor(x * 128 * (blocks-1) / 2^64)
//	 coeff = 128 bits of x and lo, the lowest is 1
//	 print = bits 40.. of lo
//
//	body:  | block of r-1 columns | ... | block of r columns | ...
//	block: | column 0, 128 bits | column 1 | ... |     bit i belongs to row i
//
// Dillinger, Walzer: Ribbon filter: practically smaller than Bloom and Xor, 2021,
// https://arxiv.org/abs/2103.02515.
const (
	schemeRibbon128 = 4 // the index scheme above

	ribbonRows      = 128 // in a block, and in an equation
	columnBytes     = ribbonRows / 8
	maxRibbonBits   = 24
	ribbonFractions = 256 // a share of blocks is in the header as 256ths
)

// ribbonBlocks returns the number of blocks for n keys. A larger system needs
// more spare rows to have a solution; from experiments with 10^3 to 10^7 keys,
// at which it has one for more than nine seeds in ten.
func ribbonBlocks(n uint64) uint64 {
	factor := 1.01
	if n > 1 {
		factor = max(factor, 0.972+0.0036*math.Log2(float64(n)))
	}
	return uint64(float64(n)*factor)/ribbonRows + 2
}

// ribbonShape sets the number of columns so that the body of h.units blocks
// has at most the given bytes; to 0 if there is no room for one.
func (h *header) ribbonShape(bytes float64) {
	columns := min(bytes/columnBytes/float64(h.units), maxRibbonBits)
	whole := math.Ceil(columns)
	h.probes = uint8(whole)
	h.param = uint8(min(math.Ceil((whole-columns)*ribbonFractions), ribbonFractions-1))
	if h.probes < 2 {
		h.probes, h.param = uint8(columns), 0
	}
}

// narrow returns the number of blocks that have one column less.
func (h *header) narrow() uint64 { return h.units * uint64(h.param) / ribbonFractions }

func (h *header) ribbonBytes() uint64 {
	return (h.units*uint64(h.probes) - h.narrow()) * columnBytes
}

// ribbonRate returns the mean rate of keys that start in narrow and other blocks.
func (h *header) ribbonRate() float64 {
	narrow := float64(h.narrow()) / float64(h.units-1)
	return min(1, math.Ldexp(1+narrow, -int(h.probes)))
}

// block returns the number of columns of a block and the offset of the first.
func (h *header) block(b uint64) (columns, offset uint64) {
	columns, narrow := uint64(h.probes), h.narrow()
	if b < narrow {
		return columns - 1, b * (columns - 1) * columnBytes
	}
	return columns, (b*columns - narrow) * columnBytes
}

// equation is what a key asks of the rows from start on.
type equation struct {
	start    uint64
	low, top uint64 // 128 coefficients, of row start in the lowest bit of low
	print    uint32
}

func (h *header) equation(hash uint64) equation {
	hi, lo := bits.Mul64(hash^h.seed, golden64)
	x := hi ^ lo
	start, _ := bits.Mul64(x, ribbonRows*(h.units-1))
	top := (lo ^ x>>32) * golden64
	return equation{
		start: start,
		low:   x*golden64 | 1,
		top:   top ^ top>>32,
		print: uint32(lo >> 40),
	}
}

func probeRibbon(body []byte, h *header, hash uint64) bool {
	if h.n == 0 {
		return false
	}
	e := h.equation(hash)
	shift := e.start % ribbonRows
	var c columnMask
	c.here0, c.here1 = shiftLeft(e.low, e.top, shift)
	c.next0, c.next1 = shiftRight(e.low, e.top, ribbonRows-shift)
	columns, at := h.block(e.start / ribbonRows)
	_, after := h.block(e.start/ribbonRows + 1)
	// The second of a key's two blocks is as wide as the first or wider.
	here, next := body[at:at+columns*columnBytes], body[after:after+columns*columnBytes]
	fingerprint := e.print
	// Four columns to a branch: an absent key's fingerprint differs in one of
	// them with 15 in 16.
	for ; len(here) >= 4*columnBytes; here, next = here[4*columnBytes:], next[4*columnBytes:] {
		got := c.sum(here, next) | c.sum(here[16:], next[16:])<<1 |
			c.sum(here[32:], next[32:])<<2 | c.sum(here[48:], next[48:])<<3
		if (got^fingerprint)&15 != 0 {
			return false
		}
		fingerprint >>= 4
	}
	for ; len(here) > 0; here, next = here[columnBytes:], next[columnBytes:] {
		if (c.sum(here, next)^fingerprint)&1 != 0 {
			return false
		}
		fingerprint >>= 1
	}
	return true
}

// columnMask holds the coefficients of a key for a column of its two blocks.
type columnMask struct{ here0, here1, next0, next1 uint64 }

// sum returns the exclusive or of a column's rows that have a coefficient.
func (c *columnMask) sum(here, next []byte) uint32 {
	le := binary.LittleEndian
	x := le.Uint64(here)&c.here0 ^ le.Uint64(here[8:])&c.here1
	return uint32(bits.OnesCount64(x^le.Uint64(next)&c.next0^le.Uint64(next[8:])&c.next1)) & 1
}

// shiftLeft and shiftRight shift the 128 bits of low and top by n, 0 to 128.
func shiftLeft(low, top, n uint64) (l, t uint64) {
	if n >= 64 {
		return 0, low << (n - 64)
	}
	return low << n, top<<n | low>>(64-n)
}

func shiftRight(low, top, n uint64) (l, t uint64) {
	if n >= 64 {
		return top >> (n - 64), 0
	}
	return low>>n | top<<(64-n), top >> n
}

// checkRibbon reports what is wrong with a header for a body of size bytes.
func (h *header) checkRibbon(size uint64) error {
	if h.scheme != schemeRibbon128 {
		return fmt.Errorf("%w: ribbon, index scheme %d", ErrUnknown, h.scheme)
	}
	if h.probes == 0 || h.probes > maxRibbonBits || h.probes == 1 && h.param != 0 {
		return fmt.Errorf("%w: ribbon, %d columns, %d narrow", ErrCorrupt, h.probes, h.param)
	}
	if h.units < 2 || h.units > size/columnBytes || h.ribbonBytes() != size {
		return fmt.Errorf("%w: ribbon, %d blocks of %d columns in %d bytes", ErrCorrupt, h.units, h.probes, size)
	}
	return nil
}
