package main

import "slices"

// The figures of the phases, as they are printed.
const (
	putRate    = "put, thousand/s"
	allRate    = "put to compacted, thousand/s"
	flushTime  = "flush, s"
	compactFor = "compact, s"
	cpuPerOp   = "processor, µs a put"
	diskSize   = "on disk, MB"
	lookupRate = "thousand/s"
	median     = "median, µs"
	p99        = "99th percentile, µs"
	readCalls  = "read calls a lookup"
	peakMemory = "peak memory, MB"
)

// figuresOf returns the figures of a phase in the order of print. Rates are
// those of which more is better.
func figuresOf(phase string) []string {
	if phase == fillPhase {
		return []string{putRate, allRate, flushTime, compactFor, cpuPerOp, diskSize, peakMemory}
	}
	return []string{lookupRate, median, p99, readCalls, peakMemory}
}

func moreIsBetter(figure string) bool {
	return figure == putRate || figure == allRate || figure == lookupRate
}

// A spread is the median of some rounds, and the least and greatest.
type spread struct{ low, mid, high float64 }

func spreadOf(values []float64) spread {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return spread{v[0], (v[(n-1)/2] + v[n/2]) / 2, v[n-1]}
}

// series are the samples of all rounds.
type series []sample

// values returns a figure of an engine, round by round.
func (s series) values(engine, phase, figure string) []float64 {
	var out []float64
	for _, m := range s {
		if v, ok := m.Figures[figure]; ok && m.Engine == engine && m.Phase == phase {
			out = append(out, v)
		}
	}
	return out
}

// ratios returns how many times better the first engine is than the second in a
// figure, round by round, so that what slows the machine for a while slows both.
func (s series) ratios(first, second, phase, figure string) []float64 {
	a, b := s.values(first, phase, figure), s.values(second, phase, figure)
	var out []float64
	for i := range min(len(a), len(b)) {
		r := a[i] / b[i]
		if !moreIsBetter(figure) {
			r = b[i] / a[i]
		}
		out = append(out, r)
	}
	return out
}
