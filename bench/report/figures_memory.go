package report

import "github.com/siftkv/sift/bench/workload"

// Figures that kvbench run adds of sift: what the memory was for when the clients
// were done, in bytes.
const (
	MemTableBytes = "memory_memtables_bytes"
	CacheBytes    = "memory_cache_bytes"
	FilterBytes   = "memory_filters_bytes"
)

// memorySection shows what each store held, and what for as far as it says.
func (a *runs) memorySection() Section {
	s := Section{
		ID: "memory", Title: "Memory",
		Text: "Peak of the memory that no file backs, looked at ten times a second. What a store does not say of it, with garbage that waits to be collected, is the rest.",
	}
	f := Figure{
		ID: "split", Title: "What memory is for", Says: "Memtables hold what is written, the cache and filters save reads; the rest is indexes, buffers, garbage and the measuring itself.",
		Head: []string{"workload", "store", "memtables, MB", "block cache, MB", "filters, MB", "rest, MB", "peak, MB", "peak resident, MB"},
	}
	names := []string{"memtables", "block cache", "filters", "rest"}
	p := barPlot{id: f.ID, title: f.Title, says: f.Says, unit: "MB"}
	for _, c := range a.with(workload.PeakAnon) {
		g := barGroup{label: a.labels[c]}
		for _, store := range a.stores {
			peak, ok := a.figure(store, c, workload.PeakAnon)
			if !ok {
				continue
			}
			b := bar{name: store, text: mega(peak.Median)}
			if len(a.stores) > 1 {
				b.text += " " + cut(store, 4)
			}
			row := []string{g.label, store}
			rest := peak.Median
			for i, figure := range []string{MemTableBytes, CacheBytes, FilterBytes} {
				v, ok := a.figure(store, c, figure)
				if !ok {
					row = append(row, "–")
					continue
				}
				row = append(row, mega(v.Median))
				b.parts = append(b.parts, part{store + ", " + names[i], i, v.Median / 1e6})
				rest -= v.Median
			}
			rest = max(rest, 0)
			b.parts = append(b.parts, part{store + ", rest", 3, rest / 1e6})
			row = append(row, mega(rest), mega(peak.Median))
			if v, ok := a.figure(store, c, workload.PeakResident); ok {
				row = append(row, mega(v.Median))
			} else {
				row = append(row, "–")
			}
			f.Rows = append(f.Rows, row)
			g.bars = append(g.bars, b)
		}
		p.groups = append(p.groups, g)
	}
	if len(p.groups) > 0 {
		f.SVG, f.Legend = p.draw(), barLegend(names)
		s.Figures = []Figure{f}
	}
	return s
}
