package workload

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The drawn numbers have the chances that they should: 0 and 1, which are drawn
// exactly, within five standard deviations; those after them are drawn by an
// approximation, which is off most for 2 and 3.
func TestZipf(t *testing.T) {
	const n, draws = 10_000, 1_000_000
	rng := rand.New(rand.NewPCG(1, 2))
	z := newZipf(n)
	counts := make([]int, n)
	for range draws {
		counts[z.draw(rng)]++
	}
	chance := func(from, to int) (p float64) {
		for x := from; x < to; x++ {
			p += math.Pow(float64(x+1), -zipfTheta) / z.zeta
		}
		return p
	}
	for _, c := range []struct {
		from, to int
		off      float64 // share by which the approximation may be off
	}{
		{0, 1, 0}, {1, 2, 0}, {2, 4, 0.17}, {4, 8, 0.08}, {8, 16, 0.04}, {16, 64, 0.04}, {64, 256, 0.04}, {256, 1024, 0.04}, {1024, 4096, 0.04}, {4096, n, 0.04},
	} {
		got := 0
		for _, k := range counts[c.from:c.to] {
			got += k
		}
		p := chance(c.from, c.to)
		want := draws * p
		limit := 5*math.Sqrt(want*(1-p)) + c.off*want
		t.Logf("%5d to %5d: %7d, want %9.0f ± %.0f", c.from, c.to, got, want, limit)
		if math.Abs(float64(got)-want) > limit {
			t.Errorf("%d to %d were drawn %d times; want %.0f ± %.0f", c.from, c.to, got, want, limit)
		}
	}
}

// The least set of keys that a run takes is one that zipf can draw from, and the
// last number can come.
func TestZipfSmall(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	z := newZipf(100)
	most := 0
	for range 100_000 {
		x := z.draw(rng)
		if x < 0 || x > 99 {
			t.Fatalf("drew %d of 100", x)
		}
		most = max(most, x)
	}
	if most != 99 {
		t.Errorf("the greatest number drawn is %d; want 99", most)
	}
}
