package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"github.com/siftkv/sift/bench"
)

// The phases of a round, in order. Each is a process of its own, so that no
// engine finds the other's garbage, nor its own of the phase before.
const (
	fillPhase    = "fill"
	absentPhase  = "absent"
	presentPhase = "present"
)

func phases() []string { return []string{fillPhase, absentPhase, presentPhase} }

// childName is the first argument of a process that runs one phase.
const childName = "phase"

// A workload says what a phase does. The parent passes it on by flags.
type workload struct {
	pairs, valueSize, lookups int
	seed                      uint64
}

func (w *workload) define(set *flag.FlagSet) {
	set.IntVar(&w.pairs, "n", 1_000_000, "pairs of a 16-byte key and a value")
	set.IntVar(&w.valueSize, "value-size", 100, "bytes of a value, which compress to about half")
	set.IntVar(&w.lookups, "lookups", 200_000, "lookups of absent keys, and again of present ones")
	set.Uint64Var(&w.seed, "seed", 1, "of the keys, the values and the lookups")
}

func (w *workload) flags() []string {
	return []string{
		fmt.Sprint("-n=", w.pairs), fmt.Sprint("-value-size=", w.valueSize), fmt.Sprint("-lookups=", w.lookups), fmt.Sprint("-seed=", w.seed),
	}
}

func (w *workload) keys() bench.Keys { return bench.NewGenerated(w.pairs, w.valueSize, w.seed) }

// A sample is what one phase of one round measured, by the name of the figure.
type sample struct {
	Engine  string             `json:"engine"`
	Phase   string             `json:"phase"`
	Round   int                `json:"round"`
	Figures map[string]float64 `json:"figures"`
}

// child runs one phase and prints its sample.
func child(args []string, stdout io.Writer) error {
	var w workload
	set := flag.NewFlagSet(childName, flag.ContinueOnError)
	w.define(set)
	name := set.String("engine", "", "")
	phase := set.String("phase", "", "")
	dir := set.String("dir", "", "")
	profile := set.String("cpuprofile", "", "")
	if err := set.Parse(args); err != nil {
		return err
	}
	e, err := openEngine(*name, *dir)
	if err != nil {
		return err
	}
	figures, err := profiled(*profile, func() (map[string]float64, error) { return w.run(e, *phase) })
	if closeErr := e.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("%s, %s: %w", *name, *phase, err)
	}
	if *phase == fillPhase {
		size, err := treeSize(*dir)
		if err != nil {
			return err
		}
		figures[diskSize] = float64(size) / 1e6
	}
	return json.NewEncoder(stdout).Encode(sample{Engine: *name, Phase: *phase, Figures: figures})
}

// profiled runs f, and writes a CPU profile of it to a file unless the name is
// empty.
func profiled(name string, f func() (map[string]float64, error)) (map[string]float64, error) {
	if name == "" {
		return f()
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	figures, err := f()
	pprof.StopCPUProfile()
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return figures, err
}

func (w *workload) run(e engine, phase string) (map[string]float64, error) {
	switch phase {
	case fillPhase:
		return w.fill(e)
	case absentPhase, presentPhase:
		return w.read(e, phase == presentPhase)
	}
	return nil, fmt.Errorf("there is no phase %q", phase)
}

// fill puts all pairs in random order, flushes and compacts.
func (w *workload) fill(e engine) (map[string]float64, error) {
	keys := w.keys()
	var key, value []byte
	start := time.Now()
	for i := range w.pairs {
		key, value = keys.Present(key[:0], i), keys.Value(value[:0], i)
		if err := e.Put(key, value); err != nil {
			return nil, err
		}
	}
	put := time.Since(start)
	if err := e.Flush(); err != nil {
		return nil, err
	}
	flushed := time.Since(start)
	if err := e.Compact(); err != nil {
		return nil, err
	}
	all := time.Since(start)
	cpu, memory := usage()
	perSecond := func(d time.Duration) float64 { return float64(w.pairs) / 1e3 / d.Seconds() }
	return map[string]float64{
		putRate:    perSecond(put),
		allRate:    perSecond(all),
		flushTime:  (flushed - put).Seconds(),
		compactFor: (all - flushed).Seconds(),
		cpuPerOp:   cpu.Seconds() * 1e6 / float64(w.pairs),
		peakMemory: memory,
	}, nil
}

// read looks keys up one after the other and checks each answer.
func (w *workload) read(e engine, present bool) (map[string]float64, error) {
	keys := w.keys()
	rng := rand.New(rand.NewPCG(w.seed, w.seed))
	var h bench.Histogram
	var key, value, want []byte
	meter := bench.StartSystemReads()
	for i := range w.lookups {
		if present {
			i = rng.IntN(w.pairs)
			key = keys.Present(key[:0], i)
		} else {
			key = keys.Absent(key[:0], i)
		}
		start := time.Now()
		v, ok, err := e.Get(value[:0], key)
		h.Record(time.Since(start))
		if err != nil {
			return nil, err
		}
		value, want = v, keys.Value(want[:0], i)
		if ok != present || ok && !bytes.Equal(value, want) {
			return nil, fmt.Errorf("wrong answer for %q", key)
		}
	}
	n := float64(w.lookups)
	figures := map[string]float64{
		lookupRate: n / 1e3 / h.Sum().Seconds(),
		median:     float64(h.Quantile(0.50)) / 1e3,
		p99:        float64(h.Quantile(0.99)) / 1e3,
	}
	if reads := meter.Stop(); reads.Known {
		figures[readCalls] = float64(reads.Calls) / n
	}
	_, figures[peakMemory] = usage()
	return figures, nil
}

func treeSize(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
