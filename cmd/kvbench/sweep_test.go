package main

import (
	"encoding/csv"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/siftkv/sift/bench/sweep"
)

// smallSweep makes a sweep that takes a moment.
var smallSweep = []string{"sweep", "-n=1000", "-lookups=200", "-filters=blocked", "-bits=5,10", "-shapes=overlapping", "-absent=0,100", "-caches=1KiB,50%"}

// The transcript of a sweep: what was measured, a table for each group, and one
// sentence below it. All but the speed is the same in every run.
func TestSweepTranscript(t *testing.T) {
	got, temp := kvbench(t, smallSweep...)
	isEmpty(t, temp)
	again, _ := kvbench(t, smallSweep...)
	// The last number of a row is the speed, before the verdict.
	speed := regexp.MustCompile(`(?m) +[0-9.,]+ +(pays|even|wasted|-)$`)
	counts := func(s string) string { return speed.ReplaceAllString(s, "# $1") }
	if got.code != exitOK || got.stderr != "" || counts(got.stdout) != counts(again.stdout) {
		t.Fatalf("exit code %d, %q on stderr; two equal sweeps print\n%s\n%s", got.code, got.stderr, got.stdout, again.stdout)
	}
	if want := "1,000 pairs, 113 KiB, in memory; 200 lookups in each combination, keys chosen evenly, seed 1\n\n" +
		"Overlapping tables, 0 % absent keys, cache 1 KiB (0.883 % of the data)\n"; !strings.HasPrefix(got.stdout, want) {
		t.Errorf("it begins with\n%s\nwant\n%s", got.stdout[:min(len(got.stdout), 300)], want)
	}
	for what, want := range map[string]int{"\nfilter ": 4, "\nnone ": 4, "\nblocked, 5 bits ": 4, "\nblocked, 10 bits ": 4, "\nFilters ": 4} {
		if n := strings.Count(got.stdout, what); n != want {
			t.Errorf("%d lines begin with %q; want %d:\n%s", n, what, want, got.stdout)
		}
	}
}

// JSON lines and CSV say the same of every combination, the one without filters
// first in its group.
func TestSweepJSONAndCSV(t *testing.T) {
	lines, _ := kvbench(t, append(smallSweep, "-json")...)
	table, _ := kvbench(t, append(smallSweep, "-csv")...)
	rows, err := csv.NewReader(strings.NewReader(table.stdout)).ReadAll()
	if err != nil || lines.code != exitOK || table.code != exitOK {
		t.Fatal(err, lines.code, table.code)
	}
	decoder := json.NewDecoder(strings.NewReader(lines.stdout))
	n := 0
	for decoder.More() {
		var c sweep.Cell
		if err := decoder.Decode(&c); err != nil {
			t.Fatal(err)
		}
		n++
		if first := c.Filter == sweep.NoFilter; c.Version != sweep.Version || first != (n%3 == 1) || c.Lookups != 200 {
			t.Errorf("line %d is %+v", n, c)
		}
		field := func(name string) string {
			for i, head := range rows[0] {
				if head == name {
					return rows[n][i]
				}
			}
			t.Fatalf("no column %s", name)
			return ""
		}
		if field("filter") != c.Filter || field("disk_reads_per_lookup") != exact(c.ReadsPerLookup) || field("verdict") != string(c.Verdict) ||
			field("cache_bytes") != strconv.FormatInt(c.CacheBytes, 10) {
			t.Errorf("row %d is %q; the line is %+v", n, rows[n], c)
		}
	}
	if want := 2 * 2 * 3; n != want || len(rows) != want+1 {
		t.Errorf("%d lines and %d rows; want %d and a heading", n, len(rows), want)
	}
}

// Faults are listed with what is wanted; the help names every flag.
func TestSweepFaultsAndHelp(t *testing.T) {
	got, _ := kvbench(t, "sweep", "-filters=cuckoo", "-bits=5,x", "-shapes=flat", "-absent=101", "-caches=0,5%", "-caches=101%", "-n=1", "-json", "-csv", "more")
	const want = `kvbench: -filters "cuckoo": want some of blocked, classic, fuse, ribbon
kvbench: -bits "5,x": want a number from 1 to 64
kvbench: -shapes "flat": want compacted, overlapping or both
kvbench: -absent "101": want percentages from 0 to 100
kvbench: -caches "0,5%": want sizes such as 64KiB or 8MiB, or percentages of the data from 0% to 100%
kvbench: -caches "101%": want percentages from 0 to 100
kvbench: -n "1": want a whole number from 100 to 10,000,000
kvbench: unexpected argument "more"
kvbench: -json and -csv: want one of them

` + sweepShortUsage
	if got.code != exitUsage || got.stdout != "" || got.stderr != want {
		t.Errorf("exit code %d, %q, and\n%s", got.code, got.stdout, got.stderr)
	}
	got, _ = kvbench(t, "sweep", "-n=10_000_000", "-value-size=1_000_000")
	if got.code != exitUsage || !strings.Contains(got.stderr, "which would lie in memory; the limit is 4.00 GiB") {
		t.Errorf("exit code %d, and\n%s", got.code, got.stderr)
	}
	got, _ = kvbench(t, "sweep", "-help")
	for name := range strings.FieldsSeq("-filters -bits -shapes -absent -caches -n -value-size -lookups -seed -json -csv") {
		if !strings.Contains(got.stdout, "\n  "+name+" ") {
			t.Errorf("the help does not say what %s is", name)
		}
	}
	if got.code != exitOK {
		t.Errorf("exit code %d", got.code)
	}
}
