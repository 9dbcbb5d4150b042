package report

import (
	"fmt"
	"slices"

	"github.com/siftkv/sift/bench/workload"
)

// maxPlots is how many plots of one kind the page has: more, nobody looks at.
const maxPlots = 16

// percentiles are the places of a latency plot. Equal distances are equal factors
// of how rare a longer wait is; the slowest has no such place and comes last.
func percentiles() []struct {
	figure, text string
	at           float64
} {
	return []struct {
		figure, text string
		at           float64
	}{{workload.P50, "50 %", 0.3}, {workload.P99, "99 %", 2}, {workload.P999, "99.9 %", 3}, {workload.Max, "slowest", 4}}
}

// latencySection has a plot for each workload that several stores ran, and one for
// every few of the others.
func (a *runs) latencySection() Section {
	s := Section{
		ID: "latency", Title: "Latency",
		Text: "How long an operation takes: half of them are faster than the first point, all but one in a hundred faster than the second, all but one in a thousand faster than the third.",
	}
	const together = 6
	var parts, alone [][]Case
	for _, c := range a.cases {
		switch n := a.measured(c, workload.P999); {
		case n > 1:
			parts = append(parts, []Case{c})
		case n == 1 && len(alone) > 0 && len(alone[len(alone)-1]) < together:
			alone[len(alone)-1] = append(alone[len(alone)-1], c)
		case n == 1:
			alone = append(alone, []Case{c})
		}
	}
	parts = append(parts, alone...)
	for i, part := range parts[:min(len(parts), maxPlots)] {
		title := a.labels[part[0]]
		if len(part) > 1 {
			title += " to " + a.labels[part[len(part)-1]]
		}
		s.Figures = append(s.Figures, a.latency(fmt.Sprintf("latency-%d", i), title, "The lower a line, the faster; the steeper, the longer the rare waits.", part))
	}
	return s
}

func (a *runs) latency(id, title, says string, cases []Case) Figure {
	f := Figure{ID: id, Title: "Latency: " + title, Says: says, Head: []string{"workload", "store", "median, µs", "99 %, µs", "99.9 %, µs", "slowest, µs"}}
	var all []series
	var values []float64
	style := 0
	for _, c := range cases {
		for i, store := range a.stores {
			l := series{name: store, style: i, line: true, marks: true}
			label := a.labels[c]
			if r := a.typical(store, c); r != nil && r.StepOps > 1 {
				label += " (" + count(float64(r.StepOps)) + " at once)"
			}
			if a.measured(c, workload.P999) < 2 {
				if l.name, l.style = label, style; len(a.stores) > 1 {
					l.name += ", " + store
				}
			}
			row := []string{label, store}
			for _, p := range percentiles() {
				v, ok := a.figure(store, c, p.figure)
				if !ok {
					row = append(row, "–")
					continue
				}
				micros := v.Median / 1e3
				row = append(row, number(micros))
				if micros > 0 {
					l.points = append(l.points, point{p.at, micros})
					values = append(values, micros)
				}
			}
			if len(l.points) > 0 {
				all = append(all, l)
				f.Rows = append(f.Rows, row)
				style++
			}
		}
	}
	plot := linePlot{
		id: id, title: f.Title, says: says, xTitle: "share of operations that are faster", yTitle: "time an operation takes (log)",
		x: &scale{low: 0, high: 4.2}, y: logScale(values), series: all,
	}
	for _, p := range percentiles() {
		plot.xTicks = append(plot.xTicks, tick{p.at, p.text})
	}
	for _, t := range plot.y.ticks() {
		plot.yTicks = append(plot.yTicks, tick{t.at, duration(t.at)})
	}
	f.SVG, f.Legend = plot.draw(), legendOf(all)
	return f
}

// duration writes microseconds in the unit that people use.
func duration(micros float64) string {
	switch {
	case micros < 1:
		return given(1e3*micros) + " ns"
	case micros < 1e3:
		return given(micros) + " µs"
	case micros < 1e6:
		return given(micros/1e3) + " ms"
	}
	return given(micros/1e6) + " s"
}

const (
	period     = 0.1 // seconds, of a timeline
	leastTime  = 8   // periods that make a plot
	mostPoints = 300 // of a line
)

// throughputSection has a plot for each workload that writes and takes long enough.
func (a *runs) throughputSection() Section {
	s := Section{
		ID: "throughput", Title: "Throughput over time",
		Text: "The round of middle speed, in steps of 100 ms. A stall is a step in which less than a tenth of the middle step was done; it is marked on the time axis.",
	}
	for _, c := range a.that(writes) {
		if f, ok := a.throughput(fmt.Sprintf("throughput-%d", len(s.Figures)), c); ok && len(s.Figures) < maxPlots {
			s.Figures = append(s.Figures, f)
		}
	}
	return s
}

func (a *runs) throughput(id string, c Case) (Figure, bool) {
	f := Figure{
		ID: id, Title: "Throughput: " + a.labels[c], Says: "A level line is a store that keeps up; dips are waits for flushes and compactions.",
		Head: []string{"store", "seconds", "operations a second, middle", "least", "greatest", "stalls", "seconds in stalls"},
	}
	var all []series
	high, longest := 0.0, 0.0
	for i, store := range a.stores {
		r := a.typical(store, c)
		if r == nil || len(r.Timeline) <= leastTime {
			continue
		}
		steps := r.Timeline[:len(r.Timeline)-1] // the last one is shorter
		l := series{name: store, style: i, line: true, stalls: stalls(steps), points: rates(steps)}
		for _, p := range l.points {
			high = max(high, p.y)
		}
		longest = max(longest, float64(len(steps))*period)
		sorted := slices.Sorted(slices.Values(steps))
		stalled := 0.0
		for _, p := range l.stalls {
			stalled += p.y - p.x
		}
		f.Rows = append(f.Rows, []string{
			store, number(float64(len(steps)) * period), count(float64(sorted[len(sorted)/2]) / period), count(float64(sorted[0]) / period),
			count(float64(sorted[len(sorted)-1]) / period), count(float64(len(l.stalls))), number(stalled),
		})
		all = append(all, l)
	}
	if len(all) == 0 {
		return f, false
	}
	p := linePlot{
		id: id, title: f.Title, says: f.Says, xTitle: "seconds", yTitle: "thousand operations a second",
		x: &scale{high: longest}, y: linearScale(high), series: all,
	}
	if len(all) > 1 {
		p.logarithmic()
	}
	f.SVG, f.Legend = p.draw(), legendOf(all)
	return f, true
}

// logarithmic changes both axes, so that stores of very different speed have room:
// what takes one of them a second may take another a minute.
func (p *linePlot) logarithmic() {
	var speeds []float64
	for i := range p.series {
		for _, v := range p.series[i].points {
			speeds = append(speeds, v.y)
		}
	}
	p.x, p.y = logScale([]float64{period, p.x.high}), logScale(speeds)
	p.xTitle, p.yTitle = p.xTitle+" (log)", p.yTitle+" (log)"
	for i := range p.series {
		for k := range p.series[i].points {
			v := &p.series[i].points[k]
			v.y = max(v.y, p.y.low) // a standstill runs along the axis
		}
	}
}

// rates returns thousands of operations a second over time, of no more points than
// a line needs.
func rates(steps []int64) []point {
	width := (len(steps) + mostPoints - 1) / mostPoints
	var points []point
	for i := 0; i < len(steps); i += width {
		part := steps[i:min(i+width, len(steps))]
		sum := 0.0
		for _, n := range part {
			sum += float64(n)
		}
		mid := (float64(i) + float64(len(part))/2) * period
		points = append(points, point{mid, sum / (float64(len(part)) * period) / 1e3})
	}
	return points
}

// stalls returns when, in seconds, a timeline stood: from and to. Steps that did
// less than a tenth of the middle one are stalls; neighbours are one.
func stalls(steps []int64) []point {
	if len(steps) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(steps))
	limit := float64(sorted[len(sorted)/2]) / 10
	var found []point
	for i, n := range steps {
		if float64(n) >= limit {
			continue
		}
		from, to := float64(i)*period, float64(i+1)*period
		if last := len(found) - 1; last >= 0 && from-found[last].y < period/2 {
			found[last].y = to
		} else {
			found = append(found, point{from, to})
		}
	}
	return found
}
