package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/siftkv/sift/bench/workload"
)

// TestMain lets the test binary be the process of a phase.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childName {
		if err := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Every workload runs on every engine, cold and warm, and every answer is right:
// each checks its own.
func TestAllEngines(t *testing.T) {
	for _, name := range engineNames() {
		t.Run(name, func(t *testing.T) {
			open, err := opener(name)
			if err != nil {
				t.Fatal(err)
			}
			r := workload.Runner{Config: workload.DefaultConfig(), Store: name, Open: open, Dir: t.TempDir()}
			r.Pairs, r.Lookups, r.Syncs, r.Opens = 1500, 500, 20, 2
			r.Settings.MemTableSize, r.Settings.CacheSize = 1<<20, 1<<20
			for _, spec := range workload.All() {
				got, err := r.Run(t.Context(), spec)
				if err != nil {
					t.Fatal(err)
				}
				if got.Operations < 1 || got.Figures[workload.OpsPerSec] <= 0 {
					t.Errorf("%s: %+v", spec.Name, got)
				}
			}
		})
	}
}

// A run makes the states, lets another engine be the first in each round, prints
// a line for each, and leaves nothing but the profiles that were asked for.
func TestRounds(t *testing.T) {
	var stdout, stderr bytes.Buffer
	dir := t.TempDir()
	profile := filepath.Join(t.TempDir(), "sift")
	args := []string{
		"-engines=sift,bbolt", "-workloads=fillrandom,readmissing,readdeleted,recover", "-n=500", "-lookups=100", "-rounds=2", "-keys=paths",
		"-json", "-cold", "-dir=" + dir, "-cpuprofile=" + profile,
	}
	if err := run(t.Context(), args, &stdout, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var got []string
	lines := json.NewDecoder(&stdout)
	for lines.More() {
		var r workload.Result
		if err := lines.Decode(&r); err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Store+" "+r.Workload)
		if r.Keys != "paths" || r.Pairs != 500 || !r.Cold || r.Round < 1 || r.Round > 2 || r.Operations < 1 {
			t.Errorf("%+v", r)
		}
		if lost, ok := r.Figures[workload.Lost]; ok != (r.Workload == "recover") || lost != 0 {
			t.Errorf("%s, %s: %v lost, %t", r.Store, r.Workload, lost, ok)
		}
	}
	want := []string{
		"sift fillrandom", "bbolt fillrandom", "bbolt fillrandom", "sift fillrandom",
		"sift readmissing", "bbolt readmissing", "bbolt readmissing", "sift readmissing",
		"sift readdeleted", "bbolt readdeleted", "bbolt readdeleted", "sift readdeleted",
		"sift recover", "bbolt recover", "bbolt recover", "sift recover",
	}
	if !slices.Equal(got, want) {
		t.Errorf("runs:\n%q; want\n%q", got, want)
	}
	for _, name := range []string{"fillrandom", "readmissing", "readdeleted", "recover"} {
		if info, err := os.Stat(profile + "-" + name + ".prof"); err != nil || info.Size() == 0 {
			t.Errorf("no profile of sift's %s: %v", name, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if stderr.Len() > 0 {
		t.Errorf("progress where there is no terminal: %q", stderr.String())
	}
}

// A process that was to put all pairs and then be killed, and ended before, fails
// the run: what it left is no state.
func TestKilledEarly(t *testing.T) {
	c, err := parse([]string{"-engines=bbolt", "-workloads=recover", "-n=500"}, nil, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	c.dir = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(c.dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.build(t.Context(), "bbolt", c.specs[0]); err == nil || !strings.Contains(err.Error(), `printed ""`) {
		t.Errorf("got %v", err)
	}
}

// A process that fails fails the run, which says whose it was and why.
func TestFailure(t *testing.T) {
	c, err := parse([]string{"-engines=bbolt", "-workloads=readmissing"}, nil, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	c.dir = filepath.Join(t.TempDir(), "missing", "directory")
	_, err = c.phase(t.Context(), "bbolt", c.specs[0], "-cpuprofile="+c.dir)
	if err == nil || !strings.Contains(err.Error(), "bbolt, readmissing") || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v", err)
	}
}

// Bad arguments are listed, all of them, before anything is made.
func TestFaults(t *testing.T) {
	dir := t.TempDir()
	_, err := parse([]string{"-dir=" + dir, "-engines=sift,rocks,", "-workloads=fillrandom,fly", "-keys=uuid", "-n=1", "-rounds=0", "more"}, nil, nil)
	if !errors.As(err, new(usageError)) {
		t.Fatalf("got %v; want a usageError", err)
	}
	for _, want := range []string{`"more"`, `"rocks"`, `""`, `"fly"`, `"uuid"`, "at least 100", "0 rounds"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %s", err, want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("made: %v, %v", left, err)
	}
}

// A quick run is a tenth and one round, but for what is asked for. The child gets
// all of it.
func TestQuick(t *testing.T) {
	c, err := parse([]string{"-quick", "-lookups=777", "-cache=5", "-memtable=6"}, nil, nil)
	if err != nil || c.Pairs != 100_000 || c.Lookups != 777 || c.Syncs != 500 || c.rounds != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	again, err := parse(c.flags(), nil, nil)
	if err != nil || again.Pairs != c.Pairs || again.Lookups != c.Lookups || again.Syncs != c.Syncs || again.Settings != c.Settings || again.Opens != c.Opens {
		t.Errorf("%+v, %v; want what %+v says", again, err, c)
	}
}

// Medians, spreads, ratios and shares, and how they are printed.
func TestFigures(t *testing.T) {
	if got, want := spreadOf([]float64{5, 1, 3}), (spread{1, 3, 5}); got != want {
		t.Errorf("spread %v; want %v", got, want)
	}
	if got, want := spreadOf([]float64{4, 1, 3, 2}), (spread{1, 2.5, 4}); got != want {
		t.Errorf("spread %v; want %v", got, want)
	}
	var s series
	for _, v := range []float64{10_000, 20_000} {
		for engine, ops := range map[string]float64{"sift": 4 * v, "pebble": v, "bbolt": 8 * v} {
			s = append(s, workload.Result{Store: engine, Workload: "fillseq", Figures: map[string]float64{workload.OpsPerSec: ops}})
		}
	}
	engines := []string{"sift", "pebble", "bbolt"}
	if got := s.ratios("sift", "pebble", "fillseq"); !slices.Equal(got, []float64{4, 4}) {
		t.Errorf("ratios %v; want 4", got)
	}
	if got := s.toBest("sift", "fillseq", engines); !slices.Equal(got, []float64{0.5, 0.5}) {
		t.Errorf("shares of the best %v; want 0.5", got)
	}
	var b bytes.Buffer
	if err := printTables(&b, s, engines, workload.All()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"60.0 (40.0–80.0)", "15.0 (10.0–20.0)", "4.00 (4.00–4.00)", "0.500 (0.500–0.500)", "1.00 (1.00–1.00)"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the tables do not have %s:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "fillrandom") || strings.Contains(b.String(), "Median") {
		t.Errorf("rows or tables without a figure:\n%s", b.String())
	}
}

// An iterator of pebble that is used again sees all that was written before.
func TestPebbleIterSeesWrites(t *testing.T) {
	e, err := openPebbleIter(t.TempDir(), workload.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	key := []byte("k")
	for _, want := range []string{"", "a", "b", ""} {
		switch want {
		case "":
			err = e.Delete(key)
		default:
			err = e.Put(key, []byte(want), false)
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got, ok, err := e.Get(nil, key); string(got) != want || ok != (want != "") || err != nil {
				t.Fatalf("%q, %t, %v; want %q", got, ok, err, want)
			}
		}
	}
}
