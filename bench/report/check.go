package report

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/siftkv/sift/bench/sweep"
	"github.com/siftkv/sift/bench/workload"
)

// Limits of a line's fields. What is measured stays far within them.
const (
	maxName     = 64 // bytes
	maxFigures  = 200
	maxNumber   = 1e18
	maxTimeline = 1 << 20 // periods, a day
)

var errNoFigures = errors.New("a workload without figures; " + whatIsRead)

// checkRun refuses what cannot have been measured, since plots and ratios rely on
// it.
func checkRun(r *workload.Result) error {
	var faults []error
	note := func(err error) { faults = append(faults, err) }
	note(checkName("store", r.Store))
	note(checkName("workload", r.Workload))
	if r.Keys != "" {
		note(checkName("keys", r.Keys))
	}
	for field, n := range map[string]float64{
		"round": float64(r.Round), "pairs": float64(r.Pairs), "value_size": float64(r.ValueSize), "clients": float64(r.Clients),
		"operations": float64(r.Operations), "step_operations": float64(r.StepOps), "seconds": r.Seconds,
	} {
		note(checkNumber(field, n))
	}
	if len(r.Figures) == 0 {
		note(errNoFigures)
	}
	if len(r.Figures) > maxFigures {
		note(fmt.Errorf("%d figures; want at most %d", len(r.Figures), maxFigures))
		return firstOf(faults)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Figures)) {
		note(checkName("figure", name))
		note(checkNumber("figures."+name, r.Figures[name]))
	}
	if len(r.Timeline) > maxTimeline {
		note(fmt.Errorf("a timeline of %d periods; want at most %d", len(r.Timeline), maxTimeline))
	}
	for _, n := range r.Timeline {
		note(checkNumber("timeline", float64(n)))
	}
	return firstOf(faults)
}

// checkCell does the same for a cell of a sweep.
func checkCell(c *sweep.Cell) error {
	faults := []error{checkName("filter", c.Filter)}
	if !slices.Contains(sweep.Shapes(), c.Shape) {
		faults = append(faults, fmt.Errorf("the shape is %.40q; want one of %q", c.Shape, sweep.Shapes()))
	}
	if !(c.Absent >= 0 && c.Absent <= 1) {
		faults = append(faults, fmt.Errorf("a share of %v absent keys; want 0 to 1", c.Absent))
	}
	if c.BitsPerKey > 64 {
		faults = append(faults, fmt.Errorf("%v bits a key; want at most 64", c.BitsPerKey))
	}
	for _, f := range []struct {
		field string
		n     float64
	}{
		{"bits_per_key", c.BitsPerKey},
		{"cache_bytes", float64(c.CacheBytes)},
		{"pairs", float64(c.Pairs)},
		{"value_size", float64(c.ValueSize)},
		{"lookups", float64(c.Lookups)},
		{"data_bytes", float64(c.DataBytes)},
		{"filter_bytes", float64(c.FilterBytes)},
		{"disk_reads_per_lookup", c.ReadsPerLookup},
		{"lookups_per_sec", c.LookupsPerSec},
		{"candidates_per_lookup", c.Candidates},
		{"false_positive_rate", c.FalsePositiveRate},
		{"designed_rate", c.DesignedRate},
		{"reads_without_filter", c.WithoutFilter},
		{"reads_with_cache_instead", c.CacheInstead},
	} {
		faults = append(faults, checkNumber(f.field, f.n))
	}
	return firstOf(faults)
}

// firstOf returns the first error, which is enough to go and look.
func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func checkName(what, s string) error {
	bad := s == "" || len(s) > maxName || !utf8.ValidString(s)
	for _, r := range s {
		bad = bad || !unicode.IsPrint(r)
	}
	if bad {
		return fmt.Errorf("the name of a %s is %.80q; want 1 to %d bytes that can be printed", what, s, maxName)
	}
	return nil
}

func checkNumber(field string, n float64) error {
	if !(n >= 0 && n <= maxNumber) || math.IsNaN(n) {
		return fmt.Errorf("the field %.80s is %v; want a number from 0 to %g", field, n, float64(maxNumber))
	}
	return nil
}
