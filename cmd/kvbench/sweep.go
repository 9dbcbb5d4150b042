package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/siftkv/sift/bench/sweep"
)

// runSweep prints what every combination of filters, tables, lookups and caches
// costs.
func runSweep(ctx context.Context, env environment) error {
	f, err := parseSweepFlags(env.args)
	if errors.Is(err, errHelp) {
		_, err = io.WriteString(env.stdout, sweepUsage)
		return err
	}
	if err != nil {
		return err
	}
	line := env.paced(float64(f.Cells()) * float64(f.Lookups))
	defer line.clear()
	f.Progress = func(done, of, lookups int) {
		line.show(fmt.Sprintf("combination %d of %d", done, of), float64(done)*float64(lookups))
	}
	out := f.output(env.stdout)
	return f.Run(ctx, func(group []sweep.Cell) error {
		line.clear()
		return out(group)
	})
}

// output returns what prints a group of cells.
func (f *sweepFlags) output(w io.Writer) func([]sweep.Cell) error {
	switch {
	case f.json:
		encoder := json.NewEncoder(w)
		return func(group []sweep.Cell) error {
			for i := range group {
				if err := encoder.Encode(&group[i]); err != nil {
					return err
				}
			}
			return nil
		}
	case f.csv:
		return sweepCSV(w)
	}
	first := true
	return func(group []sweep.Cell) error {
		text := sweepTable(group)
		if first {
			text = f.heading() + text
		}
		first = false
		_, err := io.WriteString(w, text)
		return err
	}
}

func (f *sweepFlags) heading() string {
	return fmt.Sprintf("%s pairs, %s, in memory; %s lookups in each combination, keys chosen evenly, seed %d\n",
		commas(f.Pairs), byteCount(float64(f.DataBytes())), commas(f.Lookups), f.Seed)
}

// sweepTable prints a group, and the sentence on it.
func sweepTable(group []sweep.Cell) string {
	g := grid{indent: 20, width: 8}
	g.line("\n" + sweep.Title(&group[0]))
	g.row("filter", []string{"KiB", "reads/lookup", "as cache", "saved/MB", "false pos.", "1000/s", "verdict"})
	for i := range group {
		c := &group[i]
		if c.Filter == sweep.NoFilter {
			g.row(c.Filter, []string{"-", digits(c.ReadsPerLookup), "-", "-", "-", digits(c.LookupsPerSec / 1e3), "-"})
			continue
		}
		g.row(c.Filter+", "+strconv.FormatFloat(c.BitsPerKey, 'f', -1, 64)+" bits", []string{
			digits(float64(c.FilterBytes) / 1024), digits(c.ReadsPerLookup), digits(c.CacheInstead), signed(c.SavedPerMB),
			falsePositives(c), digits(c.LookupsPerSec / 1e3), string(c.Verdict),
		})
	}
	return g.String() + sweep.Say(group) + "\n"
}

// falsePositives is the measured rate, if a filter was asked for a key that it
// lacks.
func falsePositives(c *sweep.Cell) string {
	if c.FalsePositiveRate == 1 {
		return "-"
	}
	return percent(c.FalsePositiveRate)
}

// signed is digits for what may be below zero.
func signed(x float64) string {
	if x < 0 {
		return "-" + digits(-x)
	}
	return digits(x)
}

// sweepCSV returns what prints cells as CSV, after the names of the columns.
func sweepCSV(w io.Writer) func([]sweep.Cell) error {
	out := csv.NewWriter(w)
	header := []string{
		"shape", "filter", "bits_per_key", "absent", "cache_bytes", "pairs", "value_size", "lookups", "seed", "data_bytes", "filter_bytes",
		"disk_reads_per_lookup", "lookups_per_sec", "candidates_per_lookup", "false_positive_rate", "designed_rate",
		"reads_without_filter", "reads_with_cache_instead", "reads_saved_per_mb", "verdict",
	}
	return func(group []sweep.Cell) error {
		if header != nil {
			if err := out.Write(header); err != nil {
				return err
			}
			header = nil
		}
		for i := range group {
			c := &group[i]
			err := out.Write([]string{
				string(c.Shape), c.Filter, exact(c.BitsPerKey), exact(c.Absent), strconv.FormatInt(c.CacheBytes, 10),
				strconv.Itoa(c.Pairs), strconv.Itoa(c.ValueSize), strconv.Itoa(c.Lookups), strconv.FormatUint(c.Seed, 10),
				strconv.FormatInt(c.DataBytes, 10), strconv.FormatInt(c.FilterBytes, 10),
				exact(c.ReadsPerLookup), exact(c.LookupsPerSec), exact(c.Candidates), exact(c.FalsePositiveRate), exact(c.DesignedRate),
				exact(c.WithoutFilter), exact(c.CacheInstead), exact(c.SavedPerMB), string(c.Verdict),
			})
			if err != nil {
				return err
			}
		}
		out.Flush()
		return out.Error()
	}
}

// exact writes a number with all of its digits.
func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
