package model

import (
	"math"

	"github.com/siftkv/sift/bloom"
)

// Reads is the expected number of disk reads of one lookup. No cache holds any
// block; the tables that are open cost no read to open.
type Reads struct {
	Absent  float64 `json:"absent"`  // of a key inside the range of all keys
	Present float64 `json:"present"` // of a key that is there, each as likely
}

// exactEntries is how large a filter may be for its rate to be computed at its own
// size. Beyond it the limit is right to five digits.
const exactEntries = 1 << 16

// filterRate returns the false-positive rate of a table's filter.
func filterRate(entries, bits float64) float64 {
	if bits == 0 {
		return 1
	}
	if entries <= exactEntries {
		n := uint64(math.Round(max(entries, 1)))
		probes, err := bloom.BestProbes(bloom.Blocked, bits)
		size, err2 := bloom.FilterSize(bloom.Blocked, n, bits)
		if err == nil && err2 == nil {
			if rate, err := bloom.BlockedRate(n, (size-filterHeader)/filterLine, probes); err == nil {
				return rate
			}
		}
	}
	return rateForBits(bits)
}

const (
	filterHeader = 64 // of an encoded filter
	filterLine   = 64
)

// rateForBits returns the rate of a large filter; without bits there is none.
func rateForBits(bits float64) float64 {
	rate, err := bloom.RateForBits(bloom.Blocked, bits)
	if err != nil {
		return 1
	}
	return rate
}

// filterMemory returns what a resident filter takes, as Metrics.Filters.Memory counts
// it.
func filterMemory(entries, bits float64) float64 {
	if bits == 0 {
		return 0
	}
	size, err := bloom.FilterSize(bloom.Blocked, uint64(math.Round(entries)), bits)
	if err != nil {
		return entries * bits / 8
	}
	return float64(size)
}

// A place is what a lookup meets in a run, at one place of the key range.
type place struct {
	density         // nothing where no table is
	covered float64 // whether a table is there; between 0 and 1 on average
	rate    float64
}

// expectedReads follows a lookup through the runs, from top to bottom.
//
// Absent keys: the sum of the runs' rates, as Monkey has it (SIGMOD 2017, equation 3).
// Present keys: that for the runs above the one that has the key, and one.
func expectedReads(runs []place) (r Reads) {
	passed := 0.0    // share of keys whose first put lies in a run above
	untouched := 1.0 // share of keys that no run above has a second put of
	for _, p := range runs {
		r.Absent += p.covered * p.rate
		here := untouched * (p.again + (1-p.again)*p.first)
		there := untouched * max(1-passed, 0) // keys that no run above has
		r.Present += here + max(there*p.covered-here, 0)*p.rate
		passed += p.first
		untouched *= 1 - p.again
	}
	return r
}

// places is how many places of the key range are looked at: a few for each table of
// all but the largest databases, whose tables are alike.
const places = 1 << 13

// readsOf returns the mean over all the range of keys. Asking a table costs what
// opening says, and rate gives the rate of a table of a run.
func readsOf(runs []Run, opening float64, rate func(run int, t *tableOfRun) float64) (sum Reads) {
	left := make([][]tableOfRun, len(runs))
	for i, r := range runs {
		left[i] = r.tables
	}
	met := make([]place, len(runs))
	for n := range uint64(places) { // the tables are in key order
		x := n*(space/places) + space/places/2
		for i := range left {
			for len(left[i]) > 0 && left[i][0].end <= x {
				left[i] = left[i][1:]
			}
			met[i] = place{}
			if len(left[i]) > 0 && left[i][0].start <= x {
				t := &left[i][0]
				met[i] = place{t.density, 1, rate(i, t)}
			}
		}
		r := expectedReads(met).times(opening / places)
		sum.Absent += r.Absent
		sum.Present += r.Present
	}
	return sum
}

// Reads returns what a lookup expects once everything is put.
func (r *Result) Reads(c Config) Reads {
	return readsOf(r.Runs, opening(float64(r.Tables()), c.MaxOpenFiles), func(_ int, t *tableOfRun) float64 { return t.rate })
}

// opening returns the reads that asking a table costs: one for the block, and one
// more for the table's index unless it is open.
func opening(tables float64, maxOpen int) float64 {
	if tables <= float64(maxOpen) {
		return 1
	}
	return 2 - float64(maxOpen)/tables
}

// MonkeyReads returns what a lookup would expect if the filters' memory were given
// where it saves the most reads, by [bloom.Allot]. The engine does not do that yet.
func (r *Result) MonkeyReads(c Config) Reads {
	rates := monkey(r.filterSizes(), c.BitsPerKey)
	return readsOf(r.Runs, opening(float64(r.Tables()), c.MaxOpenFiles), func(run int, _ *tableOfRun) float64 { return rates[run] })
}

// monkey returns the rates of runs whose filters share the memory of so many bits a
// key.
func monkey(runs []bloom.Run, bits float64) []float64 {
	a, err := bloom.Allot(runs, bits)
	if err != nil {
		panic("BUG: the runs of a valid configuration are refused: " + err.Error())
	}
	return a.Rates
}
