package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/siftkv/sift/bench"
	"github.com/siftkv/sift/bench/report"
	"github.com/siftkv/sift/bench/sweep"
	"github.com/siftkv/sift/bench/workload"
)

// reportWorkloads are what a report measures by itself: what people ask first.
func reportWorkloads() []string {
	return []string{
		"fillseq", "fillrandom", "fillrandom-4", "overwrite", "readrandom", "readrandom-zipf",
		"readmissing", "readmissing-overlap", "readseq", "seekrandom50", "ycsb-a", "ycsb-b",
	}
}

// A measuring is what a report does without files. Its progress counts operations,
// those that make a database included.
type measuring struct {
	flags *reportFlags
	grid  sweep.Grid
	specs []*workload.Spec
	line  *paced
	done  float64 // operations of what is finished
}

// measure runs the workloads and the sweep.
func (f *reportFlags) measure(ctx context.Context, env environment, data *report.Data) (err error) {
	specs, err := workload.Find(reportWorkloads()...)
	if err != nil {
		return err
	}
	m := &measuring{flags: f, specs: specs, grid: sweep.Default()}
	m.grid.Seed = f.Seed
	m.grid.Pairs = min(max(f.Pairs/10, bench.MinKeys), m.grid.Pairs)
	m.grid.Lookups = min(max(f.Lookups/10, 1), m.grid.Lookups)
	m.grid.Caches = []int64{m.grid.DataBytes() / 20, m.grid.DataBytes() / 2}
	m.line = env.paced(m.operations())
	defer m.line.clear()

	dir, err := makeDir(f.dir, false, env.litter)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.litter.remove()) }()
	note := new(memoryNote)
	r := &workload.Runner{Config: f.Config, Store: "sift", Open: openUntil(ctx, note), Dir: dir}
	if err := m.workloads(ctx, r, note, data); err != nil {
		return err
	}
	return m.sweep(ctx, data)
}

// operations is the sum of what is to be done.
func (m *measuring) operations() float64 {
	sum := float64(m.grid.Cells()) * float64(m.grid.Lookups)
	made := make(map[string]bool)
	for _, spec := range m.specs {
		sum += m.making(spec, made) + m.using(spec)
	}
	return sum
}

// making is the operations that make a workload's database, unless it was made.
func (m *measuring) making(spec *workload.Spec, made map[string]bool) float64 {
	state := spec.StateOf(&m.flags.Config)
	if spec.On == workload.Empty || made[state] {
		return 0
	}
	made[state] = true
	return float64(m.flags.Pairs)
}

// using is about how many operations a workload has.
func (m *measuring) using(spec *workload.Spec) float64 {
	switch {
	case spec.Writes && !strings.HasPrefix(spec.Name, "ycsb"), spec.StepOps > 1:
		return float64(m.flags.Pairs)
	}
	return float64(m.flags.Lookups)
}

func (m *measuring) workloads(ctx context.Context, r *workload.Runner, note *memoryNote, data *report.Data) error {
	made := make(map[string]bool)
	for i, spec := range m.specs {
		making := m.making(spec, made)
		r.Progress = func(what string, share float64) {
			done := m.done + share*making
			if !strings.Contains(what, ": making ") {
				done = m.done + making + share*m.using(spec)
			}
			m.line.show(fmt.Sprintf("%s (%d of %d)", strings.TrimPrefix(what, "sift: "), i+1, len(m.specs)), done)
		}
		note.forget()
		result, err := r.Run(ctx, spec)
		if err != nil {
			return err
		}
		note.addTo(result)
		if err := data.AddRun(result); err != nil {
			return err
		}
		m.done += making + m.using(spec)
	}
	return nil
}

func (m *measuring) sweep(ctx context.Context, data *report.Data) error {
	m.grid.Progress = func(done, of, lookups int) {
		m.line.show(fmt.Sprintf("filters (%d of %d)", done, of), m.done+float64(done)*float64(lookups))
	}
	return m.grid.Run(ctx, func(group []sweep.Cell) error { return data.AddCells(group...) })
}
