package report

import (
	"fmt"
	"html/template"
)

// Measures of a plot, in pixels at full width. They are narrow, so that text stays
// legible where the page is.
const (
	plotWidth   = 460.0
	plotHeight  = 290.0
	plotLeft    = 54.0
	plotRight   = 14.0
	plotTop     = 26.0
	plotBottom  = 42.0
	charWidth   = 6.6 // of the small text, about
	stallHeight = 6.0
)

// A linePlot is series over a common axis.
type linePlot struct {
	id, title, says string
	xTitle, yTitle  string
	x, y            *scale
	xTicks, yTicks  []tick // nil: the scale's
	series          []series
}

// A series is points that belong together.
type series struct {
	name   string
	style  int // which colour and sign
	points []point
	line   bool    // drawn through the points
	marks  bool    // at the points
	dashed bool    // what is expected, not measured
	stalls []point // from x to y, on the x axis: marked below the line
}

// draw returns the plot.
func (p *linePlot) draw() template.HTML {
	s := newSVG(p.id, p.title, p.says, plotWidth, plotHeight)
	p.x.from, p.x.to = plotLeft, plotWidth-plotRight
	p.y.from, p.y.to = plotHeight-plotBottom, plotTop
	p.axes(s)
	for i := range p.series {
		p.drawStalls(s, &p.series[i])
	}
	for i := range p.series {
		p.drawSeries(s, &p.series[i])
	}
	return s.finish()
}

func (p *linePlot) axes(s *svg) {
	bottom, left, right := p.y.from, p.x.from, p.x.to
	yTicks := p.yTicks
	if yTicks == nil {
		yTicks = p.y.ticks()
	}
	for _, t := range yTicks {
		y := p.y.place(t.at)
		s.line("grid", left, y, right, y)
		s.text("tick", "end", left-6, y+4, t.text)
	}
	xTicks := p.xTicks
	if xTicks == nil {
		xTicks = p.x.ticks()
	}
	for _, t := range xTicks {
		x := p.x.place(t.at)
		s.line("grid", x, p.y.to, x, bottom)
		half := charWidth * float64(len(t.text)) / 2
		s.text("tick", "middle", min(x, plotWidth-half), bottom+16, t.text)
	}
	s.line("axis", left, bottom, right, bottom)
	s.line("axis", left, p.y.to, left, bottom)
	s.text("axis-title", "end", right, plotHeight-8, p.xTitle)
	s.text("axis-title", "start", 4, 14, p.yTitle)
}

func (p *linePlot) drawStalls(s *svg, l *series) {
	for _, stall := range l.stalls {
		from, to := p.x.place(stall.x), p.x.place(stall.y)
		hint := fmt.Sprintf("%s: a stall from %s to %s s", l.name, number(stall.x), number(stall.y))
		s.rect(fmt.Sprintf("stall c%d", l.style%numColours), from, p.y.from-stallHeight, max(to-from, 1), stallHeight, hint)
	}
}

func (p *linePlot) drawSeries(s *svg, l *series) {
	places := make([]point, len(l.points))
	for i, v := range l.points {
		places[i] = point{p.x.place(v.x), p.y.place(v.y)}
	}
	colour := fmt.Sprintf("c%d", l.style%numColours)
	if l.line {
		class := "line " + colour
		if l.dashed {
			class += " dashed"
		}
		s.path(class, p.onPlot(l.points))
	}
	if !l.marks {
		return
	}
	for i, at := range places {
		s.mark("mark "+colour, l.style, at.x, at.y, fmt.Sprintf("%s: %s at %s", l.name, number(l.points[i].y), number(l.points[i].x)))
	}
}

// onPlot returns the places of points, without those below or above the axis, along
// whose ends a line would run.
func (p *linePlot) onPlot(points []point) []point {
	var places []point
	for _, v := range points {
		if p.y.low <= v.y && v.y <= p.y.high {
			places = append(places, point{p.x.place(v.x), p.y.place(v.y)})
		}
	}
	return places
}
