package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write the transcripts anew")

// The terminal's report and the CSV of the small input read like the transcripts.
func TestTranscripts(t *testing.T) {
	d := load(t)
	var text, table bytes.Buffer
	if err := d.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteCSV(&table); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]byte{"testdata/small.txt": text.Bytes(), "testdata/small.csv": table.Bytes()} {
		if *update {
			if err := os.WriteFile(name, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs:\n%s", name, got)
		}
	}
	if rows, err := csv.NewReader(&table).ReadAll(); err != nil || len(rows) < 50 {
		t.Errorf("the CSV has %d rows: %v", len(rows), err)
	}
}

// The summary is rounds put together: medians, spreads, shares of the fastest, and
// stalls; settings that differ are apart.
func TestSummary(t *testing.T) {
	var buf bytes.Buffer
	if err := load(t).WriteJSON(&buf); err != nil {
		t.Fatal(err)
	}
	var s Summary
	if err := json.Unmarshal(buf.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Stores, []string{"sift", "other"}) || len(s.Sweep) != 6 || len(s.Skipped) != 2 || !slices.Equal(s.Unknown, []string{"newwork"}) {
		t.Errorf("%q, %d cells, %v skipped, %q unknown", s.Stores, len(s.Sweep), s.Skipped, s.Unknown)
	}
	find := func(store, name string, pairs int) WorkloadSummary {
		i := slices.IndexFunc(s.Workloads, func(w WorkloadSummary) bool { return w.Store == store && w.Workload == name && w.Pairs == pairs })
		if i < 0 {
			t.Fatalf("no %s of %s", name, store)
		}
		return s.Workloads[i]
	}
	near := func(got, want float64) bool { return got > want*(1-1e-9) && got < want*(1+1e-9) }
	w := find("sift", "fillrandom", 1000)
	if f := w.Figures["ops_per_sec"]; w.Rounds != 2 || !near(f.Low, 2.2e5) || !near(f.High, 2.4e5) || !near(f.Median, 2.3e5) || w.OfFastest != 1 || w.Stalls != 1 {
		t.Errorf("%+v", w)
	}
	if w := find("other", "fillrandom", 1000); !near(w.OfFastest, 0.5) {
		t.Errorf("half as fast, and %v of the fastest", w.OfFastest)
	}
	if w := find("sift", "readmissing", 2000); w.Rounds != 1 {
		t.Errorf("%d rounds of the settings that were measured once", w.Rounds)
	}
}

// A stall is a step with less than a tenth of the middle one; neighbours are one.
func TestStalls(t *testing.T) {
	for _, c := range []struct {
		steps []int64
		want  []point
	}{
		{nil, nil},
		{[]int64{0, 0, 0}, nil},
		{[]int64{100, 100, 100, 9, 100}, []point{{0.3, 0.4}}},
		{[]int64{100, 100, 100, 10, 100}, nil},
		{[]int64{0, 0, 100, 100, 100, 100, 100, 5}, []point{{0, 0.2}, {0.7, 0.8}}},
	} {
		got := stalls(c.steps)
		same := len(got) == len(c.want)
		for i := range min(len(got), len(c.want)) {
			same = same && got[i].x-c.want[i].x < 1e-9 && c.want[i].x-got[i].x < 1e-9 && got[i].y-c.want[i].y < 1e-9 && c.want[i].y-got[i].y < 1e-9
		}
		if !same {
			t.Errorf("%v: %v; want %v", c.steps, got, c.want)
		}
	}
}

// Numbers keep three digits, whatever their size.
func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1.00", 9.999: "10.00", 12.34: "12.3", 123.4: "123", 1234.6: "1,235", 999999: "999,999", 0.1: "0.100", 0.00123: "0.00123", 1e-5: "1e-05", 1e12: "1e+12", -2.5: "-2.50",
	} {
		if got := number(x); got != want {
			t.Errorf("%v is written %s; want %s", x, got, want)
		}
	}
}
