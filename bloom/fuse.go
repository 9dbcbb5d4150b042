package bloom

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// A binary fuse filter holds a fingerprint of r bits for every key, spread over
// three slots: the exclusive or of the three is the fingerprint. An absent key's
// three slots give a random value, which is its fingerprint with probability
// 2^-r. That takes r * 1.13 bits a key, where a Bloom filter takes r * 1.44 and
// a blocked one r * 1.5; but nothing can be added once it is built, building
// takes three times as long, and a lookup three cache misses.
//
//	hi, lo = (h ^ seed) * C, 128 bits    x = hi ^ lo
//	   a = floor(x * (slots - 2*segment) / 2^64)
//	   b = a + segment,  low bits flipped by bits 18.. of x
//	   c = a + 2*segment, low bits flipped by bits 0.. of x
//	fingerprint = top r bits of lo = slot[a] ^ slot[b] ^ slot[c]
//
//	slots: | segment | segment | segment | segment | ...
//	            a         b         c                  next to each other
//
// Slots are packed, slot i in bits i*r to (i+1)*r of the body, which ends in
// eight bytes that no slot reaches into, so that a slot is one 64-bit load.
//
// Graf, Lemire: Binary Fuse Filters: Fast and Smaller Than Xor Filters, JEA 27
// (2022), https://doi.org/10.1145/3510449.
const (
	schemeFuse3 = 3 // the index scheme above

	maxFuseBits    = 32
	maxFuseSegment = 18 // log2
	fusePadding    = 8  // bytes
)

// fuseSegment returns log2 of the segment length for n keys. It and the number
// of slots come from the paper's experiments, and are in the header, since
// another machine's logarithm might round in another way.
func fuseSegment(n uint64) uint8 {
	if n < 2 {
		return 2
	}
	return uint8(min(math.Log(float64(n))/math.Log(3.33)+2.25, maxFuseSegment))
}

// fuseSlots returns the number of slots for n keys in segments of 1<<segment.
func fuseSlots(n uint64, segment uint8) uint64 {
	factor := 1.125
	if n > 1 {
		factor = max(factor, 0.875+0.25*math.Log(1e6)/math.Log(float64(n)))
	}
	segments := uint64(math.Round(float64(n)*factor))>>segment + 1
	return max(segments, 3) << segment
}

// fuseBytes returns the size of a body of slots of r bits.
func fuseBytes(slots uint64, r uint8) uint64 {
	return (slots*uint64(r)+63)/64*8 + fusePadding
}

// fuseKey is where a key's three slots are and what they hold.
type fuseKey struct {
	a, b, c uint64
	print   uint64
}

func (h *header) fuseKey(hash uint64) fuseKey {
	hi, lo := bits.Mul64(hash^h.seed, golden64)
	x := hi ^ lo
	segment := uint64(1) << (h.param & 63)
	a, _ := bits.Mul64(x, h.units-2*segment)
	return fuseKey{
		a:     a,
		b:     a + segment ^ x>>18&(segment-1),
		c:     a + 2*segment ^ x&(segment-1),
		print: lo >> (64 - h.probes),
	}
}

func probeFuse(body []byte, h *header, hash uint64) bool {
	if h.n == 0 {
		return false
	}
	k, r := h.fuseKey(hash), uint64(h.probes)
	if r == 8 { // what a last level gets from about ten bits a key
		return body[k.a]^body[k.b]^body[k.c]^byte(k.print) == 0
	}
	x := loadSlot(body, k.a*r) ^ loadSlot(body, k.b*r) ^ loadSlot(body, k.c*r)
	return (x^k.print)&(1<<r-1) == 0
}

// loadSlot returns the bits of body from bit on, at least 57 of them.
func loadSlot(body []byte, bit uint64) uint64 {
	return binary.LittleEndian.Uint64(body[bit/8:]) >> (bit % 8)
}

// orSlot sets bits from bit on; they must be zero before.
func orSlot(body []byte, bit, value uint64) {
	b := body[bit/8:]
	binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)|value<<(bit%8))
}

// checkFuse reports what is wrong with a header for a body of size bytes.
func (h *header) checkFuse(size uint64) error {
	if h.scheme != schemeFuse3 {
		return fmt.Errorf("%w: fuse, index scheme %d", ErrUnknown, h.scheme)
	}
	if h.probes == 0 || h.probes > maxFuseBits || h.param > maxFuseSegment {
		return fmt.Errorf("%w: fuse, %d bits, segments of 2^%d", ErrCorrupt, h.probes, h.param)
	}
	if h.units>>h.param < 3 || h.units&(1<<h.param-1) != 0 {
		return fmt.Errorf("%w: fuse, %d slots in segments of 2^%d", ErrCorrupt, h.units, h.param)
	}
	if h.units > size*8 || fuseBytes(h.units, h.probes) != size {
		return fmt.Errorf("%w: fuse, %d slots of %d bits in %d bytes", ErrCorrupt, h.units, h.probes, size)
	}
	return nil
}
