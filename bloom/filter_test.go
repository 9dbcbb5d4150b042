package bloom

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/siftkv/sift/internal/invariants"
)

// effort returns n, or a sixteenth of it under the race detector, which has no
// concurrency to look at here but finds bad pointers.
func effort(n int) int {
	if invariants.Enabled {
		return n / 16
	}
	return n
}

// build returns the encoded filter of hashes, failing the test on an error.
func build(t testing.TB, kind Kind, bitsPerKey float64, hashes []uint64) []byte {
	t.Helper()
	b, err := NewBuilder(kind, bitsPerKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hashes {
		b.Add(h)
	}
	data, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// buildExactly is build without the change to Blocked that a Builder makes where
// that has the lower rate.
func buildExactly(t testing.TB, kind Kind, bitsPerKey float64, hashes []uint64) []byte {
	t.Helper()
	b := Builder{kind: kind, bitsPerKey: bitsPerKey}
	for _, h := range hashes {
		b.Add(h)
	}
	h, size := shape(kind, uint64(b.Len()), bitsPerKey)
	data := Alloc(headerSize + int(size))
	if err := b.fill(&h, data[headerSize:]); err != nil {
		t.Fatal(err)
	}
	h.seal(data)
	return data
}

// open is Open, failing the test on an error.
func open(t testing.TB, data []byte) *Filter {
	t.Helper()
	f, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// randomHashes returns n hashes that depend on the seed alone.
func randomHashes(seed uint64, n int) []uint64 {
	rng := rand.New(rand.NewPCG(seed, 0))
	hs := make([]uint64, n)
	for i := range hs {
		hs[i] = rng.Uint64()
	}
	return hs
}

// A nil Filter and the zero Filter stand for a table without a filter.
func TestNoFilterSaysMaybe(t *testing.T) {
	var none *Filter
	for _, f := range []*Filter{none, {}} {
		for _, h := range []uint64{0, 1, math.MaxUint64} {
			if !f.MayContain(h) {
				t.Errorf("%v denies %d", f, h)
			}
		}
		if f.Rate() != 1 || f.Len() != 0 || f.Size() != 0 || f.BitsPerKey() != 0 {
			t.Errorf("rate %v, len %d, size %d, bits %v", f.Rate(), f.Len(), f.Size(), f.BitsPerKey())
		}
	}
}

func TestBuilderRefuses(t *testing.T) {
	for _, bits := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, 64.1} {
		if _, err := NewBuilder(Blocked, bits); err == nil {
			t.Errorf("%v bits per key accepted", bits)
		}
	}
	if _, err := NewBuilder(numKinds, 10); err == nil {
		t.Error("unknown kind accepted")
	}
}

// A damaged filter must never deny a key. Open refuses every filter in which a
// single bit differs from what the builder wrote.
func TestEveryBitFlipIsRefused(t *testing.T) {
	for kind := range numKinds {
		data := buildExactly(t, kind, 10, randomHashes(1, 300))
		for bit := range 8 * len(data) {
			data[bit/8] ^= 1 << (bit % 8)
			f, err := Open(data)
			if err == nil || f != nil {
				t.Fatalf("%v: bit %d flipped, accepted", kind, bit)
			}
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnknown) {
				t.Fatalf("%v: bit %d: untyped error %v", kind, bit, err)
			}
			data[bit/8] ^= 1 << (bit % 8)
		}
	}
}
