package bloom

import (
	"math"
	"testing"
)

// The table that docs/filters.md shows.
func TestBitsForRate(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		rate float64
		want float64
	}{
		{Blocked, 0.01, 9.9},
		{Blocked, 0.001, 15.6},
		{Blocked, 0.0001, 22.1},
		{Classic, 0.01, 9.6},
		{Classic, 0.001, 14.4},
		{Classic, 0.0001, 19.2},
		{Fuse, 0.01, 7.9},
		{Fuse, 0.001, 11.3},
		{Fuse, 0.0001, 15.9},
		{Ribbon, 0.01, 7.0},
		{Ribbon, 0.001, 10.5},
		{Ribbon, 0.0001, 14.0},
	} {
		got, err := BitsForRate(c.kind, c.rate)
		if err != nil || math.Abs(got-c.want) > 0.11 {
			t.Errorf("%v at rate %v: %v bits, %v, want %v", c.kind, c.rate, got, err, c.want)
		}
		rate, err := RateForBits(c.kind, got)
		if err != nil || rate > c.rate {
			t.Errorf("%v of %v bits: rate %v, %v, want at most %v", c.kind, got, rate, err, c.rate)
		}
		if above, _ := RateForBits(c.kind, got-0.02); above <= c.rate {
			t.Errorf("%v: %v bits are more than rate %v needs", c.kind, got, c.rate)
		}
	}
}

func TestTheoryRefuses(t *testing.T) {
	for _, rate := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -0.1, 0, 1, 1.5, 1e-300} {
		for _, kind := range allKinds {
			if bits, err := BitsForRate(kind, rate); err == nil {
				t.Errorf("%v: rate %v accepted: %v bits", kind, rate, bits)
			}
		}
	}
	for _, bits := range []float64{math.NaN(), math.Inf(1), -1, 0, MaxBitsPerKey + 1} {
		if _, err := RateForBits(Blocked, bits); err == nil {
			t.Errorf("RateForBits: %v bits accepted", bits)
		}
		if _, err := BestProbes(Blocked, bits); err == nil {
			t.Errorf("BestProbes: %v bits accepted", bits)
		}
		if _, err := Overfilled(Blocked, bits, 1); err == nil {
			t.Errorf("Overfilled: %v bits accepted", bits)
		}
		if _, err := FilterSize(Blocked, 1, bits); err == nil {
			t.Errorf("FilterSize: %v bits accepted", bits)
		}
	}
	for _, factor := range []float64{math.NaN(), math.Inf(1), 0, -1} {
		if _, err := Overfilled(Blocked, 10, factor); err == nil {
			t.Errorf("fill factor %v accepted", factor)
		}
	}
	if _, err := Overfilled(Fuse, 10, 2); err == nil {
		t.Error("a fuse filter that grew was accepted")
	}
	if _, err := BitsForRate(numKinds, 0.01); err == nil {
		t.Error("unknown kind accepted")
	}
	for _, k := range []int{-1, 0, 17, 100} {
		if _, err := BlockedRate(1, 1, k); err == nil {
			t.Errorf("%d probes of a line accepted", k)
		}
	}
	if _, err := BlockedRate(1, 0, 1); err == nil {
		t.Error("no lines accepted")
	}
	if _, err := ClassicRate(1, 0, 1); err == nil {
		t.Error("no bits accepted")
	}
}

// No number of keys makes the exact rates slow, negative or more than 1.
func TestRatesAtTheExtremes(t *testing.T) {
	for _, n := range []uint64{0, 1, 1 << 20, 1 << 40, math.MaxUint64} {
		for _, m := range []uint64{1, 64, 1 << 20, 1 << 40, math.MaxUint64} {
			for _, k := range []int{1, 7, 16} {
				b, err := BlockedRate(n, m, k)
				c, err2 := ClassicRate(n, m, k)
				if err != nil || err2 != nil || !(b >= 0 && b <= 1 && c >= 0 && c <= 1) {
					t.Errorf("%d keys in %d units, %d probes: blocked %v %v, classic %v %v", n, m, k, b, err, c, err2)
				}
				if n == 0 && (b != 0 || c != 0) {
					t.Errorf("no keys have rates %v and %v", b, c)
				}
			}
		}
	}
}

// The number of probes is within 2.5 % of the best at every number of bits.
func TestProbesAreNearBest(t *testing.T) {
	for bits := 0.5; bits <= MaxBitsPerKey; bits += 0.5 {
		n := uint64(theoryLines * lineBits / bits)
		best := 1.0
		for k := 1; k <= maxBlockedProbes; k++ {
			best = min(best, blockedRate(n, theoryLines, k))
		}
		k, err := BestProbes(Blocked, bits)
		if got := blockedRate(n, theoryLines, k); err != nil || got > best*1.025 {
			t.Errorf("%v bits: %d probes have rate %v, best is %v, %v", bits, k, got, best, err)
		}
	}
}

// More bits never make a worse filter.
func TestRateFallsWithBits(t *testing.T) {
	for _, kind := range allKinds {
		last := 1.0
		for bits := 0.25; bits <= MaxBitsPerKey; bits += 0.25 {
			rate, err := RateForBits(kind, bits)
			if err != nil || rate > last*(1+1e-9) {
				t.Errorf("%v: rate %v at %v bits after %v, %v", kind, rate, bits, last, err)
			}
			last = rate
		}
	}
}

func TestOverfilled(t *testing.T) {
	for _, c := range []struct{ factor, want float64 }{
		{0.5, 0.0005}, {1, 0.0097}, {1.25, 0.024}, {1.5, 0.047}, {2, 0.12}, {3, 0.34}, {100, 1},
	} {
		got, err := Overfilled(Blocked, 10, c.factor)
		if err != nil || math.Abs(got/c.want-1) > 0.12 {
			t.Errorf("%v times the keys: rate %v, %v, want about %v", c.factor, got, err, c.want)
		}
	}
}

func TestMemory(t *testing.T) {
	// Ten bits for a million keys are 1.25 MB, not 1.5.
	size, err := FilterSize(Blocked, 1_000_000, 10)
	if err != nil || size < 1_250_000 || size > 1_252_000 {
		t.Errorf("10 bits for a million keys: %d bytes, %v", size, err)
	}
	if bits := BitsForMemory(1_000_000, size); math.Abs(bits-10) > 0.02 {
		t.Errorf("%d bytes for a million keys: %v bits", size, bits)
	}
	if b := BitsForMemory(0, 1<<20); b != MaxBitsPerKey {
		t.Errorf("memory for no keys: %v bits", b)
	}
	if b := BitsForMemory(10, 3); b != 0 {
		t.Errorf("3 bytes: %v bits", b)
	}
	for _, kind := range allKinds {
		for _, n := range []int{0, 1, 100, 5000} {
			want, err := FilterSize(kind, uint64(n), 9.5)
			if got := len(build(t, kind, 9.5, randomHashes(1, n))); err != nil || uint64(got) != want {
				t.Errorf("%v of %d keys: %d bytes, FilterSize says %d, %v", kind, n, got, want, err)
			}
		}
	}
}

// A static filter takes no more bits than it was asked to, but for the rounding
// of small ones.
func TestStaticFiltersKeepToTheirBits(t *testing.T) {
	for _, kind := range []Kind{Fuse, Ribbon} {
		for _, n := range []int{1000, 30_000, effort(300_000)} {
			for _, bits := range []float64{3, 6.5, 9, 10, 14.25} {
				f := open(t, build(t, kind, bits, randomHashes(1, n)))
				if f.kind == kind && f.BitsPerKey() > bits+0.15 {
					t.Errorf("%v of %d keys: %v bits a key, asked for %v", kind, n, f.BitsPerKey(), bits)
				}
			}
		}
	}
}

// The goals for the last level: bits a key over log2(1/rate).
func TestStaticOverhead(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		bits float64
		want float64
	}{{Fuse, 9.1, 1.14}, {Ribbon, 9.4, 1.05}} {
		h, size := shape(c.kind, 1_000_000, c.bits)
		got := 8 * float64(size) / 1e6 / math.Log2(1/h.rate(1_000_000))
		if got > c.want {
			t.Errorf("%v: %.4f bits for each of log2(1/rate), want %v at most", c.kind, got, c.want)
		}
	}
}
