package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/siftkv/sift/bench"
)

// tables prints a run for a person: what is measured, a table for each shape as
// soon as it is known, and what the filters saved.
type tables struct {
	w      io.Writer
	config *bench.Config
	flags  *jobFlags
	line   *progress
	cells  []bench.Cell // of all shapes so far
}

func (t *tables) run(ctx context.Context) error {
	if err := t.print(t.heading()); err != nil {
		return err
	}
	err := t.config.Main(ctx, func(cells []bench.Cell) error {
		t.cells = append(t.cells, cells...)
		return t.print(shapeTable(cells))
	})
	if err != nil {
		return err
	}
	return t.print(t.summary())
}

func (t *tables) print(text string) error {
	t.line.clear()
	_, err := io.WriteString(t.w, text)
	return err
}

func (t *tables) heading() string {
	var b strings.Builder
	k := t.config.Keys
	if file, ok := k.(*bench.FileKeys); ok {
		fmt.Fprintf(&b, "%s: %s keys (%s), and %s held out as absent keys",
			filepath.Base(t.flags.keyFile), commas(k.Len()), byteCount(float64(k.Bytes())), commas(file.HeldOut()))
		if n := file.Repeated(); n > 0 {
			fmt.Fprintf(&b, "; %s repeated %s left out", commas(n), plural("line", n))
		}
	} else {
		fmt.Fprintf(&b, "%s keys of %d B with values of %s B (%s)",
			commas(k.Len()), bench.GeneratedKeySize, commas(t.flags.valueSize), byteCount(float64(k.Bytes())))
	}
	fmt.Fprintf(&b, "\nloaded twice: without filters, and with filters of %s bits a key", strconv.FormatFloat(t.flags.bits, 'f', -1, 64))
	share := float64(t.config.CacheSize) / float64(max(k.Bytes(), 1))
	fmt.Fprintf(&b, "\n%s lookups of each kind; a block cache of %s, %s of the data\n",
		commas(t.config.Lookups), byteCount(float64(t.config.CacheSize)), percent(share))
	if share > 0.5 {
		b.WriteString("Note: with a cache this large few lookups read the disk, filters or not.\n")
	}
	return b.String()
}

const (
	labelWidth  = 28
	numberWidth = 9
)

// shapeTable prints the four cells of one shape.
func shapeTable(cells []bench.Cell) string {
	g := grid{indent: labelWidth, width: numberWidth}
	column := func(text func(c *bench.Cell) string) []string {
		out := make([]string, len(cells))
		for i := range cells {
			out[i] = text(&cells[i])
		}
		return out
	}
	perLookup := func(label string, total func(c *bench.Cell) uint64) {
		g.row(label, column(func(c *bench.Cell) string { return digits(c.PerLookup(total(c))) }))
	}
	ofFilters := func(label string, text func(c *bench.Cell) string) {
		g.row(label, column(func(c *bench.Cell) string {
			if !c.Filters {
				return "-"
			}
			return text(c)
		}))
	}

	g.line("\n" + shapeTitle(cells[0].Shape))
	g.heads(2, []string{"absent keys", "present keys"})
	g.row("", []string{"no filter", "filter", "no filter", "filter"})
	g.line("each lookup, on average")
	perLookup("  disk reads", func(c *bench.Cell) uint64 { return c.DiskReads })
	if cells[0].System.Known {
		perLookup("  read calls, system's count", func(c *bench.Cell) uint64 { return c.System.Calls })
	}
	g.row("  bytes read", column(func(c *bench.Cell) string { return byteCount(c.PerLookup(c.BytesRead)) }))
	perLookup("  candidate tables", func(c *bench.Cell) uint64 { return c.Candidates })
	ofFilters("  filters asked", func(c *bench.Cell) string { return digits(c.PerLookup(c.FilterChecks)) })
	ofFilters("  filters that said no", func(c *bench.Cell) string { return digits(c.PerLookup(c.FilterNegatives)) })
	ofFilters("  false positives", func(c *bench.Cell) string { return digits(c.PerLookup(c.FalsePositives)) })
	ofFilters("false-positive rate", func(c *bench.Cell) string {
		if c.FilterNegatives+c.FalsePositives == 0 {
			return "-" // no filter was asked for a key that it does not hold
		}
		return percent(c.FalsePositiveRate())
	})
	ofFilters("  by the formula", func(c *bench.Cell) string { return percent(c.DesignedRate) })
	g.row("time, median", column(func(c *bench.Cell) string { return micros(c.Latency.Quantile(0.50)) }))
	g.row("  99th percentile", column(func(c *bench.Cell) string { return micros(c.Latency.Quantile(0.99)) }))
	g.row("lookups a second", column(func(c *bench.Cell) string { return commas(int64(c.OpsPerSec())) }))
	return g.String()
}

func shapeTitle(s bench.Shape) string {
	if s == bench.Fresh {
		return "AS THE LOAD LEFT IT: tables overlap, a key could be in any of them"
	}
	return "COMPACTED: one sorted run, a key could be in one table at most"
}

// summary is what somebody should take away who reads nothing else.
func (t *tables) summary() string {
	var b strings.Builder
	last := t.cells[len(t.cells)-1]
	memory := float64(last.FilterMemory)
	fmt.Fprintf(&b, "\nThe filters hold %s in memory, %s bits a key: %s of the data.\n",
		byteCount(memory), digits(last.BitsPerKey), percent(memory/float64(max(t.config.Keys.Bytes(), 1))))

	off, on := t.absentReads()
	var all [2]float64
	for i := range off {
		all[0] += off[i]
		all[1] += on[i]
	}
	fmt.Fprintf(&b, "They saved %s of the disk reads for absent keys: %s instead of %s a lookup\n"+
		"as the load left it, %s instead of %s once compacted.\n",
		percent(1-all[1]/max(all[0], 1e-9)), digits(on[0]), digits(off[0]), digits(on[1]), digits(off[1]))
	b.WriteString("\nA disk read is a fetch from a table file that sift's own cache did not hold. The\n" +
		"operating system may have held it; on a cold disk each one waits for the device.\n")
	if t.flags.keep {
		fmt.Fprintf(&b, "\nThe databases are in %s\n", t.config.Dir)
	}
	return b.String()
}

// absentReads returns the disk reads a lookup of absent keys in each shape.
func (t *tables) absentReads() (off, on []float64) {
	for i := range t.cells {
		c := &t.cells[i]
		if c.Lookup != bench.Absent {
			continue
		}
		if c.Filters {
			on = append(on, c.PerLookup(c.DiskReads))
		} else {
			off = append(off, c.PerLookup(c.DiskReads))
		}
	}
	return off, on
}
