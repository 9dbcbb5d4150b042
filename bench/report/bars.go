package report

import (
	"fmt"
	"html/template"
	"unicode/utf8"
)

// Measures of bars, in pixels at full width.
const (
	barHeight  = 11.0
	barGap     = 2.0
	groupGap   = 9.0
	labelWidth = 172.0
	labelChars = 24
	valueWidth = 52.0
	barsTop    = 22.0
	barsBottom = 8.0
)

// barPlot is groups of bars that begin at zero.
type barPlot struct {
	id, title, says string
	unit            string
	groups          []barGroup
}

// A barGroup has a label and a bar for each store, say.
type barGroup struct {
	label string
	bars  []bar
}

// A bar is one part, or several that are stacked.
type bar struct {
	name  string
	parts []part
	text  string // at its end
}

// A part of a bar.
type part struct {
	name  string
	style int
	value float64
}

func (b *bar) total() (sum float64) {
	for _, p := range b.parts {
		sum += p.value
	}
	return sum
}

func (p *barPlot) highest() (high float64) {
	for _, g := range p.groups {
		for i := range g.bars {
			high = max(high, g.bars[i].total())
		}
	}
	return high
}

func (p *barPlot) draw() template.HTML {
	height := barsTop + barsBottom
	for _, g := range p.groups {
		height += groupGap + float64(len(g.bars))*(barHeight+barGap)
	}
	s := newSVG(p.id, p.title, p.says, plotWidth, height)
	high := p.highest()
	if high == 0 {
		high = 1
	}
	x := &scale{high: high, from: labelWidth, to: plotWidth - valueWidth}
	s.text("axis-title", "start", labelWidth, 14, p.unit)
	y := barsTop
	for _, g := range p.groups {
		inGroup := float64(len(g.bars)) * (barHeight + barGap)
		s.text("label", "end", labelWidth-8, y+inGroup/2+3, cut(g.label, labelChars))
		for i := range g.bars {
			drawBar(s, x, &g.bars[i], g.label, y)
			y += barHeight + barGap
		}
		y += groupGap
	}
	s.line("axis", labelWidth, barsTop-4, labelWidth, height-barsBottom)
	return s.finish()
}

func drawBar(s *svg, x *scale, b *bar, label string, y float64) {
	sum := 0.0
	for _, p := range b.parts {
		from := x.place(sum)
		sum += p.value
		hint := fmt.Sprintf("%s, %s: %s", label, p.name, number(p.value))
		s.rect(fmt.Sprintf("bar c%d", p.style%numColours), from, y, x.place(sum)-from, barHeight, hint)
	}
	if b.text == "" {
		return
	}
	end := x.place(sum) + 4
	room := charWidth * float64(utf8.RuneCountInString(b.text))
	s.text("value", "start", min(end, plotWidth-room), y+barHeight-1.5, b.text)
}
