package workload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// A Runner runs workloads on a store. States are made once, in Dir, which belongs
// to one store with one configuration, and each workload gets a copy of its own,
// so that their order does not matter.
type Runner struct {
	Config
	Store string // its name in results
	Open  Opener
	Dir   string // must exist

	// BeforeOpen, unless nil, is called with the directory of a database before
	// a workload opens it: it drops the page cache.
	BeforeOpen func(dir string) error

	// Kill, unless nil, ends this process as SIGKILL does, and does not return.
	// Build calls it for the state Logged once the last put is acknowledged;
	// whoever sees the process end that way then calls Killed, in another one.
	// Without it Logged is a copy of the directory of an open store at rest: a
	// process's end changes no file, but what a store held back in its own memory
	// has been written by then.
	Kill func()

	keys map[string]Keys // by size, since some sets sort themselves
}

// Build makes the state that a workload needs, unless it is there.
func (r *Runner) Build(ctx context.Context, spec *Spec) error {
	if spec.On == Empty {
		return nil
	}
	cfg := spec.config(&r.Config)
	keys, err := r.keysOf(&cfg)
	if err != nil {
		return err
	}
	final := r.stateDir(spec, &cfg)
	if _, err := os.Stat(final); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	making := final + ".making"
	if err := os.RemoveAll(making); err != nil {
		return err
	}
	store, err := r.Open(making, spec.On.settings(&cfg))
	if err != nil {
		return err
	}
	b := builder{ctx: ctx, cfg: &cfg, keys: keys, store: store, what: fmt.Sprintf("%s: making %s", r.Store, spec.On)}
	err = b.build(spec.On)
	left := making
	if err == nil && spec.On == Logged {
		if r.Kill != nil {
			r.Kill()
		}
		left = final + ".killed"
		err = errors.Join(os.RemoveAll(left), copyTree(making, left))
	}
	if closeErr := store.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("making a database that is %s: %w", spec.On, err)
	}
	if err := os.Rename(left, final); err != nil {
		return err
	}
	return os.RemoveAll(making)
}

// Killed takes what a process that Kill ended has left for the state that a
// workload needs.
func (r *Runner) Killed(spec *Spec) error {
	cfg := spec.config(&r.Config)
	final := r.stateDir(spec, &cfg)
	return os.Rename(final+".making", final)
}

func (r *Runner) stateDir(spec *Spec, cfg *Config) string {
	return filepath.Join(r.Dir, spec.state(cfg))
}

func (r *Runner) keysOf(cfg *Config) (Keys, error) {
	id := fmt.Sprint(cfg.Keys, cfg.Pairs, cfg.Seed)
	if k, ok := r.keys[id]; ok {
		return k, nil
	}
	k, err := NewKeys(cfg.Keys, cfg.Pairs, cfg.Seed)
	if err != nil {
		return nil, err
	}
	if r.keys == nil {
		r.keys = make(map[string]Keys)
	}
	r.keys[id] = k
	return k, nil
}

// Run makes the state that a workload needs, runs it, and removes its copy.
func (r *Runner) Run(ctx context.Context, spec *Spec) (*Result, error) {
	if err := r.Build(ctx, spec); err != nil {
		return nil, err
	}
	cfg := spec.config(&r.Config)
	keys, err := r.keysOf(&cfg)
	if err != nil {
		return nil, err
	}
	result := &Result{
		Store: r.Store, Workload: spec.Name,
		Keys: cfg.Keys, Pairs: cfg.Pairs, ValueSize: cfg.ValueSize, Clients: spec.Clients, Sync: spec.Sync, Cold: r.BeforeOpen != nil, Seed: cfg.Seed,
		StepOps: spec.StepOps, Figures: make(map[string]float64),
	}
	t := &trial{ctx: ctx, runner: r, spec: spec, cfg: &cfg, keys: keys, dir: filepath.Join(r.Dir, "run"), result: result}
	if spec.opens() {
		err = t.measureOpens()
	} else {
		err = t.measure()
	}
	if removeErr := os.RemoveAll(t.dir); err == nil {
		err = removeErr
	}
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", r.Store, spec.Name, err)
	}
	return result, nil
}

// A trial is one run of one workload.
type trial struct {
	ctx    context.Context
	runner *Runner
	spec   *Spec
	cfg    *Config
	keys   Keys
	dir    string // of its copy of the state
	result *Result
}

// prepare makes the run's copy of the state.
func (t *trial) prepare() error {
	if err := os.RemoveAll(t.dir); err != nil {
		return err
	}
	if t.spec.On == Empty {
		return nil
	}
	if err := copyTree(t.runner.stateDir(t.spec, t.cfg), t.dir); err != nil {
		return err
	}
	if t.runner.BeforeOpen != nil {
		return t.runner.BeforeOpen(t.dir)
	}
	return nil
}

func (t *trial) open() (Store, error) {
	s := t.spec.On.settings(t.cfg)
	s.Sync = t.spec.Sync
	return t.runner.Open(t.dir, s)
}

func (t *trial) measure() error {
	if err := t.prepare(); err != nil {
		return err
	}
	store, err := t.open()
	if err != nil {
		return err
	}
	j := newJob(t.spec, t.cfg, t.keys, store)
	there, err := t.use(j)
	if closeErr := store.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return t.setSpace(there)
}

// use runs the clients, and returns how many pairs there are afterwards.
func (t *trial) use(j *job) (there int, err error) {
	clients := make([]*client, t.spec.Clients)
	steps := make([]step, len(clients))
	defer func() {
		for _, c := range clients {
			if c != nil {
				err = errors.Join(err, c.close())
			}
		}
	}()
	for id := range clients {
		clients[id] = newClient(j, id)
		if steps[id], err = t.spec.begin(clients[id]); err != nil {
			return 0, err
		}
	}
	ops := t.spec.ops(t.cfg)
	total := func() (n int64) {
		for _, c := range clients {
			n += c.ops.Load()
		}
		return n
	}
	what := t.runner.Store + ": " + t.spec.Name
	m := startMeter(j.store, total, func(done int64) { t.cfg.progress(what, int(done), ops) })
	err = t.runClients(clients, steps)
	t.result.setLatency(clients)
	m.stop(t.result)
	if err != nil {
		return 0, err
	}
	user := int64(0)
	there = t.spec.On.pairs(t.cfg)
	for _, c := range clients {
		user += c.written
		there += c.added
	}
	if t.spec.Writes {
		if err := t.settle(j, m, user); err != nil {
			return 0, err
		}
	}
	return there, nil
}

// runClients does all steps: each client those whose number leaves its own when
// divided by how many they are. The first error stops all.
func (t *trial) runClients(clients []*client, steps []step) error {
	const look = 64 // steps between two looks at the context
	ctx, cancel := context.WithCancelCause(t.ctx)
	defer cancel(nil)
	n := t.spec.steps(t.spec.ops(t.cfg))
	var all sync.WaitGroup
	for id := range clients {
		all.Go(func() {
			for i, k := id, 0; i < n; i, k = i+len(clients), k+1 {
				if k%look == 0 && ctx.Err() != nil {
					return
				}
				if err := steps[id](i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}
