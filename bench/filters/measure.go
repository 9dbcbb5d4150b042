package main

import (
	"fmt"
	"runtime"
	"slices"
)

// A task is something to time. Tasks of one comparison take turns, so that what
// disturbs the machine disturbs all of them.
type task struct {
	name  string
	ops   int // keys that run handles
	run   func()
	warm  bool      // run once before each measurement
	times []float64 // ns for each key, by round
}

// takeTurns measures every task once in every round.
func takeTurns(rounds int, tasks ...*task) {
	for range rounds {
		for _, t := range tasks {
			if t.warm {
				t.run()
			}
			start := cpuNanos()
			t.run()
			t.times = append(t.times, float64(cpuNanos()-start)/float64(t.ops))
		}
		runtime.GC() // between rounds, not in them
	}
}

// String returns the median and the best of the rounds.
func (t *task) String() string {
	s := slices.Sorted(slices.Values(t.times))
	if len(s) == 0 {
		return "–"
	}
	return fmt.Sprintf("%s (%s)", figure(s[(len(s)-1)/2]), figure(s[0]))
}

// figure prints three digits.
func figure(x float64) string {
	switch {
	case x < 10:
		return fmt.Sprintf("%.2f", x)
	case x < 100:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// allocations returns the heap allocations of one call of fn.
func allocations(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

// sink keeps results alive.
var sink int //nolint:unused // what is measured must be used
