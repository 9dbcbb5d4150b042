package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/siftkv/sift/bench/sweep"
	"github.com/siftkv/sift/bench/workload"
)

// WriteText writes the report for a terminal.
func (d *Data) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, line := range d.summaryLines() {
		b.WriteString(line + "\n")
	}
	a := d.arrange()
	d.sweepText(&b)
	if len(a.stores) > 1 {
		a.sideBySide(&b)
	}
	for _, store := range a.stores {
		a.storeText(&b, store)
	}
	for _, note := range d.Notes() {
		b.WriteString("\nNote: " + note + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sweepText prints, for each group of cells, what filters save, and the sentence.
func (d *Data) sweepText(b *strings.Builder) {
	groups := d.groups()
	if len(groups) == 0 {
		return
	}
	fmt.Fprint(b, "\nWHAT FILTERS SAVE, disk reads a lookup\n")
	rows := [][]string{{"tables", "absent", "cache MB", "no filter", "filters", "as cache", "filters MB", "saved/MB", "which", "verdict"}}
	for _, g := range groups {
		c := sweep.Best(g)
		if c == nil {
			continue
		}
		rows = append(rows, []string{
			string(c.Shape), given(100*c.Absent) + " %", mega(float64(c.CacheBytes)), number(c.WithoutFilter), number(c.ReadsPerLookup),
			number(c.CacheInstead), mega(float64(c.FilterBytes)), number(c.SavedPerMB), filterName(c), string(c.Judge()),
		})
	}
	writeTable(b, rows)
	fmt.Fprint(b, "Filters pay where they save at least twice the reads that the same memory saves as cache.\n")
}

func (a *runs) sideBySide(b *strings.Builder) {
	fmt.Fprint(b, "\nSIDE BY SIDE, thousand operations a second (share of the fastest)\n")
	rows := [][]string{append([]string{""}, a.stores...)}
	for _, c := range a.cases {
		if a.measured(c, workload.OpsPerSec) < 2 {
			continue
		}
		row := []string{a.labels[c]}
		for _, store := range a.stores {
			v, ok := a.figure(store, c, workload.OpsPerSec)
			if !ok {
				row = append(row, "–")
				continue
			}
			share, _ := a.toBest(store, c)
			row = append(row, fmt.Sprintf("%s (%.2f)", number(v.Median/1e3), share))
		}
		rows = append(rows, row)
	}
	if len(rows) == 1 {
		rows = append(rows, []string{"no workload was measured on two stores with the same settings"})
	}
	writeTable(b, rows)
}

// storeText prints what every workload cost on one store.
func (a *runs) storeText(b *strings.Builder, store string) {
	fmt.Fprintf(b, "\n%s\n", strings.ToUpper(store))
	rows := [][]string{{"", "1000/s", "p50 µs", "p99 µs", "p99.9 µs", "reads/op", "written", "on disk", "peak MB", "over time", "stalls"}}
	for _, c := range a.cases {
		r := a.typical(store, c)
		if r == nil {
			continue
		}
		cell := func(divisor float64, figures ...string) string {
			for _, f := range figures {
				if v, ok := a.figure(store, c, f); ok {
					return number(v.Median / divisor)
				}
			}
			return "–"
		}
		const micro = 1e3
		over, stalls := "–", "–"
		if len(r.Timeline) > leastTime {
			over, stalls = sparkline(r.Timeline[:len(r.Timeline)-1]), count(float64(stallsOf(r)))
		}
		rows = append(rows, []string{
			a.labels[c], cell(1e3, workload.OpsPerSec), cell(micro, workload.P50), cell(micro, workload.P99), cell(micro, workload.P999),
			cell(1, workload.DiskReadsPerOp, workload.ReadCallsPerOp), cell(1, workload.DirtiedAmplification, workload.OwnAmplification),
			cell(1, workload.SpaceAmplification), cell(1e6, workload.PeakAnon), over, stalls,
		})
	}
	writeTable(b, rows)
}

// sparkline draws a timeline in twelve characters: the least speed of each twelfth,
// beside the greatest of all, so that a stall is not averaged away.
func sparkline(steps []int64) string {
	const width = 12
	blocks := []rune("▁▂▃▄▅▆▇█")
	high := max(slices.Max(steps), 1)
	var out []rune
	n := min(width, len(steps))
	for i := range n {
		low := slices.Min(steps[i*len(steps)/n : (i+1)*len(steps)/n])
		out = append(out, blocks[min(low*int64(len(blocks))/high, int64(len(blocks)-1))])
	}
	return string(out)
}

// writeTable writes rows whose first column is flush left and all others flush
// right.
func writeTable(b *strings.Builder, rows [][]string) {
	const gap = "  "
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		padded := make([]string, len(row))
		for i, cell := range row {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if padded[i] = padding + cell; i == 0 {
				padded[i] = cell + padding
			}
		}
		b.WriteString(strings.TrimRight(strings.Join(padded, gap), " ") + "\n")
	}
}
