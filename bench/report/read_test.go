package report

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/siftkv/sift/bench/sweep"
)

// load reads the small input: two stores, two rounds, a workload with two settings
// and one of another version, a stall, a sweep, and lines of other kinds.
func load(t *testing.T) *Data {
	t.Helper()
	d := new(Data)
	f, err := os.Open("testdata/small.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := d.Read("small.jsonl", f); err != nil {
		t.Fatal(err)
	}
	return d
}

const goodLine = `{"store":"sift","workload":"fillseq","figures":{"ops_per_sec":5}}` + "\n"

// What is not a line of a measurement is an error that names file and line, says
// what is wrong, and what to do.
func TestBadLines(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
	}{
		{"nothing", "", "f: no measurements in 0 lines; want the lines that kvbench run -json, "},
		{"empty lines", "\n \n", "f: no measurements in 2 lines; "},
		{"cut off", goodLine + goodLine[:30], "f:2: the line is cut off: what wrote it did not finish; remove the line, or measure again"},
		{"text", "sift is fast\n", "f:1: not JSON (invalid character 's' looking for beginning of value); want the lines"},
		{"JSON over several lines", goodLine + "\n{\n", "f:3: JSON over several lines; want the lines"},
		{"a number", "7\n", "f:1: a JSON number, not an object; want"},
		{"a list", "[]\n", "f:1: a JSON array, not an object; want"},
		{"not a number", strings.Replace(goodLine, "5", "NaN", 1), "f:1: not JSON (invalid character 'N'"},
		{"a number too large", strings.Replace(goodLine, "5", "1e999", 1), "f:1: the field figures is a number 1e999; want a value of type float64"},
		{"a number beyond belief", strings.Replace(goodLine, "5", "1e300", 1), "f:1: the field figures.ops_per_sec is 1e+300; want a number from 0 to 1e+18"},
		{"below zero", strings.Replace(goodLine, "5", "-5", 1), "f:1: the field figures.ops_per_sec is -5; want"},
		{"a figure of text", strings.Replace(goodLine, "5", `"5"`, 1), "f:1: the field figures is a string; want a value of type float64: the line was not written by this version, or changed"},
		{"a store of numbers", strings.Replace(goodLine, `"sift"`, "5", 1), "f:1: the field store is a number; want a value of type string"},
		{"no name", strings.Replace(goodLine, "sift", "", 1), `f:1: the name of a store is ""; want 1 to 64 bytes`},
		{"a name of lines", strings.Replace(goodLine, "sift", `a\nb`, 1), `f:1: the name of a store is "a\nb"; want`},
		{"no figures", `{"store":"sift","workload":"fillseq"}`, "f:1: a workload without figures; want"},
		{"a timeline below zero", strings.Replace(goodLine, `"figures"`, `"timeline":[5,-1],"figures"`, 1), "f:1: the field timeline is -1"},
		{"a version of text", `{"sweep":"one"}`, `f:1: the field sweep is "\"one\""; want the number of a version`},
		{"a shape that is none", `{"sweep":1,"filter":"blocked","shape":"flat"}`, `f:1: the shape is "flat"; want one of`},
		{"a share above all", `{"sweep":1,"filter":"blocked","shape":"compacted","absent":2}`, "f:1: a share of 2 absent keys; want 0 to 1"},
		{"only other kinds", `{"settings":{}}` + "\n", "f: no measurements in 1 lines; want"},
		{"a long line", goodLine + strings.Repeat("x", maxLine+1), "f:2: the line has more than 8388608 bytes"},
	} {
		err := new(Data).Read("f", strings.NewReader(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s…", c.name, err, c.want)
		}
		if line := new(LineError); strings.Contains(c.want, "f:") && strings.HasPrefix(c.want, "f:1") && !errors.As(err, &line) {
			t.Errorf("%s: a %T", c.name, err)
		}
	}
}

// More stores, workloads or settings than a report can show are refused, with what
// to do; what was read before stays.
func TestTooMuch(t *testing.T) {
	var stores, cases strings.Builder
	for i := range maxStores + 1 {
		stores.WriteString(strings.Replace(goodLine, "sift", "s"+count(float64(i)), 1))
	}
	for i := range maxCases + 1 {
		cases.WriteString(strings.Replace(goodLine, "fillseq", "w"+count(float64(i)), 1))
	}
	for text, want := range map[string]string{
		stores.String(): `f:13: "s12" is one store more than the 12 that a report shows side by side; leave some out`,
		cases.String():  "f:201: more than 200 workloads and settings of them; make a report of fewer",
	} {
		d := new(Data)
		if err := d.Read("f", strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
		if n := strings.Count(text, "\n"); len(d.Runs) != n-1 {
			t.Errorf("%d of %d lines were kept", len(d.Runs), n-1)
		}
	}
}

// Lines that are each taken can be too much together.
func TestTooManyBytes(t *testing.T) {
	d := &Data{bytes: maxBytes - len(goodLine)}
	err := d.Read("f", strings.NewReader(goodLine+goodLine))
	if want := "f:2: more than 268435456 bytes of results; make a report of fewer"; err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
}

// Of a large sweep the plot and the sentences have the first groups, and say how
// many are left; the table has all.
func TestLargeSweep(t *testing.T) {
	d := new(Data)
	for i := range maxGroups + 5 {
		if err := d.AddCells(sweep.Cell{Shape: sweep.Compacted, Filter: "blocked", CacheBytes: int64(i), WithoutFilter: 1}); err != nil {
			t.Fatal(err)
		}
	}
	s := d.sweepSection()
	if n := len(s.List); n != maxGroups+1 || !strings.HasPrefix(s.List[n-1], "5 more ") || len(s.Figures) != 1 || len(s.Figures[0].Rows) != maxGroups+5 {
		t.Errorf("%d sentences, the last %q; %d plots", n, s.List[n-1], len(s.Figures))
	}
}

// A reader that fails says so, with the file's name.
func TestReadFails(t *testing.T) {
	broken := errors.New("broken")
	err := new(Data).Read("f", io.MultiReader(strings.NewReader(goodLine), failing{broken}))
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "f: ") {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Lines of other kinds and versions are counted and named, and workloads that this
// version does not know are shown and named.
func TestNotes(t *testing.T) {
	want := []string{
		"1 line is not shown, the first of them small.jsonl:17: cells of version 2 of a sweep, where this kvbench reads version 1: measure again, or use the kvbench that wrote them.",
		"2 lines are not shown, the first of them small.jsonl:18: neither a workload of a store nor a cell of a sweep.",
		"Workloads that this version does not know, shown as they came: newwork.",
	}
	if got := load(t).Notes(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", got)
	}
}

// Whatever a file holds, reading it and showing what was read neither fails in
// another way than with an error nor panics, and the page stays well-formed.
func FuzzRead(f *testing.F) {
	small, err := os.ReadFile("testdata/small.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(small)
	for line := range bytes.Lines(small) {
		f.Add(line)
	}
	f.Add([]byte(goodLine[:40]))
	f.Add([]byte(`{"store":"<b>","workload":"</svg><script>","figures":{"ops_per_sec":0,"p50_ns":1e18,"p99.9_ns":1e-300},"timeline":[0,0,0,0,0,0,0,0,0,1]}`))
	f.Add([]byte(`{"sweep":1,"shape":"compacted","filter":"none","absent":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d := new(Data)
		_ = d.Read("f", bytes.NewReader(text)) // what was read before the error is shown
		var page bytes.Buffer
		for _, write := range []func(io.Writer) error{d.WriteText, d.WriteJSON, d.WriteCSV} {
			if err := write(io.Discard); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.WriteHTML(&page); err != nil {
			t.Fatal(err)
		}
		for _, s := range d.Sections() {
			for i := range s.Figures {
				checkSVG(t, &s.Figures[i])
			}
		}
	})
}
