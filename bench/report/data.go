package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/siftkv/sift/bench/workload"
)

// A Case is a workload with its settings. Results of one case and store are rounds
// of the same measurement.
type Case struct {
	Workload  string
	Keys      string
	Pairs     int
	ValueSize int
	Clients   int
	Sync      bool
	Cold      bool
}

func caseOf(r *workload.Result) Case {
	return Case{r.Workload, r.Keys, r.Pairs, r.ValueSize, r.Clients, r.Sync, r.Cold}
}

func (c *Case) settings() string {
	s := fmt.Sprintf("%s, %s keys, %s B", count(float64(c.Pairs)), c.Keys, count(float64(c.ValueSize)))
	if c.Cold {
		s += ", cold"
	}
	return s
}

// A Spread is the median of some rounds, and the least and greatest.
type Spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

func spreadOf(values []float64) Spread {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return Spread{(v[(n-1)/2] + v[n/2]) / 2, v[0], v[n-1]}
}

// runs are the results, by case and store.
type runs struct {
	stores []string // sift first
	cases  []Case   // in the order of the workloads' list, then of reading
	labels map[Case]string
	rounds map[place][]*workload.Result
}

type place struct {
	store string
	of    Case
}

// arrange sorts the results.
func (d *Data) arrange() *runs {
	const ours = "sift"
	a := &runs{stores: slices.Clone(d.stores), labels: make(map[Case]string), rounds: make(map[place][]*workload.Result)}
	slices.SortStableFunc(a.stores, func(x, y string) int {
		return rank(x != ours) - rank(y != ours)
	})
	for i := range d.Runs {
		c := caseOf(&d.Runs[i])
		if _, ok := a.labels[c]; !ok {
			a.cases = append(a.cases, c)
			a.labels[c] = c.Workload
		}
		at := place{d.Runs[i].Store, c}
		a.rounds[at] = append(a.rounds[at], &d.Runs[i])
	}
	known := workload.Names()
	slices.SortStableFunc(a.cases, func(x, y Case) int { return order(known, x.Workload) - order(known, y.Workload) })
	for _, c := range a.cases {
		if differ := a.differing(c); len(differ) > 0 {
			a.labels[c] += " (" + strings.Join(differ, ", ") + ")"
		}
	}
	return a
}

// differing names those settings of a case that another case of the same workload
// has otherwise.
func (a *runs) differing(c Case) []string {
	var names []string
	for _, setting := range []func(Case) string{
		func(c Case) string { return count(float64(c.Pairs)) + " pairs" },
		func(c Case) string { return c.Keys + " keys" },
		func(c Case) string { return count(float64(c.ValueSize)) + " B" },
		func(c Case) string { return count(float64(c.Clients)) + " " + plural("client", c.Clients) },
		func(c Case) string { return either(c.Sync, "sync", "no sync") },
		func(c Case) string { return either(c.Cold, "cold", "warm") },
	} {
		own := setting(c)
		if slices.ContainsFunc(a.cases, func(o Case) bool { return o.Workload == c.Workload && setting(o) != own }) {
			names = append(names, own)
		}
	}
	return names
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// measured returns how many stores have a figure of a case.
func (a *runs) measured(c Case, figure string) (n int) {
	for _, s := range a.stores {
		if _, ok := a.figure(s, c, figure); ok {
			n++
		}
	}
	return n
}

func rank(later bool) int {
	if later {
		return 1
	}
	return 0
}

// order is an index in a list, or behind all.
func order(list []string, s string) int {
	if i := slices.Index(list, s); i >= 0 {
		return i
	}
	return len(list)
}

// figure returns the spread of a figure over the rounds.
func (a *runs) figure(store string, c Case, name string) (Spread, bool) {
	var values []float64
	for _, r := range a.rounds[place{store, c}] {
		if v, ok := r.Figures[name]; ok {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return Spread{}, false
	}
	return spreadOf(values), true
}

// typical returns the round with the middle speed, or nil.
func (a *runs) typical(store string, c Case) *workload.Result {
	rounds := slices.Clone(a.rounds[place{store, c}])
	if len(rounds) == 0 {
		return nil
	}
	slices.SortStableFunc(rounds, func(x, y *workload.Result) int {
		switch a, b := x.Figures[workload.OpsPerSec], y.Figures[workload.OpsPerSec]; {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	})
	return rounds[(len(rounds)-1)/2]
}

// with returns the cases for which some store has a figure.
func (a *runs) with(figure string) []Case {
	var found []Case
	for _, c := range a.cases {
		if a.measured(c, figure) > 0 {
			found = append(found, c)
		}
	}
	return found
}

// toBest returns a store's speed as a share of the fastest store's, by medians.
func (a *runs) toBest(store string, c Case) (share float64, ok bool) {
	best := 0.0
	for _, s := range a.stores {
		if v, ok := a.figure(s, c, workload.OpsPerSec); ok {
			best = max(best, v.Median)
		}
	}
	own, ok := a.figure(store, c, workload.OpsPerSec)
	if !ok || best == 0 {
		return 0, false
	}
	return own.Median / best, true
}

// unknown returns the workloads that this version does not have.
func (a *runs) unknown() []string {
	var names []string
	for _, c := range a.cases {
		if known := workload.Names(); !slices.Contains(known, c.Workload) && !slices.Contains(names, c.Workload) {
			names = append(names, c.Workload)
		}
	}
	return names
}

// Notes say what a reader of any report has to know of the lines.
func (d *Data) Notes() []string {
	var notes []string
	for _, s := range d.Skipped {
		lines := "lines are"
		if s.Lines == 1 {
			lines = "line is"
		}
		notes = append(notes, fmt.Sprintf("%s %s not shown, the first of them %s: %s.", count(float64(s.Lines)), lines, s.First, s.Why))
	}
	if names := d.arrange().unknown(); len(names) > 0 {
		notes = append(notes, "Workloads that this version does not know, shown as they came: "+strings.Join(names, ", ")+".")
	}
	return notes
}
