package bloom

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/siftkv/sift/internal/coding"
)

// An encoded filter is a header of one cache line and the filter's body. All
// integers are little-endian.
//
//	 0                   4     5     6     7     8
//	+-------------------+-----+-----+-----+-----+
//	| magic "sBF1"      | ver | fam | hash| idx |
//	+-------------------+-----+-----+-----+-----+
//	| remix seed                                | 8
//	+-------------------------------------------+
//	| units: lines, bits, slots or blocks       | 16
//	+-------------------------------------------+
//	| n: keys in the filter                     | 24
//	+-------------------------------------------+
//	| design n: keys it was sized for           | 32
//	+-------------------------------------------+
//	| design rate (IEEE 754)                    | 40
//	+-------------------------------------------+
//	| length: header and body, in bytes         | 48
//	+--------+---------+------+-----------------+
//	| probes | param   | zero | CRC32C          | 56
//	+--------+---------+------+-----------------+
//	| body                                      | 64
//
// The checksum covers everything but itself. Whatever decides where a key's
// bits are is in the header: a reader that does not know one of these values
// refuses the filter, since probing it in another way would answer "no" for
// keys that are there.
const (
	headerSize = 64

	magic         = 0x31464273 // "sBF1"
	formatVersion = 1
	hashXX64      = 1 // unseeded xxHash64

	crcOffset = 60
)

var (
	// ErrCorrupt says that bytes are not what a Builder wrote.
	ErrCorrupt = errors.New("bloom: corrupt filter")
	// ErrUnknown says that a filter was written by a version of this package
	// that knows more than this one.
	ErrUnknown = errors.New("bloom: unknown filter format")
)

// header is the decoded form of an encoded filter's first 64 bytes.
type header struct {
	kind       Kind
	scheme     uint8 // how a hash becomes positions
	seed       uint64
	units      uint64
	n          uint64
	designN    uint64
	designRate float64
	probes     uint8 // bits of a key, or of a fingerprint
	param      uint8 // log2 of the slots in a segment, or the share of narrow blocks
}

// seal writes h into the first bytes of data, whose body is complete, and the
// checksum of both.
func (h *header) seal(data []byte) {
	le := binary.LittleEndian
	le.PutUint32(data, magic)
	data[4] = formatVersion
	data[5] = uint8(h.kind) + 1
	data[6] = hashXX64
	data[7] = h.scheme
	le.PutUint64(data[8:], h.seed)
	le.PutUint64(data[16:], h.units)
	le.PutUint64(data[24:], h.n)
	le.PutUint64(data[32:], h.designN)
	le.PutUint64(data[40:], math.Float64bits(h.designRate))
	le.PutUint64(data[48:], uint64(len(data)))
	data[56], data[57], data[58], data[59] = h.probes, h.param, 0, 0
	le.PutUint32(data[crcOffset:], checksum(data))
}

// checksum returns the CRC32C of data without its checksum field.
func checksum(data []byte) uint32 {
	return coding.ExtendCRC(coding.CRC(data[:crcOffset]), data[headerSize:])
}

// parseHeader checks everything that is common to all families: data is
// exactly one filter, undamaged, and of a known version, family and hash.
func parseHeader(data []byte) (header, error) {
	if len(data) < headerSize {
		return header{}, fmt.Errorf("%w: %d bytes are less than a header", ErrCorrupt, len(data))
	}
	le := binary.LittleEndian
	if m := le.Uint32(data); m != magic {
		return header{}, fmt.Errorf("%w: magic %#x", ErrCorrupt, m)
	}
	if n := le.Uint64(data[48:]); n != uint64(len(data)) {
		return header{}, fmt.Errorf("%w: length %d in a buffer of %d", ErrCorrupt, n, len(data))
	}
	if want, got := le.Uint32(data[crcOffset:]), checksum(data); want != got {
		return header{}, fmt.Errorf("%w: checksum %#08x, computed %#08x", ErrCorrupt, want, got)
	}
	// From here on the bytes are what a builder wrote, if not this one.
	if data[4] != formatVersion || data[5] == 0 || data[5] > uint8(numKinds) || data[6] != hashXX64 {
		return header{}, fmt.Errorf("%w: version %d, family %d, hash %d", ErrUnknown, data[4], data[5], data[6])
	}
	if data[58]|data[59] != 0 {
		return header{}, fmt.Errorf("%w: reserved bytes are in use", ErrUnknown)
	}
	h := header{
		kind:       Kind(data[5] - 1),
		scheme:     data[7],
		seed:       le.Uint64(data[8:]),
		units:      le.Uint64(data[16:]),
		n:          le.Uint64(data[24:]),
		designN:    le.Uint64(data[32:]),
		designRate: math.Float64frombits(le.Uint64(data[40:])),
		probes:     data[56],
		param:      data[57],
	}
	if h.n > maxKeys || h.designN > maxKeys {
		return header{}, fmt.Errorf("%w: %d keys, designed for %d", ErrCorrupt, h.n, h.designN)
	}
	if !(h.designRate >= 0 && h.designRate <= 1) {
		return header{}, fmt.Errorf("%w: design rate %v", ErrCorrupt, h.designRate)
	}
	return h, nil
}
