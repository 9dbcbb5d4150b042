package bloom

import (
	"errors"
	"math"
)

// errTooLarge says that a filter does not fit the address space.
var errTooLarge = errors.New("bloom: filter is larger than memory")

// maxKeys and maxBits bound what a filter is designed for, so that no size
// overflows.
const (
	maxKeys = 1 << 52
	maxBits = 1 << 58
)

// maxBody bounds the size of a filter's body, in bytes.
const maxBody = math.MaxInt - headerSize - lineBytes

// design returns the header, without a seed, and the size of the body of a
// filter for n keys. It turns a Fuse or Ribbon into a Blocked where that has the
// lower rate, or where they have no room for a single bit a key. The body of a
// filter that is too large for any machine has [math.MaxUint64] bytes.
func design(kind Kind, n uint64, bitsPerKey float64) (h header, body uint64) {
	if n > maxKeys || float64(n)*bitsPerKey > maxBits {
		return header{n: n}, math.MaxUint64
	}
	h, body = shape(kind, n, bitsPerKey)
	if kind >= Fuse {
		if b, size := shape(Blocked, n, bitsPerKey); h.probes == 0 || b.designRate <= h.designRate {
			return b, size
		}
	}
	return h, body
}

// shape is design for exactly that kind.
func shape(kind Kind, n uint64, bitsPerKey float64) (h header, body uint64) {
	switch kind {
	case Blocked:
		h.scheme, h.probes = schemeChain32, blockedProbes(bitsPerKey)
		h.units = blockedLines(n, bitsPerKey)
		body = h.units * lineBytes
	case Classic:
		h.scheme, h.probes = schemeChain64, classicProbes(bitsPerKey)
		h.units = classicBits(n, bitsPerKey)
		body = h.units / 8
	case Fuse:
		h.scheme, h.param = schemeFuse3, fuseSegment(n)
		h.units = fuseSlots(n, h.param)
		h.probes = uint8(min(float64(n)*bitsPerKey/float64(h.units), maxFuseBits))
		body = fuseBytes(h.units, h.probes)
	case Ribbon:
		h.scheme, h.units = schemeRibbon128, ribbonBlocks(n)
		h.ribbonShape(float64(n) * bitsPerKey / 8)
		body = h.ribbonBytes()
	}
	h.kind, h.n, h.designN = kind, n, n
	h.designRate = h.roundedRate(n)
	return h, body
}

// rate returns the expected false-positive rate with n keys in a filter of this
// header's shape.
func (h *header) rate(n uint64) float64 {
	switch {
	case n == 0:
		return 0
	case h.kind == Blocked:
		return blockedRate(n, h.units, int(h.probes))
	case h.kind == Classic:
		return classicRate(n, h.units, int(h.probes))
	case h.kind == Fuse:
		return math.Ldexp(1, -int(h.probes))
	default:
		return h.ribbonRate()
	}
}

// roundedRate returns rate as the header keeps it: with 24 bits, so that machines
// that round products differently write the same bytes.
func (h *header) roundedRate(n uint64) float64 { return float64(float32(h.rate(n))) }

// PeakMemory returns the bytes that a Builder holds at most, from the first Add
// to the return of Finish, for n keys. The encoded filter is among them. It returns
// [math.MaxUint64] for what [NewBuilder] refuses, as for what is too large.
func PeakMemory(kind Kind, n uint64, bitsPerKey float64) uint64 {
	if checkDesign(kind, bitsPerKey) != nil {
		return math.MaxUint64
	}
	h, body := design(kind, n, bitsPerKey)
	return h.peakMemory(body)
}

func (h *header) peakMemory(body uint64) uint64 {
	if body > maxBody {
		return math.MaxUint64
	}
	hashes := (h.n + chunkLen - 1) / chunkLen * chunkLen
	if h.n <= firstChunk {
		hashes = firstChunk
	}
	peak := 8*hashes + headerSize + body + lineBytes
	switch h.kind {
	case Fuse:
		peak += fusePeak(h.n, h.units)
	case Ribbon:
		peak += ribbonPeak(h.n, h.units)
	default: // the others set bits as the hashes come
	}
	return peak
}
