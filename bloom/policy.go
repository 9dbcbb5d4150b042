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
// a level. The average is bits over keys, of runs of weight 0 too. What cannot be
// used, since every run has as many bits as it may, is left over: see
// [Allotment.Bytes].
//
// It refuses an average that is NaN, negative or above [MaxBitsPerKey], and runs
// of an unknown kind, of more than 2^52 keys, or with a weight that is NaN,
// negative or infinite.
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

// AllotMemory is [Allot] for a total number of bytes, headers not counted.
func AllotMemory(runs []Run, bytes uint64) (Allotment, error) {
	return allot(runs, 8*float64(bytes))
}

var errRun = errors.New("bloom: invalid run")

// allot minimises wasted reads within a budget of bits.
func allot(runs []Run, budget float64) (Allotment, error) {
	for i, r := range runs {
		if r.Kind >= numKinds || !(r.Weight >= 0) || math.IsInf(r.Weight, 1) || r.Keys > maxKeys {
			return Allotment{}, fmt.Errorf("%w %d: %d keys, %v, weight %v", errRun, i, r.Keys, r.Kind, r.Weight)
		}
	}
	a := allotter{runs: runs, budget: budget, curves: curvesOf(runs), fixed: make([]float64, len(runs))}
	for i := range a.fixed {
		a.fixed[i] = free
	}
	best := describe(runs, a.solve())
	for i, r := range runs {
		if r.Kind == Fuse {
			best = a.tryEverySize(i, best)
		}
	}
	return best, nil
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

// memory returns the bits of all filters.
func memory(runs []Run, bits []float64) (total float64) {
	for i, r := range runs {
		total += bits[i] * float64(r.Keys)
	}
	return total
}
