package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/siftkv/sift/bench/sweep"
	"github.com/siftkv/sift/bloom"
)

// groups returns the cells that are judged by each other, each beginning with the
// one without filters where there is one.
func (d *Data) groups() [][]sweep.Cell {
	type id struct {
		shape            sweep.Shape
		absent           float64
		cache, data      int64
		pairs, valueSize int
		lookups          int
		seed             uint64
	}
	index := make(map[id]int)
	var groups [][]sweep.Cell
	for _, c := range d.Cells {
		k := id{c.Shape, c.Absent, c.CacheBytes, c.DataBytes, c.Pairs, c.ValueSize, c.Lookups, c.Seed}
		i, ok := index[k]
		if !ok {
			i = len(groups)
			index[k] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

// maxGroups is how many the plot and the sentences have: more, nobody looks at.
const maxGroups = 48

func (d *Data) sweepSection() Section {
	s := Section{
		ID: "filters", Title: "What filters save",
		Text: "A filter tells, without the disk, that a table does not hold a key. It pays where keys are absent and tables overlap; its memory could be cache instead.",
	}
	groups := d.groups()
	for _, g := range groups[:min(len(groups), maxGroups)] {
		if say := sweep.Say(g); say != "" {
			s.List = append(s.List, sweep.Title(&g[0])+". "+say)
		}
	}
	if more := len(groups) - maxGroups; more > 0 {
		s.List = append(s.List, fmt.Sprintf("%s more are in the table of the second plot only.", count(float64(more))))
	}
	if f, ok := d.readsByBits(); ok {
		s.Figures = append(s.Figures, f)
	}
	if f, ok := d.whereTheyPay(); ok {
		s.Figures = append(s.Figures, f)
	}
	return s
}

// readsByBits plots the reads of absent keys by the size of the filters, with the
// least cache that there is, beside what theory says.
func (d *Data) readsByBits() (Figure, bool) {
	f := Figure{
		ID: "bits", Title: "Disk reads of an absent key by filter size",
		Says: "Each further bit of filter saves a share of the reads: lines are theory (tables asked × rate of false positives), signs are measured; at 0 bits there is no filter.",
		Head: []string{"shape", "filter", "bits a key", "disk reads a lookup", "theory", "false positives, %", "by the formula, %"},
	}
	cells := d.absentCells()
	var all []series
	var values []float64
	for _, shape := range sweep.Shapes() {
		for _, kind := range kindsOf(cells) {
			measured := series{name: fmt.Sprintf("%s, %s", shape, kind), style: len(all) / 2, marks: true}
			asked := 0.0
			for i := range cells {
				c := &cells[i]
				if c.Shape != shape || c.Filter != kind && c.Filter != sweep.NoFilter {
					continue
				}
				asked = max(asked, c.Candidates)
				measured.points = append(measured.points, point{c.BitsPerKey, c.ReadsPerLookup})
				values = append(values, c.ReadsPerLookup)
				if c.Filter == sweep.NoFilter && kind != kindsOf(cells)[0] {
					continue // its row is there
				}
				f.Rows = append(f.Rows, []string{
					string(shape), c.Filter, given(c.BitsPerKey), number(c.ReadsPerLookup), number(c.Candidates * c.DesignedRate),
					number(100 * c.FalsePositiveRate), number(100 * c.DesignedRate),
				})
			}
			theory := series{name: measured.name + ": theory", style: measured.style, line: true, dashed: measured.style%2 == 1, points: theoryOf(kind, asked)}
			if len(measured.points) > 0 {
				all = append(all, theory, measured)
			}
		}
	}
	if len(all) == 0 {
		return f, false
	}
	p := linePlot{
		id: f.ID, title: f.Title, says: f.Says, xTitle: "bits of filter for each key", yTitle: "disk reads a lookup (log)",
		x: linearScale(theoryBits), y: logScale(values), series: all,
	}
	f.SVG, f.Legend = p.draw(), legendOf(all)
	return f, true
}

const theoryBits = 20 // as far as the lines go

// theoryOf returns the expected reads of an absent key without a cache.
func theoryOf(kind string, tables float64) []point {
	var points []point
	for k := range bloom.Kind(255) {
		if k.String() != kind {
			continue
		}
		for bits := 1.0; bits <= theoryBits; bits += 0.25 {
			if rate, err := bloom.RateForBits(k, bits); err == nil {
				points = append(points, point{bits, tables * rate})
			}
		}
		break
	}
	return points
}

// absentCells returns the cells with the most absent keys and, of those, the least
// cache.
func (d *Data) absentCells() []sweep.Cell {
	most, least := 0.0, int64(math.MaxInt64)
	for i := range d.Cells {
		most = max(most, d.Cells[i].Absent)
	}
	for i := range d.Cells {
		if d.Cells[i].Absent == most {
			least = min(least, d.Cells[i].CacheBytes)
		}
	}
	var cells []sweep.Cell
	for _, c := range d.Cells {
		if c.Absent == most && c.CacheBytes == least && most == 1 {
			cells = append(cells, c)
		}
	}
	return cells
}

func kindsOf(cells []sweep.Cell) []string {
	var kinds []string
	for i := range cells {
		if k := cells[i].Filter; k != sweep.NoFilter && !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// whereTheyPay shows, for each group, what lookups read without filters, with the
// ones to take, and with their memory as cache.
func (d *Data) whereTheyPay() (Figure, bool) {
	f := Figure{
		ID: "pay", Title: "Filters, or the same memory as cache",
		Says: "For each shape of tables, share of absent keys and size of cache: where the second bar is much shorter than the third, filters pay.",
		Head: []string{"tables", "absent", "cache, MB", "filters", "MB", "reads with", "reads without", "reads with cache instead", "saved a lookup for each MB", "verdict", "lookups a second"},
	}
	names := []string{"no filter", "filters", "their memory as cache"}
	p := barPlot{id: f.ID, title: f.Title, says: f.Says, unit: "disk reads a lookup"}
	for _, g := range d.groups() {
		for i := range g {
			c := &g[i]
			f.Rows = append(f.Rows, []string{
				string(c.Shape), given(100*c.Absent) + " %", mega(float64(c.CacheBytes)), filterName(c), mega(float64(c.FilterBytes)), number(c.ReadsPerLookup),
				number(c.WithoutFilter), number(c.CacheInstead), number(c.SavedPerMB), string(c.Verdict), number(c.LookupsPerSec),
			})
		}
		c := sweep.Best(g)
		if c == nil || len(p.groups) == maxGroups {
			continue
		}
		group := barGroup{label: fmt.Sprintf("%s %s %%, %s MB", shapeName(c.Shape), given(100*c.Absent), given(math.Round(float64(c.CacheBytes)/1e4)/100))}
		for i, v := range []float64{c.WithoutFilter, c.ReadsPerLookup, c.CacheInstead} {
			group.bars = append(group.bars, bar{names[i], []part{{names[i], i, v}}, number(v)})
		}
		p.groups = append(p.groups, group)
	}
	if len(p.groups) == 0 {
		return f, false
	}
	f.SVG, f.Legend = p.draw(), barLegend(names)
	return f, true
}

// shapeName is short enough to stand before a bar.
func shapeName(s sweep.Shape) string {
	if s == sweep.Overlapping {
		return "overlap"
	}
	return string(s)
}

func filterName(c *sweep.Cell) string {
	if c.Filter == sweep.NoFilter {
		return c.Filter
	}
	return c.Filter + ", " + given(c.BitsPerKey) + " bits"
}
