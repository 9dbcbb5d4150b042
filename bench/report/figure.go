package report

import (
	"html/template"
	"slices"

	"github.com/siftkv/sift/bench/workload"
)

// numColours is how many the page's style has; signs tell further series apart.
const numColours = 8

// A Figure is a plot, what it shows, and its data.
type Figure struct {
	ID     string
	Title  string
	Says   string // one sentence
	SVG    template.HTML
	Legend []legendEntry
	Head   []string // of the table
	Rows   [][]string
}

type legendEntry struct {
	Name string
	Sign template.HTML
}

// A Section is figures under a heading, with text before them.
type Section struct {
	ID      string
	Title   string
	Text    string
	List    []string
	Figures []Figure
	Wide    *Figure // a table that takes the width, beneath
}

// sign returns what stands for a series in a legend.
func sign(style int, line, marks, dashed bool) template.HTML {
	const width, height = 26.0, 12.0
	s := &svg{width: width, height: height}
	s.b.WriteString(`<svg class="sign" viewBox="0 0 26 12" aria-hidden="true">`)
	colour := "c" + string(rune('0'+style%numColours))
	if line {
		class := "line " + colour
		if dashed {
			class += " dashed"
		}
		s.line(class, 1, height/2, width-1, height/2)
	}
	if marks {
		s.mark("mark "+colour, style, width/2, height/2, "")
	}
	if !line && !marks {
		s.rect("bar "+colour, width/2-7, 1, 14, 10, "")
	}
	return s.finish()
}

func legendOf(all []series) []legendEntry {
	var l []legendEntry
	for i := range all {
		s := &all[i]
		l = append(l, legendEntry{s.name, sign(s.style, s.line, s.marks, s.dashed)})
	}
	return l
}

func barLegend(names []string) []legendEntry {
	var l []legendEntry
	for i, name := range names {
		l = append(l, legendEntry{name, sign(i, false, false, false)})
	}
	return l
}

// Sections returns what there is to show of the data.
func (d *Data) Sections() []Section {
	a := d.arrange()
	var all []Section
	for _, s := range []Section{
		d.sweepSection(), a.peersSection(), a.latencySection(), a.throughputSection(), a.memorySection(), a.amplificationSection(),
	} {
		if len(s.Figures) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// barsOf shows one figure of every case that has it, a bar for each store.
func (a *runs) barsOf(id, title, says, unit, figure string, divisor float64, cases []Case) (Figure, bool) {
	p := barPlot{id: id, title: title, says: says, unit: unit}
	f := Figure{ID: id, Title: title, Says: says, Head: []string{"workload", "store", "median, " + unit, "least", "greatest", "rounds"}}
	for _, c := range cases {
		g := barGroup{label: a.labels[c]}
		for i, store := range a.stores {
			v, ok := a.figure(store, c, figure)
			if !ok {
				continue
			}
			text := number(v.Median / divisor)
			g.bars = append(g.bars, bar{store, []part{{store, i, v.Median / divisor}}, text})
			f.Rows = append(f.Rows, []string{g.label, store, text, number(v.Low / divisor), number(v.High / divisor), count(float64(len(a.rounds[place{store, c}])))})
		}
		if len(g.bars) > 0 {
			p.groups = append(p.groups, g)
		}
	}
	if len(p.groups) == 0 {
		return f, false
	}
	f.SVG = p.draw()
	if len(a.stores) > 1 {
		f.Legend = barLegend(a.stores)
	}
	return f, true
}

func (a *runs) amplificationSection() Section {
	s := Section{
		ID: "amplification", Title: "Reads, writes and space",
		Text: "What the disk does for each byte or operation that the application asks for.",
	}
	add := func(f Figure, ok bool) {
		if ok {
			s.Figures = append(s.Figures, f)
		}
	}
	add(a.barsOf("reads", "Read amplification", "Read calls that one operation makes; the operating system's own cache may answer them.",
		"read calls an operation", workload.ReadCallsPerOp, 1, a.that(reads)))
	written, says := workload.DirtiedAmplification, "Bytes of pages made dirty for each byte of keys and values put, flush and compaction included."
	if len(a.with(written)) == 0 {
		written, says = workload.OwnAmplification, "Bytes written to the log and to tables for each byte of keys and values put, as the store counts."
	}
	add(a.barsOf("writes", "Write amplification", says, "bytes written for each byte put", written, 1, a.cases))
	add(a.barsOf("space", "Space amplification", "Bytes on disk, once the store is closed, for each byte of keys and values; below 1 compression wins.",
		"bytes on disk for each byte held", workload.SpaceAmplification, 1, a.cases))
	return s
}

// A use is what a workload does to a store.
type use int

const (
	reads use = iota // and those that this version does not know
	writes
	opens
)

func (c *Case) use() use {
	specs, err := workload.Find(c.Workload)
	switch {
	case err != nil || len(specs) != 1:
		return reads
	case specs[0].Writes:
		return writes
	case specs[0].On == workload.Logged || specs[0].On == workload.ManyTables:
		return opens
	}
	return reads
}

// that returns the cases of a use.
func (a *runs) that(u use) []Case {
	return slices.DeleteFunc(slices.Clone(a.cases), func(c Case) bool { return c.use() != u })
}
