package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var number = regexp.MustCompile(`[0-9][0-9,.]*(e-[0-9]+)?`)

// With the numbers taken out, a run reads like this.
func TestTranscript(t *testing.T) {
	got, temp := kvbench(t, small...)
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	isEmpty(t, temp)
	for _, want := range []string{
		"3,000 keys of 16 B with values of 100 B (340 KiB)",
		"loaded twice: without filters, and with filters of 10 bits a key",
		"300 lookups of each kind; a block cache of 17.0 KiB, 5.00 % of the data",
		"AS THE LOAD LEFT IT:",
		"COMPACTED:",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("the output does not have %q", want)
		}
	}
	// Numbers in both tables together. Of filters there are half as many, and once
	// compacted no filter is asked for a key that another table holds.
	for label, want := range map[string]int{
		"  disk reads": 8, "  bytes read": 8, "  candidate tables": 8, "  filters asked": 4, "  filters that said no": 4,
		"  false positives": 4, "false-positive rate": 3, "  by the formula": 4, "time, median": 8, "  99th percentile": 8, "lookups a second": 8,
	} {
		n := 0
		for line := range strings.Lines(got.stdout) {
			if strings.HasPrefix(line, label+" ") {
				n += len(number.FindAllString(line[labelWidth:], -1))
			}
		}
		if n != want {
			t.Errorf("%d numbers in the rows %q; want %d", n, label, want)
		}
	}
	if t.Failed() {
		t.Log(got.stdout)
	}
}

// jsonShape is the object that -json promises, no field more or less.
const jsonShape = `{"settings":{},"results":[{"shape":"fresh|compacted","filter":"off|on","lookup":"absent|present","lookups":0,"disk_reads":0,
"bytes_read":0,"candidates":0,"filter_checks":0,"filter_negatives":0,"false_positives":0,"p50_ns":0,"p99_ns":0,"ops_per_sec":0}],
"filters":{"bits_per_key":0,"memory_bytes":0,"fpr_measured":0,"fpr_designed":0}}`

// What -json prints has the promised shape, one result for each combination, and
// numbers that can be.
func TestJSON(t *testing.T) {
	var got, want map[string]any
	out, temp := kvbench(t, append(small, "-json", "-bits", "15.5", "-seed", "7")...)
	if out.code != exitOK || out.stderr != "" {
		t.Fatalf("exit code %d: %s", out.code, out.stderr)
	}
	isEmpty(t, temp)
	if err := json.Unmarshal([]byte(out.stdout), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(jsonShape), &want); err != nil {
		t.Fatal(err)
	}
	sameFields(t, "the object", got, want)
	sameFields(t, "filters", got["filters"], want["filters"])
	if s := got["settings"].(map[string]any); s["keys"] != 3000.0 || s["bits_per_key"] != 15.5 || s["seed"] != 7.0 || s["lookups"] != 300.0 {
		t.Errorf("the settings are %v", s)
	}

	var cells []string
	for _, r := range got["results"].([]any) {
		sameFields(t, "a result", r, want["results"].([]any)[0])
		m := r.(map[string]any)
		cells = append(cells, m["shape"].(string)+" "+m["filter"].(string)+" "+m["lookup"].(string))
		checkResult(t, m)
	}
	if want := []string{
		"fresh off absent", "fresh on absent", "fresh off present", "fresh on present",
		"compacted off absent", "compacted on absent", "compacted off present", "compacted on present",
	}; !slices.Equal(cells, want) {
		t.Errorf("results for %q; want %q", cells, want)
	}
}

func sameFields(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fields(got), fields(want); !slices.Equal(g, w) {
		t.Errorf("%s has the fields %q; want %q", what, g, w)
	}
}

func fields(v any) []string {
	var names []string
	for name := range v.(map[string]any) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func checkResult(t *testing.T, r map[string]any) {
	t.Helper()
	n := func(name string) float64 { return r[name].(float64) }
	ok := n("lookups") == 300 && n("candidates") > 0 && n("p50_ns") > 0 && n("p99_ns") >= n("p50_ns") && n("ops_per_sec") > 0
	if r["filter"] == "off" {
		ok = ok && n("filter_checks") == 0 && n("filter_negatives") == 0 && n("false_positives") == 0 && n("disk_reads") > 0
	} else {
		found := 0.0
		if r["lookup"] == "present" {
			found = 300
		}
		ok = ok && n("filter_checks") == n("candidates") && n("filter_checks") == n("filter_negatives")+n("false_positives")+found
	}
	if !ok {
		t.Errorf("numbers that cannot be: %v", r)
	}
}

// Equal seeds ask the same of the same filters. What the cache held, and the
// time, differ: tables have random ids.
func TestJSONRepeats(t *testing.T) {
	chance := regexp.MustCompile(`"(disk_reads|bytes_read|p50_ns|p99_ns|ops_per_sec)": .*`)
	a, _ := kvbench(t, append(small, "-json")...)
	b, _ := kvbench(t, append(small, "-json")...)
	if x, y := chance.ReplaceAllString(a.stdout, ""), chance.ReplaceAllString(b.stdout, ""); x != y {
		t.Errorf("two equal runs counted differently:\n%s\n%s", x, y)
	}
	c, _ := kvbench(t, append(small, "-json", "-seed", "2")...)
	if x, y := chance.ReplaceAllString(a.stdout, ""), chance.ReplaceAllString(c.stdout, ""); x == y {
		t.Error("another seed counted the same")
	}
}

// A key file is used, and the heading says how.
func TestKeysFlag(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.txt")
	var text strings.Builder
	for i := range 3000 {
		text.WriteString(strings.Repeat(commas(i), 3) + "\tvalue\n")
	}
	text.WriteString("0" + "00\tagain\n")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	got, temp := kvbench(t, "-keys", path)
	want := "keys.txt: 2,400 keys (41.9 KiB), and 600 held out as absent keys; 1 repeated line left out\n" +
		"loaded twice: without filters, and with filters of 10 bits a key\n" +
		"600 lookups of each kind; a block cache of 2.09 KiB, 5.00 % of the data\n"
	if got.code != exitOK || !strings.HasPrefix(got.stdout, want) {
		t.Errorf("exit code %d, %s\n%s\nwant %s", got.code, got.stderr, got.stdout, want)
	}
	isEmpty(t, temp)

	if err := os.WriteFile(path, []byte("a\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, _ = kvbench(t, "-keys", path)
	if want := "kvbench: -keys: " + path + ": 2 distinct keys; want at least 100\n"; got.code != exitUsage || !strings.HasPrefix(got.stderr, want) {
		t.Errorf("exit code %d and %q; want 2 and %q", got.code, got.stderr, want)
	}
}

// The databases are removed, unless they are to be kept; what was there before
// is never touched.
func TestDirAndKeep(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "db")
	if got, _ := kvbench(t, append(small, "-dir", dir)...); got.code != exitOK {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	isEmpty(t, parent)

	got, _ := kvbench(t, append(small, "-dir", dir, "-keep")...)
	if got.code != exitOK || !strings.HasSuffix(got.stdout, "\nThe databases are in "+dir+"\n") {
		t.Errorf("exit code %d, %s, and the output\n%s", got.code, got.stderr, got.stdout)
	}
	for _, db := range []string{"filters-off", "filters-on"} {
		if _, err := os.Stat(filepath.Join(dir, db, "CURRENT")); err != nil {
			t.Error(err)
		}
	}
	before := tree(t, dir)
	if got, _ := kvbench(t, append(small, "-dir", dir)...); got.code != exitUsage {
		t.Errorf("exit code %d for an existing directory; want 2", got.code)
	}
	if after := tree(t, dir); !slices.Equal(before, after) {
		t.Errorf("the existing directory changed from %q to %q", before, after)
	}
}

func tree(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
