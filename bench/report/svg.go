package report

import (
	"fmt"
	"html"
	"html/template"
	"strconv"
	"strings"
)

// An svg is a drawing under way. Coordinates are pixels at full width; the page
// scales it. Whatever text comes in is escaped here and nowhere else.
type svg struct {
	b             strings.Builder
	width, height float64
}

// newSVG begins a drawing with a title and a description for who cannot see it.
func newSVG(id, title, says string, width, height float64) *svg {
	s := &svg{width: width, height: height}
	fmt.Fprintf(&s.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" role="img" aria-labelledby="%s-t %s-d">`,
		coordinate(width), coordinate(height), html.EscapeString(id), html.EscapeString(id))
	fmt.Fprintf(&s.b, `<title id="%s-t">%s</title><desc id="%s-d">%s</desc>`,
		html.EscapeString(id), html.EscapeString(title), html.EscapeString(id), html.EscapeString(says))
	return s
}

// finish ends the drawing.
func (s *svg) finish() template.HTML {
	return template.HTML(s.b.String() + "</svg>") //nolint:gosec // all text in it went through html.EscapeString
}

// line draws a line of a class of the page's style.
func (s *svg) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&s.b, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, html.EscapeString(class),
		coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2))
}

// rect draws a box with a text that shows when it is pointed at.
func (s *svg) rect(class string, x, y, w, h float64, hint string) {
	fmt.Fprintf(&s.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s">%s</rect>`, html.EscapeString(class),
		coordinate(x), coordinate(y), coordinate(max(w, 0)), coordinate(max(h, 0)), hintOf(hint))
}

// text writes text; anchor is start, middle or end.
func (s *svg) text(class, anchor string, x, y float64, text string) {
	fmt.Fprintf(&s.b, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`, html.EscapeString(class), anchor,
		coordinate(x), coordinate(y), html.EscapeString(text))
}

// path draws a line through points.
func (s *svg) path(class string, points []point) {
	if len(points) == 0 {
		return
	}
	fmt.Fprintf(&s.b, `<polyline class="%s" points="`, html.EscapeString(class))
	for i, p := range points {
		if i > 0 {
			s.b.WriteByte(' ')
		}
		s.b.WriteString(coordinate(p.x) + "," + coordinate(p.y))
	}
	s.b.WriteString(`"/>`)
}

// mark draws a sign at a point. Its shape follows from n, so that series differ in
// more than their colour.
func (s *svg) mark(class string, n int, x, y float64, hint string) {
	const r = 4
	xy := func(dx, dy float64) string { return coordinate(x+dx) + "," + coordinate(y+dy) + " " }
	class, hint = html.EscapeString(class), hintOf(hint)
	switch n % 4 {
	case 0:
		fmt.Fprintf(&s.b, `<circle class="%s" cx="%s" cy="%s" r="%d">%s</circle>`, class, coordinate(x), coordinate(y), r, hint)
	case 1:
		fmt.Fprintf(&s.b, `<polygon class="%s" points="%s">%s</polygon>`, class, xy(-r, -r)+xy(r, -r)+xy(r, r)+xy(-r, r), hint)
	case 2:
		fmt.Fprintf(&s.b, `<polygon class="%s" points="%s">%s</polygon>`, class, xy(0, -r-1)+xy(r+1, r)+xy(-r-1, r), hint)
	default:
		fmt.Fprintf(&s.b, `<polygon class="%s" points="%s">%s</polygon>`, class, xy(0, -r-1)+xy(r+1, 0)+xy(0, r+1)+xy(-r-1, 0), hint)
	}
}

func hintOf(text string) string {
	if text == "" {
		return ""
	}
	return "<title>" + html.EscapeString(text) + "</title>"
}

type point struct{ x, y float64 }

// coordinate writes a number with one decimal at most.
func coordinate(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}
