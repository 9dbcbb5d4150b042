package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/bench/workload"
)

// runWorkloads runs workloads on sift and prints what each cost.
func runWorkloads(ctx context.Context, env environment) (err error) {
	f, err := parseWorkloadFlags(env.args)
	if errors.Is(err, errHelp) {
		return workloadsHelp(env.stdout)
	}
	if err != nil {
		return err
	}
	line := env.progress()
	defer line.clear()
	dir, err := makeDir(f.dir, false, env.litter)
	if err != nil {
		return err
	}
	defer func() {
		line.show("removing the databases", 1)
		err = errors.Join(err, env.litter.remove())
	}()
	f.Progress = line.show
	note := new(memoryNote)
	r := &workload.Runner{Config: f.Config, Store: "sift", Open: openUntil(ctx, note), Dir: dir}
	return f.measure(ctx, env.stdout, r, note, line)
}

// measure runs the workloads and prints each as soon as it is done.
func (f *workloadFlags) measure(ctx context.Context, w io.Writer, r *workload.Runner, note *memoryNote, line *progress) error {
	out, err := f.output(w)
	if err != nil {
		return err
	}
	for _, spec := range f.specs {
		note.forget()
		result, err := r.Run(ctx, spec)
		if err != nil {
			return err
		}
		note.addTo(result)
		line.clear()
		if err := out(result); err != nil {
			return err
		}
	}
	return nil
}

// output prints what comes before the results, and returns what prints one.
func (f *workloadFlags) output(w io.Writer) (func(*workload.Result) error, error) {
	switch {
	case f.json:
		encoder := json.NewEncoder(w)
		return func(r *workload.Result) error { return encoder.Encode(r) }, nil
	case f.csv:
		return resultCSV(w)
	}
	_, err := io.WriteString(w, f.heading()+workloadRow(workloadColumns()))
	return func(r *workload.Result) error {
		_, err := io.WriteString(w, workloadRow(workloadCells(r)))
		return err
	}, err
}

func (f *workloadFlags) heading() string {
	s := f.Settings
	return fmt.Sprintf(`%s pairs of %s keys and values of %s B; %s lookups, seed %d
Snappy, blocks of %s, memtable %s, cache %s, filters of %s bits a key; %s/%s, %d processors, %s

`, commas(f.Pairs), f.Keys, commas(f.ValueSize), commas(f.Lookups), f.Seed,
		byteCount(float64(s.BlockSize)), byteCount(float64(s.MemTableSize)), byteCount(float64(s.CacheSize)),
		strconv.FormatFloat(s.BitsPerKey, 'f', -1, 64), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version())
}

func workloadColumns() []string {
	return []string{"workload", "1000/s", "p50 µs", "p99 µs", "p99.9 µs", "disk reads", "written", "on disk", "peak MB", "allocs", "others"}
}

// workloadCells are what one line says. What a system cannot measure is a dash.
func workloadCells(r *workload.Result) []string {
	cell := func(figure string, unit float64) string {
		v, ok := r.Figures[figure]
		if !ok {
			return "-"
		}
		return digits(v / unit)
	}
	const micro, mega, percentPoint = 1e3, 1e6, 0.01
	return []string{
		r.Workload,
		cell(workload.OpsPerSec, 1e3),
		cell(workload.P50, micro), cell(workload.P99, micro), cell(workload.P999, micro),
		cell(workload.DiskReadsPerOp, 1),
		cell(workload.OwnAmplification, 1),
		cell(workload.SpaceAmplification, 1),
		cell(workload.PeakAnon, mega),
		cell(workload.AllocsPerOp, 1),
		cell(workload.OthersShare, percentPoint),
	}
}

// workloadRow writes a line of columns of fixed widths, since a line is printed
// before the next one is known.
func workloadRow(cells []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s", cells[0])
	for _, c := range cells[1:] {
		fmt.Fprintf(&b, "%12s", c)
	}
	return b.String() + "\n"
}

// openUntil opens sift so that the end of the context closes it, under whatever
// call takes long. What its memory is for goes into the note.
func openUntil(ctx context.Context, note *memoryNote) workload.Opener {
	return func(dir string, s workload.Settings) (workload.Store, error) {
		store, err := workload.OpenSift(dir, s)
		if err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, func() { _ = store.Close() }) // why the context ended says more
		return &interruptibleStore{store, stop, note}, nil
	}
}

type interruptibleStore struct {
	workload.Store
	stop func() bool
	note *memoryNote
}

func (s *interruptibleStore) Close() error {
	s.stop()
	return s.Store.Close()
}

// Counters implements workload.Counter: what is wrapped counts too.
func (s *interruptibleStore) Counters() workload.Counters {
	s.note.look(s.Store.(interface{ Metrics() sift.Metrics }).Metrics())
	return s.Store.(workload.Counter).Counters()
}
