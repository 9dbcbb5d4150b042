package main

import (
	"strings"
	"unicode/utf8"
)

// A grid is lines of text with a label on the left and columns of numbers that
// end below each other.
type grid struct {
	indent int // least width of the labels
	width  int // least width of the other columns
	lines  []gridLine
}

type gridLine struct {
	label string
	cells []string
	span  int // columns that each cell covers
}

// row adds a label and its cells.
func (g *grid) row(label string, cells []string) {
	g.lines = append(g.lines, gridLine{label, cells, 1})
}

// heads adds cells that stand over so many columns each.
func (g *grid) heads(span int, cells []string) {
	g.lines = append(g.lines, gridLine{"", cells, span})
}

// line adds a line without cells.
func (g *grid) line(text string) { g.row(text, nil) }

const gridGap = 3 // spaces between columns

func (g *grid) String() string {
	label, widths := g.widths()
	var b strings.Builder
	for _, l := range g.lines {
		if l.cells == nil {
			b.WriteString(l.label + "\n")
			continue
		}
		b.WriteString(l.label + spaces(label-utf8.RuneCountInString(l.label)))
		for i, c := range l.cells {
			width := 0
			for _, w := range widths[i*l.span : (i+1)*l.span] {
				width += gridGap + w
			}
			b.WriteString(spaces(width-utf8.RuneCountInString(c)) + c)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (g *grid) widths() (label int, cells []int) {
	label = g.indent
	for _, l := range g.lines {
		if l.cells == nil || l.span > 1 {
			continue
		}
		label = max(label, utf8.RuneCountInString(l.label))
		for i, c := range l.cells {
			if i == len(cells) {
				cells = append(cells, g.width)
			}
			cells[i] = max(cells[i], utf8.RuneCountInString(c))
		}
	}
	return label, cells
}

func spaces(n int) string { return strings.Repeat(" ", max(n, 0)) }
