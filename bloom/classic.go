package bloom

import (
	"fmt"
	"math"
	"math/bits"
)

// A classic filter is an array of m bits; a key sets and tests k of them:
//
//	x_1 = h, x_i = C * x_(i-1)                mod 2^64, C odd
//	bit = floor(x_i * m / 2^64)
//
// Double hashing, x_i = x_(i-1) + d, makes every key an arithmetic progression,
// and two progressions that meet twice are one: below some thousand bits the
// rate at 16 bits a key and more is a multiple of the formula's. Taken modulo m
// instead of by multiply-shift it fails at every size.
//
// Bloom: Space/Time Trade-offs in Hash Coding with Allowable Errors, CACM 13
// (1970); Kirsch, Mitzenmacher: Less Hashing, Same Performance, ESA 2006.
const (
	schemeChain64 = 2 // the index scheme above

	golden64 = 0x9e3779b97f4a7c15 // 2^64 / golden ratio, odd

	maxClassicProbes = 64
)

// classicProbes returns the best number of probes, bits * ln 2.
func classicProbes(bitsPerKey float64) uint8 {
	return uint8(min(max(math.Round(bitsPerKey*math.Ln2), 1), maxClassicProbes))
}

// classicBits returns the number of bits for n keys, a multiple of 64.
func classicBits(n uint64, bitsPerKey float64) uint64 {
	return (uint64(math.Ceil(float64(n)*bitsPerKey))/64 + 1) * 64
}

func addClassic(body []byte, m uint64, probes uint8, hashes []uint64) {
	for _, h := range hashes {
		for range probes {
			bit, _ := bits.Mul64(h, m)
			body[bit/8] |= 1 << (bit % 8)
			h *= golden64
		}
	}
}

func probeClassic(body []byte, m uint64, probes uint8, h uint64) bool {
	for range probes {
		bit, _ := bits.Mul64(h, m)
		if body[bit/8]>>(bit%8)&1 == 0 {
			return false
		}
		h *= golden64
	}
	return true
}

// checkClassic reports what is wrong with a header for a body of size bytes.
func (h *header) checkClassic(size uint64) error {
	if h.scheme != schemeChain64 || h.seed != 0 || h.param != 0 {
		return fmt.Errorf("%w: classic, index scheme %d, seed %#x, parameter %d", ErrUnknown, h.scheme, h.seed, h.param)
	}
	if h.units == 0 || h.units%64 != 0 || h.units/8 != size {
		return fmt.Errorf("%w: %d bits in %d bytes", ErrCorrupt, h.units, size)
	}
	if h.probes == 0 || h.probes > maxClassicProbes {
		return fmt.Errorf("%w: classic, %d probes", ErrCorrupt, h.probes)
	}
	return nil
}
