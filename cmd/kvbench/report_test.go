package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/siftkv/sift/bench/report"
)

// write makes a file and returns its name.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What run, sweep and the peers' bench print is read: the tables and the page show
// every workload and every store, and flags may follow files.
func TestReportOfFiles(t *testing.T) {
	lines, _ := kvbench(t, append(smallWorkloads, "-workload=fillseq,readmissing", "-json")...)
	cells, _ := kvbench(t, append(smallSweep, "-json")...)
	sift, other := write(t, "sift.jsonl", lines.stdout), write(t, "other.jsonl", strings.ReplaceAll(lines.stdout, `"store":"sift"`, `"store":"other"`))
	page := filepath.Join(t.TempDir(), "page.html")
	for range 2 { // the second replaces the page
		got, temp := kvbench(t, "report", sift, "-html", page, other, write(t, "sweep.jsonl", cells.stdout))
		isEmpty(t, temp)
		if got.code != exitOK || got.stderr != "" {
			t.Fatalf("exit code %d, %q on stderr", got.code, got.stderr)
		}
		for _, want := range []string{"WHAT FILTERS SAVE", "SIDE BY SIDE", "\nSIFT\n", "\nOTHER\n", "\nfillseq ", "\nreadmissing ", "\nThe plots are in " + page + "\n"} {
			if !strings.Contains(got.stdout, want) {
				t.Errorf("the report lacks %q:\n%s", want, got.stdout)
			}
		}
	}
	html, err := os.ReadFile(page)
	if err != nil || !strings.HasPrefix(string(html), pageStart) {
		t.Fatalf("%v; the page begins with %.40q", err, html)
	}
	for _, id := range []string{"bits", "pay", "ratios", "latency-0", "peak", "split", "reads", "writes", "space"} {
		if !strings.Contains(string(html), `id="`+id+`-t"`) {
			t.Errorf("the page lacks the plot %s", id)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(page))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the page there is more: %v %v", entries, err)
	}
}

// -json and -csv print the summary for programs, and nothing else.
func TestReportForPrograms(t *testing.T) {
	lines, _ := kvbench(t, append(smallWorkloads, "-workload=fillseq", "-json")...)
	file := write(t, "sift.jsonl", lines.stdout)
	var s report.Summary
	got, _ := kvbench(t, "report", "-json", file)
	if err := json.Unmarshal([]byte(got.stdout), &s); err != nil || len(s.Workloads) != 1 || s.Workloads[0].Workload != "fillseq" {
		t.Errorf("%v; %+v", err, s)
	}
	got, _ = kvbench(t, "report", "-csv", file)
	rows, err := csv.NewReader(strings.NewReader(got.stdout)).ReadAll()
	if err != nil || len(rows) != 1+len(s.Workloads[0].Figures) {
		t.Errorf("%v; %d rows", err, len(rows))
	}
}

// Without files it measures: every workload of its list, and a sweep. It leaves
// nothing behind.
func TestReportMeasures(t *testing.T) {
	got, temp := kvbench(t, "report", "-n=1000", "-lookups=100", "-json")
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("exit code %d, %q on stderr", got.code, got.stderr)
	}
	isEmpty(t, temp)
	var s report.Summary
	if err := json.Unmarshal([]byte(got.stdout), &s); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, w := range s.Workloads {
		names = append(names, w.Workload)
		if _, ok := w.Figures[report.FilterBytes]; !ok {
			t.Errorf("%s does not say what memory is for", w.Workload)
		}
	}
	want := slices.Clone(reportWorkloads())
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) || len(s.Sweep) == 0 {
		t.Errorf("measured %q and %d cells; want %q", names, len(s.Sweep), want)
	}
}

// What cannot be read is an error that names file and line; all files are looked
// at. What is asked wrongly is listed, and a file that is no page is not replaced.
func TestReportFaults(t *testing.T) {
	bad, empty := write(t, "bad.jsonl", "{\"store\":\"sift\",\n"), write(t, "empty.jsonl", "")
	got, _ := kvbench(t, "report", bad, empty, filepath.Join(t.TempDir(), "none"))
	if got.code != exitFailed || !strings.Contains(got.stderr, "bad.jsonl:1: the line is cut off") || !strings.Contains(got.stderr, "empty.jsonl: no measurements") ||
		!strings.Contains(got.stderr, "none: ") {
		t.Errorf("exit code %d, and\n%s", got.code, got.stderr)
	}
	got, _ = kvbench(t, "report", "-html", bad, "-json", "-csv", "-n=5", "-seed=2", empty)
	want := `kvbench: -html "` + bad + `": it is there, and is not a page that a report wrote; name another
kvbench: -n "5": want a whole number from 100 to 1,000,000,000
kvbench: -json and -csv: want one of them
kvbench: -n: with files nothing is measured
kvbench: -seed: with files nothing is measured

` + reportShortUsage
	if got.code != exitUsage || got.stdout != "" || got.stderr != want {
		t.Errorf("exit code %d, and\n%s", got.code, got.stderr)
	}
	for _, name := range []string{"", t.TempDir(), filepath.Join(t.TempDir(), "none", "page"), filepath.Join(bad, "page")} {
		if got, _ := kvbench(t, "report", "-html", name, empty); got.code != exitUsage {
			t.Errorf("-html %q: exit code %d", name, got.code)
		}
	}
	if text, err := os.ReadFile(bad); err != nil || len(text) != 17 {
		t.Errorf("the file that is no page has changed: %q, %v", text, err)
	}
	got, _ = kvbench(t, "report", "-help")
	for name := range strings.FieldsSeq("-html -json -csv -n -lookups -seed -dir") {
		if !strings.Contains(got.stdout, "\n  "+name+" ") {
			t.Errorf("the help does not say what %s is", name)
		}
	}
}

// A page that cannot be written leaves the old one and nothing else.
func TestWritePageFails(t *testing.T) {
	page := write(t, "page.html", pageStart)
	if err := writePage(page, func(io.Writer) error { return os.ErrInvalid }); err == nil {
		t.Error("no error")
	}
	entries, err := os.ReadDir(filepath.Dir(page))
	if text, readErr := os.ReadFile(page); err != nil || readErr != nil || len(entries) != 1 || string(text) != pageStart {
		t.Errorf("%v is there, %q in it: %v %v", entries, text, err, readErr)
	}
}

// The end of the context ends a report that waits for a pipe into which nobody
// writes.
func TestReportWaitsForNobody(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- readOrEnd(ctx, []string{"pipe"}, func(string) (io.ReadCloser, error) { return r, nil }, new(report.Data))
	}()
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

// The line of a long job says how much is done, what, how fast, and how long it
// may still take; without a terminal there is none.
func TestPaced(t *testing.T) {
	var out strings.Builder
	at := time.Unix(100, 0)
	p := environment{stderr: &out, tty: true}.paced(2000)
	p.start, p.now = at, func() time.Time { return at }
	if got, want := p.text("fillseq", 100), "[#...................]   5 %  fillseq"; got != want {
		t.Errorf("%q; want %q", got, want)
	}
	at = at.Add(10 * time.Second)
	if got, want := p.text("fillseq", 500), "[#####...............]  25 %  fillseq  50.0/s  30s left"; got != want {
		t.Errorf("%q; want %q", got, want)
	}
	if got := p.text("fillseq", 9000); !strings.HasPrefix(got, "[####################] 100 %") || !strings.HasSuffix(got, " 0s left") {
		t.Errorf("%q", got)
	}
	p.show("fillseq", 500)
	p.show("fillseq", 600) // at once: not shown
	p.clear()
	if want := clearLine + p.text("fillseq", 500) + clearLine; out.String() != want {
		t.Errorf("%q; want %q", out.String(), want)
	}
	none := environment{stderr: &out}.paced(5)
	none.show("x", 1)
	none.clear()
	if none != nil {
		t.Error("a line that nobody sees")
	}
}
