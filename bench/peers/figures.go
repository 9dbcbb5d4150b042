package main

import (
	"slices"

	"github.com/siftkv/sift/bench/workload"
)

// A column is a figure as tables show it.
type column struct {
	figure string
	title  string
	unit   float64 // by which it is divided
}

// columns are the tables, in the order of print.
func columns() []column {
	const micro, mega, percent = 1e3, 1e6, 0.01
	return []column{
		{workload.OpsPerSec, "Thousand operations a second", 1e3},
		{workload.P50, "Median, µs a step", micro},
		{workload.P99, "99th percentile, µs a step", micro},
		{workload.P999, "99.9th percentile, µs a step", micro},
		{workload.ReadCallsPerOp, "Read calls an operation", 1},
		{workload.ReadBytesPerOp, "Bytes read by them", 1},
		{workload.DirtiedAmplification, "Write amplification: pages made dirty for each byte (without the last memtable, where an engine cannot flush)", 1},
		{workload.OwnAmplification, "Write amplification as the engine counts", 1},
		{workload.FlushTime, "Flush after the workload, s", 1},
		{workload.CompactTime, "Compaction after that, s", 1},
		{workload.SpaceAmplification, "Bytes on disk for each of keys and values", 1},
		{workload.PeakAnon, "Peak memory that no file backs, MB", mega},
		{workload.PeakResident, "Peak resident memory, MB", mega},
		{workload.AllocsPerOp, "Allocations an operation", 1},
		{workload.ProcessorPerOp, "Processor time of all threads, µs an operation", micro},
		{workload.Lost, "Acknowledged writes lost by SIGKILL", 1},
		{workload.OthersShare, "Share of the machine that others took, %", percent},
	}
}

// A spread is the median of some rounds, and the least and greatest.
type spread struct{ low, mid, high float64 }

func spreadOf(values []float64) spread {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return spread{v[0], (v[(n-1)/2] + v[n/2]) / 2, v[n-1]}
}

// series are the results of all rounds.
type series []workload.Result

// values returns a figure of an engine, round by round.
func (s series) values(engine, name, figure string) []float64 {
	var out []float64
	for i := range s {
		if v, ok := s[i].Figures[figure]; ok && s[i].Store == engine && s[i].Workload == name {
			out = append(out, v)
		}
	}
	return out
}

// ratios returns how many times faster the first engine is than the second,
// round by round, so that what slows the machine for a while slows both.
func (s series) ratios(first, second, name string) []float64 {
	a, b := s.values(first, name, workload.OpsPerSec), s.values(second, name, workload.OpsPerSec)
	var out []float64
	for i := range min(len(a), len(b)) {
		out = append(out, a[i]/b[i])
	}
	return out
}

// toBest returns how fast an engine is, as a share of the fastest of its round.
func (s series) toBest(engine, name string, engines []string) []float64 {
	out := s.values(engine, name, workload.OpsPerSec)
	best := slices.Clone(out)
	for _, other := range engines {
		for i, v := range s.values(other, name, workload.OpsPerSec) {
			if i < len(best) {
				best[i] = max(best[i], v)
			}
		}
	}
	for i := range out {
		out[i] /= best[i]
	}
	return out
}
