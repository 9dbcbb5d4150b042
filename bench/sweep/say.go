package sweep

import (
	"fmt"
	"math"
	"strconv"

	"github.com/siftkv/sift/bloom"
)

// Built is the kind of filter that a database builds. The others are there to
// compare.
const Built = bloom.Blocked

// Best returns the filters to take in a group: of those whose lookups read no more
// than Notable above the fewest, the smallest. Only those count that a database
// builds, if there are any. It returns nil if the group has no filters.
func Best(group []Cell) *Cell {
	var choice []*Cell
	for _, only := range []bool{true, false} {
		for i := range group {
			if c := &group[i]; c.Filter != NoFilter && (!only || c.Filter == Built.String()) {
				choice = append(choice, c)
			}
		}
		if len(choice) > 0 {
			break
		}
	}
	var best *Cell
	fewest := math.Inf(1)
	for _, c := range choice {
		fewest = min(fewest, c.ReadsPerLookup)
	}
	for _, c := range choice {
		if c.ReadsPerLookup <= fewest+Notable && (best == nil || c.FilterBytes < best.FilterBytes) {
			best = c
		}
	}
	return best
}

// Say returns one sentence on a group: whether filters pay in it, which, and what
// their memory would do as cache.
func Say(group []Cell) string {
	c := Best(group)
	if c == nil {
		return ""
	}
	what := fmt.Sprintf("%s at %s bits a key (%s)", c.Filter, short(c.BitsPerKey), kib(c.FilterBytes))
	switch c.Judge() {
	case Pays:
		return fmt.Sprintf("Filters pay: %s leave %s of %s disk reads a lookup; as cache the same memory would leave %s.",
			what, short(c.ReadsPerLookup), short(c.WithoutFilter), short(c.CacheInstead))
	case Even:
		return fmt.Sprintf("Filters or cache, it makes little difference: %s leave %s of %s disk reads a lookup, as cache the same memory would leave %s.",
			what, short(c.ReadsPerLookup), short(c.WithoutFilter), short(c.CacheInstead))
	default:
		return fmt.Sprintf("Filters are wasted memory: %s leave %s of %s disk reads a lookup; as cache the same memory would leave %s.",
			what, short(c.ReadsPerLookup), short(c.WithoutFilter), short(c.CacheInstead))
	}
}

// Title says what a group has in common.
func Title(c *Cell) string {
	where := "One sorted run"
	if c.Shape == Overlapping {
		where = "Overlapping tables"
	}
	return fmt.Sprintf("%s, %s %% absent keys, cache %s (%s %% of the data)",
		where, short(100*c.Absent), kib(c.CacheBytes), short(100*float64(c.CacheBytes)/float64(max(c.DataBytes, 1))))
}

// kib writes a number of bytes.
func kib(n int64) string {
	if n < 10<<20 {
		return short(float64(n)/(1<<10)) + " KiB"
	}
	return short(float64(n)/(1<<20)) + " MiB"
}

// short writes a number to three digits, or as a whole one.
func short(x float64) string {
	if x >= 100 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}
