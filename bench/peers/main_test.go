package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMain lets the test binary be the process of a phase.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childName {
		if err := child(os.Args[2:], os.Stdout); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Every engine fills, compacts, is closed and opened, and gives every answer
// right: each phase checks its own.
func TestAllEngines(t *testing.T) {
	var stdout, stderr bytes.Buffer
	dir := t.TempDir()
	profile := filepath.Join(t.TempDir(), "sift")
	args := []string{"-engines=all", "-n=3000", "-lookups=500", "-rounds=2", "-json", "-dir=" + dir, "-cpuprofile=" + profile}
	if err := run(t.Context(), args, &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var got []string
	lines := json.NewDecoder(&stdout)
	for lines.More() {
		var s sample
		if err := lines.Decode(&s); err != nil {
			t.Fatal(err)
		}
		got = append(got, s.Engine+" "+s.Phase)
		for name, v := range s.Figures {
			if v < 0 || !slices.Contains(figuresOf(s.Phase), name) {
				t.Errorf("%s, %s: the figure %q is %v", s.Engine, s.Phase, name, v)
			}
		}
	}
	if want := len(engineNames()) * len(phases()) * 2; len(got) != want || got[0] != "sift fill" || got[15] != "pebble fill" {
		t.Errorf("%d samples: %q; want %d, and another engine first in the second round", len(got), got, want)
	}
	for _, phase := range phases() {
		if info, err := os.Stat(profile + "-" + phase + ".prof"); err != nil || info.Size() == 0 {
			t.Errorf("no profile of sift's %s: %v", phase, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A phase that finds a wrong answer fails the run, and says whose it was.
func TestWrongAnswer(t *testing.T) {
	w := workload{pairs: 100, lookups: 10, seed: 1}
	e, err := openEngine("bbolt", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := w.run(e, presentPhase); err == nil || !strings.Contains(err.Error(), "wrong answer") {
		t.Errorf("an empty store that should hold 100 pairs: %v", err)
	}
	if _, err := w.run(e, "other"); err == nil {
		t.Error("an unknown phase is run")
	}
}

// Bad arguments are listed, all of them, before anything is made.
func TestFaults(t *testing.T) {
	dir := t.TempDir()
	_, err := parse([]string{"-dir=" + dir, "-engines=sift,rocks,", "-n=1", "more"}, nil, nil)
	if !errors.As(err, new(usageError)) {
		t.Fatalf("got %v; want a usageError", err)
	}
	for _, want := range []string{`"more"`, `"rocks"`, `""`, "at least 100 pairs"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %s", err, want)
		}
	}
}

// A quick run is a tenth and one round, but for what is asked for.
func TestQuick(t *testing.T) {
	c, err := parse([]string{"-quick", "-lookups=777"}, nil, nil)
	if err != nil || c.pairs != 100_000 || c.lookups != 777 || c.rounds != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

// Medians, spreads and ratios, where both more and less may be better.
func TestFigures(t *testing.T) {
	if got, want := spreadOf([]float64{5, 1, 3}), (spread{1, 3, 5}); got != want {
		t.Errorf("spread %v; want %v", got, want)
	}
	if got, want := spreadOf([]float64{4, 1, 3, 2}), (spread{1, 2.5, 4}); got != want {
		t.Errorf("spread %v; want %v", got, want)
	}
	var s series
	for round, v := range []float64{10, 20} {
		s = append(s,
			sample{"sift", fillPhase, round, map[string]float64{putRate: 4 * v, cpuPerOp: v}},
			sample{"pebble", fillPhase, round, map[string]float64{putRate: v, cpuPerOp: 2 * v}})
	}
	if got := s.ratios("sift", "pebble", fillPhase, putRate); !slices.Equal(got, []float64{4, 4}) {
		t.Errorf("ratios of rates: %v; want 4", got)
	}
	if got := s.ratios("sift", "pebble", fillPhase, cpuPerOp); !slices.Equal(got, []float64{2, 2}) {
		t.Errorf("ratios of costs: %v; want 2", got)
	}
	var b bytes.Buffer
	if err := printTables(&b, s, []string{"sift", "pebble"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"60.0 (40.0–80.0)", "15.0 (10.0–20.0)", "4.00 (4.00–4.00)"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the tables do not have %s:\n%s", want, b.String())
		}
	}
}
