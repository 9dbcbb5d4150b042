package workload

import (
	"math"
	"math/rand/v2"
)

// zipfTheta is the skew that YCSB uses.
const zipfTheta = 0.99

// A zipf draws numbers below n, of which x has a chance near 1/(x+1)^theta: 0 and
// 1 exactly, the others by an approximation that takes no table. Gray,
// Sundaresan, Englert, Baclawski and Weinberger, "Quickly generating
// billion-record synthetic databases", SIGMOD 1994,
// https://doi.org/10.1145/191839.191886
type zipf struct {
	n               float64
	alpha, eta      float64
	zeta, firstBoth float64
}

func newZipf(n int) *zipf {
	z := &zipf{n: float64(n), alpha: 1 / (1 - zipfTheta), firstBoth: 1 + math.Pow(0.5, zipfTheta)}
	for i := range n {
		z.zeta += math.Pow(float64(i+1), -zipfTheta)
	}
	z.eta = (1 - math.Pow(2/z.n, 1-zipfTheta)) / (1 - z.firstBoth/z.zeta)
	return z
}

func (z *zipf) draw(rng *rand.Rand) int {
	u := rng.Float64()
	switch uz := u * z.zeta; {
	case uz < 1:
		return 0
	case uz < z.firstBoth:
		return 1
	}
	return int(min(z.n*math.Pow(z.eta*u-z.eta+1, z.alpha), z.n-1))
}
