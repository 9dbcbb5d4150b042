package workload

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

// small returns a runner of sift whose states are made in a moment.
func small(t *testing.T, keys string) *Runner {
	t.Helper()
	r := &Runner{Config: DefaultConfig(), Store: "sift", Open: OpenSift, Dir: t.TempDir()}
	r.Keys, r.Pairs, r.Lookups, r.Syncs, r.Opens = keys, 4000, 2000, 40, 2
	r.Settings.MemTableSize, r.Settings.CacheSize = 256<<10, 64<<10
	if testing.Short() {
		r.Pairs, r.Lookups = 1000, 500
	}
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	return r
}

// Every workload runs on sift with every kind of key, gives no wrong answer, does
// as many operations as it should, measures what every system can, and leaves
// nothing but the states.
func TestAllWorkloads(t *testing.T) {
	for _, keys := range KeyNames() {
		t.Run(keys, func(t *testing.T) {
			r := small(t, keys)
			if keys != "hex" {
				r.Pairs, r.Lookups = 1000, 500 // how the workloads use keys does not change with their number
			}
			for _, spec := range All() {
				got, err := r.Run(t.Context(), spec)
				if err != nil {
					t.Fatalf("%s: %v", spec.Name, err)
				}
				checkResult(t, r, spec, got)
			}
			if _, err := os.Stat(r.Dir + "/run"); !os.IsNotExist(err) {
				t.Errorf("a run's copy is left: %v", err)
			}
		})
	}
}

func checkResult(t *testing.T, r *Runner, spec *Spec, got *Result) {
	t.Helper()
	cfg := spec.config(&r.Config)
	if want := spec.ops(&cfg); got.Operations != int64(want) {
		t.Errorf("%s: %d operations; want %d", spec.Name, got.Operations, want)
	}
	if len(got.Timeline) > 0 == spec.opens() {
		t.Errorf("%s: the timeline is %v", spec.Name, got.Timeline)
	}
	sum := int64(0)
	for _, n := range got.Timeline {
		sum += n
	}
	if !spec.opens() && sum != got.Operations {
		t.Errorf("%s: %d operations in the timeline; want %d", spec.Name, sum, got.Operations)
	}
	want := []string{OpsPerSec, P50, P99, P999, Max, AllocsPerOp, SpaceAmplification}
	if spec.Writes {
		want = append(want, FlushTime, OwnAmplification)
	}
	if spec.Name == "recover" {
		want = append(want, Lost)
	}
	for _, figure := range want {
		v, ok := got.Figures[figure]
		if !ok || v <= 0 && figure != AllocsPerOp && figure != Lost {
			t.Errorf("%s: %s is %v, %t", spec.Name, figure, v, ok)
		}
	}
	if got.Figures[Lost] != 0 {
		t.Errorf("%v writes were lost, which sift promises not to", got.Figures[Lost])
	}
	if line, err := json.Marshal(got); err != nil || len(line) < 100 {
		t.Errorf("%s: as JSON: %s, %v", spec.Name, line, err)
	}
	t.Logf("%-24s %v", spec.Name, got.Figures)
}

// A store without a flush or a compaction is measured all the same, without
// figures for what it does not have; another error of theirs ends the run.
func TestUnsupported(t *testing.T) {
	r := small(t, "decimal")
	for _, c := range []struct {
		err  error
		fine bool
	}{{errors.ErrUnsupported, true}, {errors.New("broken"), false}} {
		r.Open = func(dir string, s Settings) (Store, error) {
			store, err := OpenSift(dir, s)
			return failing{store, c.err}, err
		}
		got, err := r.Run(t.Context(), find(t, "fillrandom"))
		if !c.fine {
			if !errors.Is(err, c.err) {
				t.Errorf("got %v; want %v", err, c.err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, figure := range []string{FlushTime, CompactTime} {
			if v, ok := got.Figures[figure]; ok {
				t.Errorf("%s is %v", figure, v)
			}
		}
		if _, err := r.Run(t.Context(), find(t, "readdeleted")); err != nil {
			t.Error(err)
		}
	}
}

// failing is a store whose flush and compaction give an error.
type failing struct {
	Store
	err error
}

func (f failing) Flush() error   { return f.err }
func (f failing) Compact() error { return f.err }

// A run that is interrupted says why, whatever it is at, and the next one starts
// anew.
func TestInterrupted(t *testing.T) {
	cause := errors.New("enough")
	for _, at := range []string{"making deleted", "readdeleted"} {
		r := small(t, "decimal")
		r.Lookups = 50_000_000 // far more than there is time for
		ctx, cancel := context.WithCancelCause(t.Context())
		r.Progress = func(what string, _ float64) {
			if strings.Contains(what, at) {
				cancel(cause)
			}
		}
		if _, err := r.Run(ctx, find(t, "readdeleted")); !errors.Is(err, cause) {
			t.Errorf("interrupted at %s: %v", at, err)
		}
		r.Progress, r.Lookups = nil, 100
		if _, err := r.Run(t.Context(), find(t, "readdeleted")); err != nil {
			t.Errorf("after an interruption at %s: %v", at, err)
		}
	}
}
