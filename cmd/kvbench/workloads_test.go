package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/bench/report"
	"github.com/siftkv/sift/bench/workload"
)

// smallWorkloads makes a run of workloads that takes a moment.
var smallWorkloads = []string{"run", "-n", "2_000", "-lookups", "500", "-syncs", "10", "-opens", "2"}

// The transcript of a run, but for the figures that are measured: a heading that
// says what was run and how, and a line for each workload, in the order asked
// for.
func TestRunTranscript(t *testing.T) {
	args := append(smallWorkloads, "-workload", "fillseq,readmissing,ycsb-e,recover", "-keys", "paths", "-cache=1MiB", "-bits=12")
	got, temp := kvbench(t, args...)
	lines := strings.Split(got.stdout, "\n")
	for i, line := range lines {
		if i <= 3 {
			continue
		}
		words := strings.Fields(line)
		for k := range words {
			switch number := strings.ContainsAny(words[k][:1], "0123456789"); {
			case k == 8 || k == 10: // memory and the share of others, which a system may not say
				words[k] = "?"
			case number:
				words[k] = "#"
			}
		}
		lines[i] = strings.Join(words, " ")
	}
	want := []string{
		"2,000 pairs of paths keys and values of 100 B; 500 lookups, seed 1",
		"Snappy, blocks of 4.00 KiB, memtable 64.0 MiB, cache 1.00 MiB, filters of 12 bits a key; ",
		"",
		"workload                      1000/s      p50 µs      p99 µs    p99.9 µs  disk reads     written     on disk     peak MB      allocs      others",
		"fillseq # # # # # # # ? # ?",
		"readmissing # # # # # - # ? # ?",
		"ycsb-e # # # # # # # ? # ?",
		"recover # # # # - - # ? # ?",
		"",
	}
	if got.code != exitOK || got.stderr != "" || len(lines) != len(want) {
		t.Fatalf("exit code %d, %q on stderr, and\n%s", got.code, got.stderr, got.stdout)
	}
	for i := range want {
		if !strings.HasPrefix(lines[i], want[i]) {
			t.Errorf("line %d is\n%q; want\n%q", i+1, lines[i], want[i])
		}
	}
	isEmpty(t, temp)
}

// -json prints a line for each workload, all of them without -workload, with the
// same names in each.
func TestRunJSON(t *testing.T) {
	got, temp := kvbench(t, append(smallWorkloads, "-json", "-seed=3")...)
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("exit code %d, %q on stderr", got.code, got.stderr)
	}
	lines := json.NewDecoder(strings.NewReader(got.stdout))
	var names []string
	for lines.More() {
		var r workload.Result
		if err := lines.Decode(&r); err != nil {
			t.Fatal(err)
		}
		names = append(names, r.Workload)
		if r.Store != "sift" || r.Seed != 3 || r.Operations < 1 || r.Figures[workload.OpsPerSec] <= 0 {
			t.Errorf("%+v", r)
		}
	}
	if want := strings.Join(workload.Names(), " "); strings.Join(names, " ") != want {
		t.Errorf("ran %q; want %q", names, want)
	}
	isEmpty(t, temp)
}

// Faults are listed with what is wanted; the help names every flag and workload.
func TestRunFaultsAndHelp(t *testing.T) {
	got, temp := kvbench(t, "run", "-workload=fly", "-keys=uuid", "-n=1", "-memtable=5", "-opens=0", "more")
	const want = `kvbench: -keys "uuid": want one of hex, decimal, paths
kvbench: -n "1": want a whole number from 100 to 1,000,000,000
kvbench: -memtable "5": want a size from 1KiB to 4GiB
kvbench: -opens "0": want a whole number from 1 to 1,000,000,000
kvbench: unexpected argument "more"

` + workloadsShortUsage
	first, rest, _ := strings.Cut(got.stderr, "\n")
	if got.code != exitUsage || got.stdout != "" || rest != want || !strings.HasPrefix(first, `kvbench: -workload "fly": there is no workload "fly"; there are fillseq, `) {
		t.Errorf("exit code %d, %q, and\n%s", got.code, got.stdout, got.stderr)
	}
	isEmpty(t, temp)

	got, _ = kvbench(t, "run", "-help")
	if got.code != exitOK || got.stderr != "" {
		t.Errorf("exit code %d, %q on stderr", got.code, got.stderr)
	}
	named := "-workload -n -value-size -keys -lookups -syncs -opens -seed -bits -cache -memtable -dir -json -csv"
	for name := range strings.FieldsSeq(named + " " + strings.Join(workload.Names(), " ")) {
		if !strings.Contains(got.stdout, "\n  "+name+" ") {
			t.Errorf("the help does not say what %s is", name)
		}
	}
}

// An interrupted run ends, whatever it is at, and leaves nothing.
func TestRunInterrupted(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	env := environment{
		args:   []string{"run", "-n=100_000_000", "-workload=readmissing,fillrandom"},
		stdout: discard{}, stderr: discard{}, litter: &litter{},
	}
	code := make(chan int)
	go func() { code <- env.run(ctx) }()
	for made := false; !made; { // until it has begun to write
		entries, err := os.ReadDir(temp)
		if err != nil {
			t.Fatal(err)
		}
		made = len(entries) > 0
	}
	cancel(interrupted{os.Interrupt})
	select {
	case got := <-code:
		if want := (interrupted{os.Interrupt}).code(); got != want {
			t.Errorf("exit code %d; want %d", got, want)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	isEmpty(t, temp)
}

// A closed store is an error that the end of the context explains.
func TestOpenUntil(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	store, err := openUntil(ctx, new(memoryNote))(t.TempDir(), workload.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Put([]byte("k"), nil, false); err != nil {
		t.Fatal(err)
	}
	if _, ok := store.(workload.Counter); !ok {
		t.Error("it does not count")
	}
	cancel()
	for err == nil { // the store closes in another goroutine
		err = store.Put([]byte("k"), nil, false)
	}
	if again := store.Close(); again == nil || !errors.Is(err, again) && !strings.Contains(err.Error(), "closed") {
		t.Errorf("Put says %v, and Close %v", err, again)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// -csv prints a heading and a line for each workload.
func TestRunCSV(t *testing.T) {
	args := append(smallWorkloads, "-workload=fillrandom,readmissing", "-csv")
	got, temp := kvbench(t, args...)
	isEmpty(t, temp)
	rows, err := csv.NewReader(strings.NewReader(got.stdout)).ReadAll()
	if err != nil || got.code != exitOK || got.stderr != "" || len(rows) != 3 || rows[1][1] != "fillrandom" || rows[2][1] != "readmissing" {
		t.Fatalf("%v; exit code %d, %q on stderr, %q", err, got.code, got.stderr, rows)
	}
	if got, _ := kvbench(t, append(args, "-json")...); got.code != exitUsage || !strings.HasPrefix(got.stderr, "kvbench: -json and -csv: want one of them\n") {
		t.Errorf("both: exit code %d and %s", got.code, got.stderr)
	}
}

// A CSV line has every figure that the JSON line has, and an empty field for one
// that it lacks.
func TestResultCSV(t *testing.T) {
	lines, _ := kvbench(t, append(smallWorkloads, "-workload=fillrandom,ycsb-a,recover", "-json")...)
	decoder := json.NewDecoder(strings.NewReader(lines.stdout))
	for range 3 {
		var r workload.Result
		if err := decoder.Decode(&r); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		write, err := resultCSV(&text)
		if err == nil {
			err = write(&r)
		}
		rows, readErr := csv.NewReader(strings.NewReader(text.String())).ReadAll()
		if err != nil || readErr != nil || len(rows) != 2 {
			t.Fatalf("%v, %v; %q", err, readErr, text.String())
		}
		want := make(map[string]string)
		for name, v := range r.Figures {
			want[name] = exact(v)
		}
		for i, name := range rows[0] {
			if slices.Contains(figureNames(), name) && rows[1][i] != want[name] {
				t.Errorf("%s, %s: %q; want %q", r.Workload, name, rows[1][i], want[name])
			}
			delete(want, name)
		}
		if len(want) > 0 {
			t.Errorf("%s: no columns for %v", r.Workload, want)
		}
	}
}

// What the memory of a store was for is that of the fullest moment.
func TestMemoryNote(t *testing.T) {
	var n memoryNote
	r := workload.Result{Figures: make(map[string]float64)}
	n.addTo(&r)
	if len(r.Figures) != 0 {
		t.Errorf("never looked, and yet %v", r.Figures)
	}
	for _, size := range []int64{1, 5, 2} {
		n.look(sift.Metrics{MemTableMemory: size, Cache: sift.CacheMetrics{Size: 10 * size}, Filters: sift.FilterMetrics{Memory: 100 * size}})
	}
	n.addTo(&r)
	if f := r.Figures; f[report.MemTableBytes] != 5 || f[report.CacheBytes] != 50 || f[report.FilterBytes] != 500 {
		t.Errorf("%v", f)
	}
	n.forget()
	n.look(sift.Metrics{MemTableMemory: 1})
	n.addTo(&r)
	if r.Figures[report.MemTableBytes] != 1 {
		t.Errorf("forgotten, and yet %v", r.Figures)
	}
}
