package bloom

import (
	"encoding/binary"
	"math"
	"runtime"
	"testing"
)

// Whatever a header claims, opening takes no memory beyond the Filter itself: the
// body is the input, and nothing is sized by a field.
func TestOpenAllocatesLittle(t *testing.T) {
	const most = 1 << 10 // bytes, with an error's text
	le := binary.LittleEndian
	for _, kind := range allKinds {
		sound := buildExactly(t, kind, 10, randomHashes(1, 1000))
		for _, field := range []int{8, 16, 24, 32, 48, 56} {
			for _, claim := range []uint64{1, 1 << 31, 1 << 40, math.MaxInt64, math.MaxUint64} {
				data := append([]byte(nil), sound...)
				le.PutUint64(data[field:], claim)
				le.PutUint32(data[crcOffset:], checksum(data))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				f, err := Open(data)
				runtime.ReadMemStats(&after)
				if got := after.TotalAlloc - before.TotalAlloc; got > most {
					t.Errorf("%v with %#x at %d: %d bytes allocated for %v, %v", kind, claim, field, got, f.Kind(), err)
				}
			}
		}
	}
}

// A number of bits that is none has no peak either: it is no small one.
func TestPeakMemoryOfNonsense(t *testing.T) {
	for _, kind := range append(allKinds, numKinds) {
		for _, bits := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, MaxBitsPerKey + 1} {
			if peak := PeakMemory(kind, 1000, bits); peak != math.MaxUint64 {
				t.Errorf("%v at %v bits: peak memory %d", kind, bits, peak)
			}
		}
	}
	if peak := PeakMemory(numKinds, 1000, 10); peak != math.MaxUint64 {
		t.Errorf("unknown kind: peak memory %d", peak)
	}
}
