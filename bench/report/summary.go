package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/siftkv/sift/bench/sweep"
	"github.com/siftkv/sift/bench/workload"
)

// A Summary is a report for programs.
type Summary struct {
	Stores    []string          `json:"stores"`
	Workloads []WorkloadSummary `json:"workloads"`
	Sweep     []sweep.Cell      `json:"sweep"`
	Skipped   []Skipped         `json:"skipped"`
	Unknown   []string          `json:"unknown_workloads"`
}

// A WorkloadSummary is all rounds of a workload on a store.
type WorkloadSummary struct {
	Store     string            `json:"store"`
	Workload  string            `json:"workload"`
	Keys      string            `json:"keys"`
	Pairs     int               `json:"pairs"`
	ValueSize int               `json:"value_size"`
	Clients   int               `json:"clients"`
	Sync      bool              `json:"sync"`
	Cold      bool              `json:"cold"`
	Rounds    int               `json:"rounds"`
	OfFastest float64           `json:"speed_of_fastest"` // 1 if this is the fastest store
	Stalls    int               `json:"stalls"`           // in the round of middle speed
	Figures   map[string]Spread `json:"figures"`
}

// Summarise puts the data together.
func (d *Data) Summarise() Summary {
	a := d.arrange()
	s := Summary{Stores: a.stores, Sweep: d.Cells, Skipped: d.Skipped, Unknown: a.unknown()}
	for _, c := range a.cases {
		for _, store := range a.stores {
			rounds := a.rounds[place{store, c}]
			if len(rounds) == 0 {
				continue
			}
			w := WorkloadSummary{
				Store: store, Workload: c.Workload, Keys: c.Keys, Pairs: c.Pairs, ValueSize: c.ValueSize,
				Clients: c.Clients, Sync: c.Sync, Cold: c.Cold, Rounds: len(rounds), Figures: make(map[string]Spread),
			}
			w.OfFastest, _ = a.toBest(store, c)
			w.Stalls = stallsOf(a.typical(store, c))
			for _, r := range rounds {
				for name := range r.Figures {
					w.Figures[name], _ = a.figure(store, c, name)
				}
			}
			s.Workloads = append(s.Workloads, w)
		}
	}
	return s
}

func stallsOf(r *workload.Result) int {
	if r == nil || len(r.Timeline) <= leastTime {
		return 0
	}
	return len(stalls(r.Timeline[:len(r.Timeline)-1]))
}

// WriteJSON writes the summary as one object.
func (d *Data) WriteJSON(w io.Writer) error {
	text, err := json.MarshalIndent(d.Summarise(), "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// WriteCSV writes a line for each figure of each workload and store, and for each
// figure of each cell of a sweep, of which there is one round.
func (d *Data) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	write := func(fields ...string) { _ = out.Write(fields) } // out keeps the error
	exact := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	write("store", "workload", "settings", "rounds", "figure", "median", "least", "greatest")
	for _, s := range d.Summarise().Workloads {
		c := Case{s.Workload, s.Keys, s.Pairs, s.ValueSize, s.Clients, s.Sync, s.Cold}
		for _, name := range slices.Sorted(maps.Keys(s.Figures)) {
			f := s.Figures[name]
			write(s.Store, s.Workload, c.settings(), strconv.Itoa(s.Rounds), name, exact(f.Median), exact(f.Low), exact(f.High))
		}
	}
	for i := range d.Cells {
		c := &d.Cells[i]
		settings := fmt.Sprintf("%s, %s bits, absent %s, cache %d B", c.Filter, exact(c.BitsPerKey), exact(c.Absent), c.CacheBytes)
		for _, f := range []struct {
			name string
			v    float64
		}{
			{"filter_bytes", float64(c.FilterBytes)},
			{"disk_reads_per_lookup", c.ReadsPerLookup},
			{"reads_without_filter", c.WithoutFilter},
			{"reads_with_cache_instead", c.CacheInstead},
			{"reads_saved_per_mb", c.SavedPerMB},
			{"lookups_per_sec", c.LookupsPerSec},
		} {
			write("sift", "sweep-"+string(c.Shape), settings, "1", f.name, exact(f.v), exact(f.v), exact(f.v))
		}
	}
	out.Flush()
	return out.Error()
}

// summaryLines say in a few words what the data is.
func (d *Data) summaryLines() []string {
	a := d.arrange()
	var lines []string
	if len(a.cases) > 0 {
		settings := make(map[string]bool)
		for i := range a.cases {
			settings[a.cases[i].settings()] = true
		}
		names := slices.Sorted(maps.Keys(settings))
		const most = 4
		if len(names) > most {
			names = append(names[:most], "…")
		}
		lines = append(lines,
			fmt.Sprintf("%d %s on %s, %d results.", len(a.cases), plural("workload", len(a.cases)), strings.Join(a.stores, ", "), len(d.Runs)),
			"Pairs, keys and values: "+strings.Join(names, "; ")+".")
	}
	if n := len(d.Cells); n > 0 {
		c := &d.Cells[0]
		lines = append(lines, fmt.Sprintf("A sweep of %d %s: %s pairs, values of %s B, %s lookups in each, keys chosen evenly.",
			n, plural("cell", n), count(float64(c.Pairs)), count(float64(c.ValueSize)), count(float64(c.Lookups))))
	}
	return lines
}

func plural(noun string, n int) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
