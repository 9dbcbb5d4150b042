package report

import (
	"fmt"
	"html/template"
	"math"

	"github.com/siftkv/sift/bench/workload"
)

// peersSection puts the stores side by side, if there are several.
func (a *runs) peersSection() Section {
	s := Section{
		ID: "peers", Title: "Side by side",
		Text: "Speed of each store as a share of the fastest in that workload, by the medians of all rounds.",
	}
	if len(a.stores) < 2 {
		return s
	}
	f := Figure{
		ID: "ratios", Title: "Speed beside the fastest", Says: "The fastest store of a workload is at 1; at 0.1 a store takes ten times as long.",
		Head: append([]string{"workload"}, a.stores...),
	}
	speeds := Figure{
		ID: "speeds", Title: "Thousand operations a second", Says: "Medians, and in brackets the share of the fastest.",
		Head: f.Head,
	}
	lowest := 1.0
	var cases []Case
	for _, c := range a.cases {
		if a.measured(c, workload.OpsPerSec) < 2 {
			continue
		}
		row, fast := []string{a.labels[c]}, []string{a.labels[c]}
		for _, store := range a.stores {
			share, ok := a.toBest(store, c)
			if !ok {
				row, fast = append(row, "–"), append(fast, "–")
				continue
			}
			v, _ := a.figure(store, c, workload.OpsPerSec)
			row = append(row, number(share))
			fast = append(fast, number(v.Median/1e3)+" ("+number(share)+")")
			if share > 0 {
				lowest = min(lowest, share)
			}
		}
		cases = append(cases, c)
		f.Rows, speeds.Rows = append(f.Rows, row), append(speeds.Rows, fast)
	}
	if len(cases) == 0 {
		return s
	}
	f.SVG = a.dots(&f, cases, lowest)
	for i, store := range a.stores {
		f.Legend = append(f.Legend, legendEntry{store, sign(i, false, true, false)})
	}
	s.Figures, s.Wide = []Figure{f}, &speeds
	return s
}

// dots draws a line for each case with a sign for each store.
func (a *runs) dots(f *Figure, cases []Case, lowest float64) template.HTML {
	const rowHeight, top, bottom = 19.0, 10.0, 40.0
	height := top + bottom + rowHeight*float64(len(cases))
	s := newSVG(f.ID, f.Title, f.Says, plotWidth, height)
	x := logScale([]float64{min(lowest, 0.5), 1})
	x.from, x.to = labelWidth, plotWidth-plotRight
	for _, t := range x.ticks() {
		at := x.place(t.at)
		s.line("grid", at, top, at, height-bottom)
		s.text("tick", "middle", at, height-bottom+16, t.text)
	}
	for i, c := range cases {
		y := top + rowHeight*(float64(i)+0.5)
		s.text("label", "end", labelWidth-8, y+4, cut(a.labels[c], labelChars))
		s.line("grid", labelWidth, y, plotWidth-plotRight, y)
		for k := range a.stores {
			k = len(a.stores) - 1 - k // the first on top
			if share, ok := a.toBest(a.stores[k], c); ok && share > 0 && !math.IsInf(share, 0) {
				s.mark(fmt.Sprintf("mark c%d", k%numColours), k, x.place(share), y, fmt.Sprintf("%s, %s: %s", a.labels[c], a.stores[k], number(share)))
			}
		}
	}
	s.text("axis-title", "end", plotWidth-plotRight, height-6, "share of the fastest store's speed (log)")
	return s.finish()
}
