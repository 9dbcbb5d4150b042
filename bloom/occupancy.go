package bloom

import "math"

// The rates below are exact for a filter whose probes are independent and
// uniform, at its real, finite size: no e^(-kn/m). A probe for an absent key
// hits j distinct bits with some probability, and those j bits are all set with
// some probability; both follow from recurrences of positive terms, so that
// nothing cancels however small the rate is.
//
// The textbook (1 - (1 - 1/m)^(kn))^k takes the bits for independent and is too
// small by a third where m is 64 and by nothing that matters from a few thousand
// bits on: Bose et al., On the false-positive rate of Bloom filters, IPL 108
// (2008), https://doi.org/10.1016/j.ipl.2008.05.018.

// distinct returns d[j], the probability that k throws into m cells hit exactly
// j of them.
func distinct(m float64, k int) []float64 {
	d := make([]float64, k+1)
	d[0] = 1
	for range k {
		for j := k; j > 0; j-- {
			d[j] = d[j]*float64(j)/m + d[j-1]*max(0, m-float64(j)+1)/m
		}
		d[0] = 0
	}
	return d
}

// An occupancy holds q[j], the probability that j given cells of m are all
// occupied, for j = 0..k.
type occupancy struct {
	m float64
	q []float64
}

func newOccupancy(m float64, k int) occupancy {
	o := occupancy{m: m, q: make([]float64, k+1)}
	o.q[0] = 1
	return o
}

// throw accounts for one more throw: j cells are occupied after it if they were
// before, or if one of them was missing and has been hit.
func (o occupancy) throw() {
	for j := len(o.q) - 1; j > 0; j-- {
		hit := min(1, float64(j)/o.m)
		o.q[j] = o.q[j]*(1-hit) + o.q[j-1]*hit
	}
}

// rate returns the probability that all of a key's probes, which hit j cells
// with probability d[j], find occupied cells.
func (o occupancy) rate(d []float64) float64 {
	var sum float64
	for j, p := range d {
		sum += p * o.q[j]
	}
	return min(sum, 1)
}

// classicRate returns the rate of k probes into m bits after n keys.
func classicRate(n, m uint64, k int) float64 { return classicHit(n, m, k, k) }

// classicHit returns the probability that a number of probes into m bits hit
// set bits only, after n keys that set k bits each. The recurrence of throw is a
// triangular matrix; for many throws its power takes log2(n) squarings.
func classicHit(n, m uint64, k, probes int) float64 {
	o := newOccupancy(float64(m), probes)
	if n <= 256 {
		for range n * uint64(k) {
			o.throw()
		}
		return o.rate(distinct(o.m, probes))
	}
	step := make([][]float64, probes+1)
	for j := range step {
		step[j] = make([]float64, probes+1)
		hit := min(1, float64(j)/o.m)
		step[j][j] = 1 - hit
		if j > 0 {
			step[j][j-1] = hit
		}
	}
	perKey := step
	for range k - 1 {
		perKey = multiplyLower(perKey, step)
	}
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			o.q = applyLower(perKey, o.q)
		}
		if n > 1 {
			perKey = multiplyLower(perKey, perKey)
		}
	}
	return o.rate(distinct(o.m, probes))
}

// multiplyLower returns the product of two lower triangular matrices.
func multiplyLower(a, b [][]float64) [][]float64 {
	c := make([][]float64, len(a))
	for i := range c {
		c[i] = make([]float64, len(a))
		for l := 0; l <= i; l++ {
			for j := 0; j <= l; j++ {
				c[i][j] += a[i][l] * b[l][j]
			}
		}
	}
	return c
}

func applyLower(a [][]float64, v []float64) []float64 {
	w := make([]float64, len(v))
	for i, row := range a {
		for j := 0; j <= i; j++ {
			w[i] += row[j] * v[j]
		}
	}
	return w
}

// saturated is the number of throws after which every bit of a line is taken for
// set; one of them is not with a probability below 1e-18.
const saturated = 48 * lineBits

// blockedRate returns the rate of k probes into one of several lines of 512
// bits after n keys.
func blockedRate(n, lines uint64, k int) float64 {
	var sum float64
	d := distinct(lineBits, k)
	if !eachLoad(n, lines, k, k, func(_, weight float64, o occupancy) { sum += weight * o.rate(d) }) {
		return 1
	}
	return min(sum, 1)
}

// eachLoad calls fn for every number of keys that a line may receive when n keys
// of k throws each fall on a number of lines, with its probability and the
// line's occupancy. A rate averaged over that is one of a small classic filter
// averaged over its number of keys, which is binomial. (Putze, Sanders and
// Singler, equation 3, take it for Poisson, its limit.) It reports false,
// without a call, where all bits are set for certain.
func eachLoad(n, lines uint64, k, probes int, fn func(load, weight float64, o occupancy)) bool {
	if float64(n)/float64(lines)*float64(k) > saturated {
		return false
	}
	first, weights := binomial(n, 1/float64(lines))
	o := newOccupancy(lineBits, probes)
	for range first * uint64(k) {
		o.throw()
	}
	for i, w := range weights {
		fn(float64(first)+float64(i), w, o)
		for range k {
			o.throw()
		}
	}
	return true
}

// binomial returns the probabilities of first, first+1, ... successes in n
// trials, without the tails, which hold less than 1e-24. It walks from the mode
// in both directions and scales the result to a sum of 1, so that it needs no
// factorials.
func binomial(n uint64, p float64) (first uint64, weights []float64) {
	const negligible = 1e-28
	if p >= 1 {
		return n, []float64{1}
	}
	odds := p / (1 - p)
	mode := min(uint64(float64(n)*p), n)
	var below []float64
	for i, w := mode, 1.0; i > 0 && w > negligible; i-- {
		w *= float64(i) / float64(n-i+1) / odds
		below = append(below, w)
	}
	for i := range below {
		weights = append(weights, below[len(below)-1-i])
	}
	weights = append(weights, 1)
	for i, w := mode, 1.0; i < n && w > negligible; i++ {
		w *= float64(n-i) / float64(i+1) * odds
		weights = append(weights, w)
	}
	var sum float64
	for _, w := range weights {
		sum += w
	}
	for i := range weights {
		weights[i] /= sum
	}
	return mode - uint64(len(below)), weights
}

// deviation returns the standard deviation of the false-positive rate from one
// set of n keys to another, given its mean. Twice the probes of an absent key are
// the probes of two, so that their hit rate is the second moment.
func (h *header) deviation(n uint64, mean float64) float64 {
	switch h.kind {
	case Blocked:
		return math.Sqrt(max(0, blockedVariance(n, h.units, int(h.probes), mean)))
	case Classic:
		k := int(h.probes)
		return math.Sqrt(max(0, classicHit(n, h.units, k, 2*k)-mean*mean))
	default:
		return 0
	}
}

// blockedVariance returns the variance of the mean over the lines, given the
// mean. The lines share a fixed number of keys, so what a line's rate owes to its
// load, as far as it is linear, evens out between them.
func blockedVariance(n, lines uint64, k int, mean float64) float64 {
	expected := float64(n) / float64(lines)
	ofLoad := expected * (1 - 1/float64(lines))
	one, two := distinct(lineBits, k), distinct(lineBits, 2*k)
	var second, covariance float64
	eachLoad(n, lines, k, 2*k, func(load, weight float64, o occupancy) {
		second += weight * o.rate(two)
		covariance += weight * (load - expected) * o.rate(one)
	})
	variance := second - mean*mean
	if ofLoad > 0 {
		variance -= covariance * covariance / ofLoad
	}
	return variance / float64(lines)
}
