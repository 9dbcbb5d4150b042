package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/siftkv/sift/bench"
	"github.com/siftkv/sift/bloom"
)

// fprRow makes up a row as if so many of a million absent keys had been hits.
func fprRow(c bench.FPRCell, hits uint64, v bloom.Verdict) bench.FPRRow {
	rate := float64(hits) / 1e6
	return bench.FPRRow{FPRCell: c, Filters: 2, Measurement: bloom.Measurement{
		Probes: 1_000_000, Hits: hits, Rate: rate, Low: rate * 0.9, High: rate * 1.1, Theory: 0.01, Verdict: v,
	}}
}

// fullLedger makes a ledger of every row of the short table, so that nothing needs
// to be measured. change may change a row; it returns false to leave it out.
func fullLedger(t *testing.T, change func(i int, row *bench.FPRRow) bool) (path string, rows int) {
	t.Helper()
	var text []byte
	cells := bench.FPROptions{Short: true}.Cells()
	for i, c := range cells {
		row := fprRow(c, 10_000, bloom.Agrees)
		if change != nil && !change(i, &row) {
			continue
		}
		line, err := json.Marshal(ledgerLine{Seed: 1, Short: true, Row: row})
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, line...), '\n')
	}
	path = filepath.Join(t.TempDir(), "ledger")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, len(cells)
}

// The table of theory against practice, to the letter.
func TestFPRTable(t *testing.T) {
	rare := fprRow(bench.FPRCell{Kind: bloom.Ribbon, Keys: 10, Bits: 24, From: "random"}, 0, bloom.Unjudged)
	rare.Theory = 7.4e-9
	report := bench.FPRReport{Rows: []bench.FPRRow{
		fprRow(bench.FPRCell{Kind: bloom.Blocked, Keys: 50_000_000, Bits: 10, From: "random"}, 10_080, bloom.Agrees),
		fprRow(bench.FPRCell{Kind: bloom.Classic, Keys: 100_000, Bits: 5.5, From: "low entropy"}, 12_500, bloom.Differs),
		rare,
	}}
	const want = `kind, keys                 number   bits   filters   by theory   measured   99.9 % interval   ratio    verdict
blocked, random        50,000,000     10         2      1.00 %     1.01 %   0.907 to 1.11 %   1.008     agrees
classic, low entropy      100,000    5.5         2      1.00 %     1.25 %    1.13 to 1.38 %   1.250    differs
ribbon, random                 10     24         2   7.4e-07 %        0 %          0 to 0 %       -   unjudged

3 rates: 1 agree with theory, 1 differ, 1 are below 1e-05 % and not judged.
A rate agrees if it is not more than 3 % below or 5 % above the exact formula (8 %
for filters of 12 probes and more) but for what chance explains in 99.9 % of cases.
`
	if got := fprTable(report.Rows) + fprSummary(report); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Where every rate agrees the exit code is 0; where one differs it is 1, and the
// table is there to be looked at.
func TestFPRVerdict(t *testing.T) {
	path, rows := fullLedger(t, nil)
	got, temp := kvbench(t, "fpr", "-short", "-ledger", path)
	summary := "\n" + commas(rows) + " rates: " + commas(rows) + " agree with theory, 0 differ, 0 are below 1e-05 % and not judged.\n"
	if got.code != exitOK || got.stderr != "" || !strings.Contains(got.stdout, summary) {
		t.Errorf("exit code %d, %q on stderr, and\n%s", got.code, got.stderr, got.stdout)
	}
	const heading = "False positives that theory expects and that absent keys met, seed 1, in short\n\nkind, keys "
	if lines := strings.Count(got.stdout, "\n"); !strings.HasPrefix(got.stdout, heading) || lines != rows+7 {
		t.Errorf("%d lines for %d rows:\n%s", lines, rows, got.stdout)
	}
	isEmpty(t, temp)

	path, _ = fullLedger(t, func(i int, row *bench.FPRRow) bool {
		if i == 7 || i == 9 {
			row.Verdict = bloom.Differs
		}
		return true
	})
	bad := "kvbench: 2 of " + commas(rows) + " rates differ from theory: the hashes are badly mixed\n"
	for _, args := range [][]string{nil, {"-json"}} {
		got, _ = kvbench(t, append([]string{"fpr", "-short", "-ledger", path}, args...)...)
		if got.code != exitFailed || got.stderr != bad || strings.Count(got.stdout, "differs") != 2 {
			t.Errorf("%q: exit code %d, %q on stderr, and\n%s", args, got.code, got.stderr, got.stdout)
		}
	}
}

// What -json prints has every row, its fields in words and numbers.
func TestFPRJSON(t *testing.T) {
	path, rows := fullLedger(t, nil)
	out, _ := kvbench(t, "fpr", "-short", "-ledger", path, "-json")
	var got struct {
		Settings map[string]any   `json:"settings"`
		Rows     []map[string]any `json:"rows"`
		OK       bool             `json:"ok"`
	}
	if err := json.Unmarshal([]byte(out.stdout), &got); err != nil || out.code != exitOK {
		t.Fatalf("exit code %d, %v: %s", out.code, err, out.stderr)
	}
	if len(got.Rows) != rows || !got.OK || got.Settings["short"] != true || got.Settings["seed"] != 1.0 {
		t.Fatalf("%d rows, ok %v, settings %v", len(got.Rows), got.OK, got.Settings)
	}
	want := strings.Fields("bits_per_key filters hits keys keys_from kind probes rate rate_high rate_low ratio theory theory_deviation verdict")
	if names := fields(got.Rows[0]); !slices.Equal(names, want) {
		t.Errorf("a row has the fields %q; want %q", names, want)
	}
	if r := got.Rows[0]; r["kind"] != "blocked" || r["keys"] != 10.0 || r["verdict"] != "agrees" || r["rate"] != 0.01 {
		t.Errorf("the first row is %v", r)
	}
}

// A ledger that lacks a row gets it, the only one that is measured; half a line at
// its end, which a kill leaves, is measured again.
func TestFPRResumes(t *testing.T) {
	lacks := func(i int, row *bench.FPRRow) bool {
		return !(row.Kind == bloom.Classic && row.Keys == 1000 && row.Bits == 5)
	}
	path, rows := fullLedger(t, lacks)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, `{"seed":1,"sho`...), 0o600); err != nil {
		t.Fatal(err)
	}
	got, _ := kvbench(t, "fpr", "-short", "-ledger", path)
	after, err := os.ReadFile(path)
	if err != nil || got.code != exitOK {
		t.Fatalf("exit code %d, %v: %s", got.code, err, got.stderr)
	}
	added := strings.TrimPrefix(string(after), string(text))
	const want = `{"seed":1,"short":true,"row":{"kind":"classic","keys":1000,"bits_per_key":5,"keys_from":"random","filters":200,`
	if strings.Count(string(after), "\n") != rows || !strings.HasPrefix(added, want) || strings.Count(added, "\n") != 1 {
		t.Errorf("added to the ledger:\n%s", added)
	}
	again, _ := kvbench(t, "fpr", "-short", "-ledger", path)
	if again != got {
		t.Errorf("the table from the ledger is\n%s\nwant\n%s", again.stdout, got.stdout)
	}
}

// A file that is no ledger, or that of another run, is refused and stays as it is.
func TestFPRRefusesLedger(t *testing.T) {
	other, err := json.Marshal(ledgerLine{Seed: 2, Short: true})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"my notes":                "line 1 is not one of a ledger",
		"my notes\nmore\n":        "line 1 is not one of a ledger",
		"{}\n":                    "line 1 is of a run with -seed 0 and -short=false",
		string(other) + "\n":      "line 1 is of a run with -seed 2 and -short=true",
		`{"seed":1,"short":true}`: "", // a cut line
	} {
		path := filepath.Join(t.TempDir(), "ledger")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := openLedger(path, 1, true)
		if want == "" {
			if err != nil || len(l.rows) != 0 || l.close() != nil {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		got, _ := kvbench(t, "fpr", "-short", "-ledger", path)
		if got.code != exitFailed || !strings.Contains(got.stderr, want) {
			t.Errorf("%q: exit code %d, %q; want %q", text, got.code, got.stderr, want)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != text {
			t.Errorf("%q became %q, %v", text, after, err)
		}
	}
}

// Every fault is listed, as for the main job; nothing is measured or made.
func TestFPRFaults(t *testing.T) {
	got, temp := kvbench(t, "fpr", "-seed", "x", "-workers=0", "-n", "5", "-ledger", "", "more")
	const want = `kvbench: -seed "x": want a whole number from 0 to 2^64-1
kvbench: -workers "0": want a whole number from 1 to 1,024
kvbench: flag provided but not defined: -n
kvbench: -ledger "": want a name
kvbench: unexpected argument "more"

Usage: kvbench fpr [flags]
       kvbench fpr -help for what they are
`
	if got != (outcome{exitUsage, "", want}) {
		t.Errorf("exit code %d, output %q, and\n%s\nwant\n%s", got.code, got.stdout, got.stderr, want)
	}
	isEmpty(t, temp)
	got, _ = kvbench(t, "fpr", "-short", "-ledger", filepath.Join(temp, "none", "ledger"))
	if got.code != exitFailed || !strings.HasPrefix(got.stderr, "kvbench: -ledger: open ") {
		t.Errorf("exit code %d and %q for a ledger in no folder", got.code, got.stderr)
	}
}

func TestFPRHelp(t *testing.T) {
	got, _ := kvbench(t, "fpr", "-help")
	if got != (outcome{exitOK, fprUsage, ""}) {
		t.Errorf("exit code %d, %q, and\n%s", got.code, got.stderr, got.stdout)
	}
	for name := range strings.FieldsSeq("-short -seed -workers -ledger -json") {
		if !strings.Contains(got.stdout, "\n  "+name+" ") {
			t.Errorf("the help does not say what %s is", name)
		}
	}
	got, _ = kvbench(t, "help")
	if !strings.Contains(got.stdout, "\n  kvbench fpr     ") {
		t.Errorf("the help does not name the command:\n%s", got.stdout)
	}
}
