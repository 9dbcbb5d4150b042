package bloom

import (
	"errors"
	"fmt"
	"math"
)

// MaxPolicyBits is the most that [Allot] gives a run, in bits per key. From here
// on a blocked filter's rate halves only every two bits and more.
const MaxPolicyBits = 20

// A Run is a sorted part of the database that a lookup asks once: a level, or a
// table of level 0.
type Run struct {
	Keys uint64
	Kind Kind
	// Weight is the relative number of lookups that ask this run in vain: 1 for
	// a run that every absent key asks. 0 gives the run no filter, as a last
	// level has no use for one if every key that is looked up exists.
	Weight float64
}

// An Allotment says what filters the runs get.
type Allotment struct {
	Bits  []float64 // bits per key of each run; 0: no filter
	Rates []float64 // expected false-positive rate of each run; 1 without filter
	Bytes uint64    // of all filters, without headers
	// Wasted is the expected number of runs that a lookup of weight 1 reads in
	// vain: the sum of Rates times Weights.
	Wasted float64
}

// Allot divides memory among the filters of runs so that lookups read the fewest
// runs in vain. A bit more for each key of a small run costs little and cuts a
// rate that weighs as much as a large run's, so the smaller a run is the more bits
// a key it gets, up to [MaxPolicyBits]: with levels that grow tenfold, five more
// a level. The average is bits over keys, of runs of weight 0 too.
//
// Dayan, Athanassoulis, Idreos: Monkey: Optimal Navigable Key-Value Store, SIGMOD
// 2017, https://doi.org/10.1145/3035918.3064054.
func Allot(runs []Run, averageBits float64) (Allotment, error) {
	if !(averageBits >= 0 && averageBits <= MaxBitsPerKey) {
		return Allotment{}, fmt.Errorf("bloom: %v bits per key on average, want 0 to %d", averageBits, MaxBitsPerKey)
	}
	var keys float64
	for _, r := range runs {
		keys += float64(r.Keys)
	}
	return allot(runs, keys*averageBits)
}

// AllotMemory is Allot for a total number of bytes.
func AllotMemory(runs []Run, bytes uint64) (Allotment, error) {
	return allot(runs, 8*float64(bytes))
}

var errRun = errors.New("bloom: invalid run")

// allot gives each run the bits that minimise wasted reads plus a price for
// memory, and searches the price at which the memory is used up. That finds the
// optimum for any curve of rates, without Monkey's assumption that a rate is
// 0.62^bits.
func allot(runs []Run, budget float64) (Allotment, error) {
	for i, r := range runs {
		if r.Kind >= numKinds || !(r.Weight >= 0) || math.IsInf(r.Weight, 1) || r.Keys > maxKeys {
			return Allotment{}, fmt.Errorf("%w %d: %d keys, %v, weight %v", errRun, i, r.Keys, r.Kind, r.Weight)
		}
	}
	c := curvesOf(runs)
	if most := c.allot(runs, 0); memory(runs, most) <= budget {
		return describe(runs, most), nil
	}
	low, high := -80.0, 0.0 // log2 of prices that are too low and high enough
	for memory(runs, c.allot(runs, math.Exp2(high))) > budget {
		high += 8
	}
	for high-low > 1e-6 {
		mid := (low + high) / 2
		if memory(runs, c.allot(runs, math.Exp2(mid))) > budget {
			low = mid
		} else {
			high = mid
		}
	}
	below, above := c.allot(runs, math.Exp2(high)), c.allot(runs, math.Exp2(low))
	return describe(runs, blend(runs, below, above, budget)), nil
}

const (
	policySteps = 8 // grid of bits per key: an eighth of a bit
	// A filter of fewer bits than this answers "maybe" to every fifth absent key
	// or more, and costs each lookup a cache miss.
	policyLeast = 3
)

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

// allot returns the best bits per key for each run at a price for a bit, in
// wasted reads.
func (c *curves) allot(runs []Run, price float64) []float64 {
	bits := make([]float64, len(runs))
	for i, r := range runs {
		best := r.Weight // without a filter
		curve := c[r.Kind]
		for step := policyLeast * policySteps; step < len(curve); step++ {
			b := float64(step) / policySteps
			if cost := r.Weight*curve[step] + price*b*float64(r.Keys); cost < best {
				best, bits[i] = cost, b
			}
		}
	}
	return bits
}

// blend returns the mixture of two allotments, one below the budget and one
// above, that uses it up.
func blend(runs []Run, below, above []float64, budget float64) []float64 {
	lo, hi := memory(runs, below), memory(runs, above)
	if hi <= lo {
		return below
	}
	share := (budget - lo) / (hi - lo)
	for i, b := range below {
		mixed := b + share*(above[i]-b)
		if mixed >= policyLeast {
			below[i] = mixed
		}
	}
	return below
}

func memory(runs []Run, bits []float64) (total float64) {
	for i, r := range runs {
		total += bits[i] * float64(r.Keys)
	}
	return total
}

func describe(runs []Run, bits []float64) Allotment {
	a := Allotment{Bits: bits, Rates: make([]float64, len(runs)), Bytes: uint64(memory(runs, bits) / 8)}
	for i, r := range runs {
		a.Rates[i] = 1
		if bits[i] > 0 {
			a.Rates[i] = overfilled(r.Kind, bits[i], 1)
		}
		a.Wasted += r.Weight * a.Rates[i]
	}
	return a
}
