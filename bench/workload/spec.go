package workload

import (
	"fmt"
	"slices"
	"strings"
)

// A Spec is a workload.
type Spec struct {
	Name    string
	What    string // in one sentence
	On      State  // the state of the database that it finds
	Clients int    // goroutines that work at once
	Sync    bool   // each write waits until it survives a power cut
	Writes  bool

	// StepOps is how many operations are timed together: their latency is that of
	// all of them.
	StepOps int

	valueSize int // bytes, unless 0: the configuration's
	ops       func(*Config) int

	// begin makes a client ready and returns its step.
	begin func(*client) (step, error)

	// after checks what the i-th operation left, once all is done. Nil: nothing.
	after func(c *client, i int) error
}

// A step does the i-th step of a run, of which each client does its share.
type step func(i int) error

// Find returns the workloads with these names. "all" means all of them.
func Find(names ...string) ([]*Spec, error) {
	all := All()
	var found []*Spec
	for _, name := range names {
		if name == "all" {
			return all, nil
		}
		i := slices.IndexFunc(all, func(s *Spec) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no workload %q; there are %s", name, strings.Join(Names(), ", "))
		}
		found = append(found, all[i])
	}
	return found, nil
}

// Names returns the names of all workloads.
func Names() []string {
	var names []string
	for _, s := range All() {
		names = append(names, s.Name)
	}
	return names
}

// config returns the configuration as the workload uses it.
func (s *Spec) config(c *Config) Config {
	r := *c
	if s.valueSize != 0 {
		r = c.resized(s.valueSize)
	}
	if s.On == Logged {
		const most = 400_000 // a log is seldom longer
		r.Pairs = min(r.Pairs, most)
	}
	return r
}

// StateOf names the state that the workload finds: workloads with equal names
// share one.
func (s *Spec) StateOf(c *Config) string {
	cfg := s.config(c)
	return s.state(&cfg)
}

func (s *Spec) state(c *Config) string {
	return fmt.Sprintf("%s-%s-%d-%d-%d", s.On, c.Keys, c.Pairs, c.ValueSize, c.Seed)
}

// steps returns how many steps that many operations take.
func (s *Spec) steps(ops int) int { return (ops + s.StepOps - 1) / s.StepOps }
