package bloom

import "math"

const (
	policySteps = 8 // grid of bits per key: an eighth of a bit
	// A filter of fewer bits than this answers "maybe" to every fifth absent key
	// or more, and costs each lookup a cache miss.
	policyLeast = 3

	free = -1 // bits per key that are not fixed
)

// An allotter gives each run the bits that minimise its wasted reads plus a price
// for memory, and searches the price at which the memory is used up. That finds
// the optimum for any convex curve of rates, without Monkey's assumption that a
// rate is 0.62^bits.
type allotter struct {
	runs   []Run
	budget float64 // bits
	curves curves
	fixed  []float64 // bits per key of each run, or free
}

// curves holds the rate of each kind that is in use, by steps of bits per key.
type curves [numKinds][]float64

func curvesOf(runs []Run) (c curves) {
	for _, r := range runs {
		if c[r.Kind] != nil {
			continue
		}
		curve := make([]float64, MaxPolicyBits*policySteps+1)
		for step := policyLeast * policySteps; step < len(curve); step++ {
			curve[step] = overfilled(r.Kind, float64(step)/policySteps, 1)
		}
		c[r.Kind] = curve
	}
	return c
}

// solve returns bits per key that use up the budget, or more than the budget if
// what is fixed exceeds it.
func (a *allotter) solve() []float64 {
	if most := a.at(0); memory(a.runs, most) <= a.budget {
		return most
	}
	low, high := -80.0, 0.0 // log2 of prices that are too low and high enough
	for ; memory(a.runs, a.at(math.Exp2(high))) > a.budget; high += 8 {
		if high > 1000 {
			break
		}
	}
	for high-low > 1e-6 {
		mid := (low + high) / 2
		if memory(a.runs, a.at(math.Exp2(mid))) > a.budget {
			low = mid
		} else {
			high = mid
		}
	}
	return a.blend(a.at(math.Exp2(high)), a.at(math.Exp2(low)))
}

// at returns the best bits per key for each run at a price for a bit, in wasted
// reads.
func (a *allotter) at(price float64) []float64 {
	bits := make([]float64, len(a.runs))
	for i, r := range a.runs {
		if a.fixed[i] != free {
			bits[i] = a.fixed[i]
			continue
		}
		best := r.Weight // without a filter
		curve := a.curves[r.Kind]
		for step := policyLeast * policySteps; step < len(curve); step++ {
			b := float64(step) / policySteps
			if cost := r.Weight*curve[step] + price*b*float64(r.Keys); cost < best {
				best, bits[i] = cost, b
			}
		}
	}
	return bits
}

// blend mixes two allotments, one below the budget and one above, to use it up.
func (a *allotter) blend(below, above []float64) []float64 {
	lo, hi := memory(a.runs, below), memory(a.runs, above)
	if hi <= lo {
		return below
	}
	share := (a.budget - lo) / (hi - lo)
	for i, b := range below {
		if mixed := b + share*(above[i]-b); mixed >= policyLeast {
			below[i] = mixed
		}
	}
	return below
}

// tryEverySize returns the best allotment that gives run i one of the sizes at
// which a fuse filter's rate falls, if that is better than best, and fixes the
// run at that. Between two such sizes lies no price.
func (a *allotter) tryEverySize(i int, best Allotment) Allotment {
	curve := a.curves[a.runs[i].Kind]
	for step := policyLeast * policySteps; step < len(curve); step++ {
		if curve[step] == curve[step-1] {
			continue
		}
		a.fixed[i] = float64(step) / policySteps
		bits := a.solve()
		if memory(a.runs, bits) > a.budget*(1+1e-12) {
			break
		}
		if d := describe(a.runs, bits); d.Wasted < best.Wasted {
			best = d
		}
	}
	a.fixed[i] = best.Bits[i]
	return best
}
