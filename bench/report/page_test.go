package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/siftkv/sift/bench/workload"
)

// checkSVG fails unless a plot is well-formed XML, every number in it is one, and
// everything is drawn inside of it.
func checkSVG(t *testing.T, f *Figure) {
	t.Helper()
	text := string(f.SVG)
	decoder := xml.NewDecoder(strings.NewReader(text))
	var width, height float64
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v in\n%s", f.ID, err, text)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		at := make(map[string]float64)
		for _, a := range element.Attr {
			switch a.Name.Local {
			case "viewBox":
				box := strings.Fields(a.Value)
				width, height = numberIn(t, f.ID, box[2]), numberIn(t, f.ID, box[3])
			case "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "width", "height":
				at[a.Name.Local] = numberIn(t, f.ID, a.Value)
			case "points":
				for p := range strings.FieldsSeq(a.Value) {
					x, y, _ := strings.Cut(p, ",")
					inside(t, f.ID, a.Value, numberIn(t, f.ID, x), numberIn(t, f.ID, y), width, height)
				}
			}
		}
		inside(t, f.ID, element.Name.Local, at["x"]+at["width"], at["y"]+at["height"], width, height)
		inside(t, f.ID, element.Name.Local, at["x1"], at["y1"], width, height)
		inside(t, f.ID, element.Name.Local, at["x2"], at["y2"], width, height)
		inside(t, f.ID, element.Name.Local, at["cx"]+at["r"], at["cy"]+at["r"], width, height)
	}
}

func numberIn(t *testing.T, id, text string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x != x {
		t.Fatalf("%s: %q is no place", id, text)
	}
	return x
}

func inside(t *testing.T, id, what string, x, y, width, height float64) {
	t.Helper()
	if x < 0 || y < 0 || x > width+0.1 || y > height+0.1 {
		t.Fatalf("%s: %s reaches %v, %v, which is outside of %v × %v", id, what, x, y, width, height)
	}
}

// Every plot has a title, a sentence, the data as a table with as many cells in
// each row as the heading, and is drawn inside its frame. All kinds are there.
func TestFigures(t *testing.T) {
	var ids []string
	for _, s := range load(t).Sections() {
		for i := range s.Figures {
			f := &s.Figures[i]
			ids = append(ids, f.ID)
			checkSVG(t, f)
			if f.Title == "" || !strings.HasSuffix(f.Says, ".") || len(f.Rows) == 0 {
				t.Errorf("%s lacks a title, a sentence or data", f.ID)
			}
			for _, row := range f.Rows {
				if len(row) != len(f.Head) {
					t.Errorf("%s: a row of %d cells under a heading of %d", f.ID, len(row), len(f.Head))
				}
			}
		}
	}
	const want = "bits pay ratios latency-0 latency-1 latency-2 throughput-0 peak split reads writes space"
	if got := strings.Join(ids, " "); got != want {
		t.Errorf("the plots are %s; want %s", got, want)
	}
}

// Points lie where their values say: at known places of a plot of known ends.
func TestPlaces(t *testing.T) {
	linear := &scale{low: 0, high: 10, from: 100, to: 200}
	log := &scale{low: 0.01, high: 100, from: 200, to: 0, log: true}
	for _, c := range []struct {
		s       *scale
		v, want float64
	}{
		{linear, 0, 100},
		{linear, 2.5, 125},
		{linear, 10, 200},
		{linear, -1, 100},
		{linear, 11, 200},
		{log, 0.01, 200},
		{log, 1, 100},
		{log, 100, 0},
		{log, 0, 200},
		{log, 1e9, 0},
	} {
		if got := c.s.place(c.v); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%v is at %v of %+v; want %v", c.v, got, *c.s, c.want)
		}
	}
}

// Scales hold every value they are made for, and name a handful of round numbers.
func TestScales(t *testing.T) {
	for _, high := range []float64{0, 5e-324, 1e-18, 1e-11, 0.003, 1, 7, 99.9, 100, 12345, 1e18} {
		for _, s := range []*scale{linearScale(high), logScale([]float64{high, 1}), logScale([]float64{high})} {
			ticks := s.ticks()
			if s.high < high*(1-1e-9) || !(s.high > 0) || s.high <= s.low || len(ticks) < 2 || len(ticks) > 9 {
				t.Errorf("for %v: %+v with ticks %v", high, *s, ticks)
			}
		}
	}
}

// Text from a file cannot become anything but text.
func TestEscaping(t *testing.T) {
	const hostile = `</svg><script>alert("1")</script>&'`
	d := new(Data)
	for _, store := range []string{hostile, "sift"} {
		err := d.AddRun(&workload.Result{
			Store: store, Workload: `"><img src=x>`, Keys: "<i>", Pairs: 1, Timeline: []int64{9, 9, 9, 9, 9, 0, 9, 9, 9, 9},
			Figures: map[string]float64{"ops_per_sec": 5, "p50_ns": 5, "p99.9_ns": 9, "peak_anon_bytes": 5, "write_amplification": 2, "<u>": 1},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	d.skip("<b>", `<a href="x">:1`)
	var page bytes.Buffer
	if err := d.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	for _, tag := range regexp.MustCompile(`<[a-zA-Z0-9!/]+`).FindAllString(page.String(), -1) {
		const known = " <!DOCTYPE <html <head <meta <title <style <body <main <h1 <h2 <h3 <ul <li <aside <p <nav <a <section <div <figure <figcaption " +
			"<svg <desc <line <text <rect <circle <polygon <polyline <details <summary <table <thead <tbody <tr <th <td "
		if !strings.Contains(known, " "+strings.Replace(tag, "/", "", 1)+" ") {
			t.Errorf("the page has the tag %s", tag)
		}
	}
}

// The page stands by itself: it names no other file and no address, and runs
// nothing.
func TestPageIsSelfContained(t *testing.T) {
	var page bytes.Buffer
	if err := load(t).WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(page.String(), `xmlns="http://www.w3.org/2000/svg"`, "")
	for _, bad := range []string{"http:", "https:", "//", "src=", "<link", "<script", "@import", "url("} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, want := range []string{"<!DOCTYPE html>", `name="viewport"`, "-scheme: dark", "@media print", "<details>", `scope="col"`, "<figcaption>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// Nothing measured is an empty page, not a failure.
func TestEmptyPage(t *testing.T) {
	if s := new(Data).Sections(); len(s) > 0 {
		t.Errorf("%d sections of nothing", len(s))
	}
	if err := new(Data).WriteHTML(io.Discard); err != nil {
		t.Error(err)
	}
}

// Plots of many bars, of stacked ones and of long labels stay in their frame.
func TestManyBars(t *testing.T) {
	p := barPlot{id: "many", title: "many", says: "Many.", unit: "bars"}
	for i := range 40 {
		g := barGroup{label: strings.Repeat("long ", i)}
		for k := range 12 {
			g.bars = append(g.bars, bar{"s", []part{{"a", k, float64(i)}, {"b", k + 1, float64(k)}}, "a long text"})
		}
		p.groups = append(p.groups, g)
	}
	checkSVG(t, &Figure{ID: p.id, SVG: p.draw()})
}
