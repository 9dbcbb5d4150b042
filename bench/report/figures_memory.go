package report

import "github.com/siftkv/sift/bench/workload"

// Figures that kvbench run adds of sift: what the memory was for, in bytes, when
// most of it was in use of the times that it looked.
const (
	MemTableBytes = "memory_memtables_bytes"
	CacheBytes    = "memory_cache_bytes"
	FilterBytes   = "memory_filters_bytes"
)

// memorySection shows how much each store held, and what for, where it says.
func (a *runs) memorySection() Section {
	s := Section{
		ID: "memory", Title: "Memory",
		Text: "Memory that no file backs, looked at ten times a second. A database in mapped files, as bbolt's, is not in it.",
	}
	if f, ok := a.barsOf("peak", "Peak memory", "The most that the process held while it ran the workload, the measuring itself included.", "MB", workload.PeakAnon, 1e6, a.cases); ok {
		s.Figures = append(s.Figures, f)
	}
	if f, ok := a.memorySplit(); ok {
		s.Figures = append(s.Figures, f)
	}
	return s
}

func (a *runs) memorySplit() (Figure, bool) {
	f := Figure{
		ID: "split", Title: "What memory is for", Says: "As the workload ended: memtables hold what is written, the cache and filters save reads; the rest, up to the peak, is indexes, buffers, garbage and the measuring itself.",
		Head: []string{"workload", "store", "memtables, MB", "block cache, MB", "filters, MB", "rest, MB", "peak, MB"},
	}
	names := []string{"memtables", "block cache", "filters", "rest"}
	p := barPlot{id: f.ID, title: f.Title, says: f.Says, unit: "MB"}
	for _, c := range a.with(FilterBytes) {
		for _, store := range a.stores {
			b, ok := a.split(store, c, names)
			if !ok {
				continue
			}
			row := []string{a.labels[c], store}
			for _, p := range b.parts {
				row = append(row, number(p.value))
			}
			f.Rows = append(f.Rows, append(row, number(b.total())))
			p.groups = append(p.groups, barGroup{a.labels[c], []bar{b}})
		}
	}
	if len(p.groups) == 0 {
		return f, false
	}
	f.SVG, f.Legend = p.draw(), barLegend(names)
	return f, true
}

// split returns the bar of a store's memory, in MB, if it says what that is for.
func (a *runs) split(store string, c Case, names []string) (bar, bool) {
	rest, ok := a.figure(store, c, workload.PeakAnon)
	if !ok {
		return bar{}, false
	}
	b := bar{name: store}
	for i, figure := range []string{MemTableBytes, CacheBytes, FilterBytes} {
		v, ok := a.figure(store, c, figure)
		if !ok {
			return bar{}, false
		}
		b.parts = append(b.parts, part{names[i], i, v.Median / 1e6})
		rest.Median -= v.Median
	}
	b.parts = append(b.parts, part{names[3], 3, max(rest.Median, 0) / 1e6})
	b.text = number(b.total())
	return b, true
}
