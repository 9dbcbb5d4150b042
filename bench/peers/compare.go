package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/siftkv/sift/bench/workload"
)

// A comparison is what the user asked for.
type comparison struct {
	workload.Config
	specs   []*workload.Spec
	engines []string
	rounds  int
	dir     string // where the databases lie
	json    bool
	cold    bool
	profile string // prefix of the names of sift's CPU profiles
	stdout  io.Writer
	stderr  io.Writer

	done, total int // runs
}

// run does all rounds and prints what they measured. Workloads that find the same
// state are done together, so that no more than one state of each engine is on
// disk.
func (c *comparison) run(ctx context.Context) error {
	if !c.json {
		c.printHeader()
	}
	c.total = c.rounds * len(c.specs) * len(c.engines)
	var all series
	for _, group := range c.groups() {
		results, err := c.group(ctx, group)
		if err != nil {
			return err
		}
		all = append(all, results...)
	}
	c.progress("")
	if c.json {
		return nil
	}
	return printTables(c.stdout, all, c.engines, c.specs)
}

func (c *comparison) printHeader() {
	pages := "page cache warm"
	if c.cold {
		pages = "page cache dropped before each"
	}
	s := c.Settings
	fmt.Fprintf(c.stdout, "%d pairs, %s keys, values of %d B, %d lookups, seed %d; %d rounds, medians (least–greatest); %s\n",
		c.Pairs, c.Keys, c.ValueSize, c.Lookups, c.Seed, c.rounds, pages)
	fmt.Fprintf(c.stdout, "Snappy, %d B blocks, %d MiB tables, %d MiB memtable, %d MiB block cache, filters of %v bits a key, %d compaction at once\n",
		s.BlockSize, s.TableSize>>20, s.MemTableSize>>20, s.CacheSize>>20, s.BitsPerKey, s.Compactions)
	fmt.Fprintf(c.stdout, "%s/%s, %d processors, %s\n", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version())
}

// groups returns the workloads by the state that they find, in their order.
func (c *comparison) groups() [][]*workload.Spec {
	index := make(map[string]int)
	var groups [][]*workload.Spec
	for _, spec := range c.specs {
		state := spec.StateOf(&c.Config)
		i, ok := index[state]
		if !ok {
			i = len(groups)
			index[state] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], spec)
	}
	return groups
}

func (c *comparison) group(ctx context.Context, specs []*workload.Spec) (series, error) {
	for _, name := range c.engines {
		dir := filepath.Join(c.dir, name)
		if err := makeDir(dir); err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		c.progress(fmt.Sprintf("%s: making %s", name, specs[0].On))
		if err := c.build(ctx, name, specs[0]); err != nil {
			return nil, err
		}
	}
	var s series
	for round := range c.rounds {
		for k, spec := range specs {
			for i := range c.engines {
				name := c.engines[(i+k+round)%len(c.engines)] // nobody is always first
				r, err := c.workload(ctx, name, spec, round)
				if err != nil {
					return nil, err
				}
				s = append(s, r)
			}
		}
	}
	return s, nil
}

// build makes a state. The process that makes Logged kills itself when it is done.
func (c *comparison) build(ctx context.Context, name string, spec *workload.Spec) error {
	out, err := c.phase(ctx, name, spec, "-build")
	if spec.On != workload.Logged {
		return err
	}
	if ended := new(exec.ExitError); !errors.As(err, &ended) || strings.TrimSpace(string(out)) != allPut {
		return errors.Join(err, fmt.Errorf("%s: the process that was to be killed printed %q", name, out))
	}
	r := workload.Runner{Config: c.Config, Dir: filepath.Join(c.dir, name)}
	return r.Killed(spec)
}

// workload runs one workload on one engine.
func (c *comparison) workload(ctx context.Context, name string, spec *workload.Spec, round int) (r workload.Result, err error) {
	c.progress(fmt.Sprintf("round %d of %d: %s, %s", round+1, c.rounds, spec.Name, name))
	var more []string
	if c.cold {
		more = append(more, "-cold")
	}
	if c.profile != "" && name == "sift" && round == c.rounds-1 {
		more = append(more, "-cpuprofile="+c.profile+"-"+spec.Name+".prof")
	}
	out, err := c.phase(ctx, name, spec, more...)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(out, &r); err != nil {
		return r, fmt.Errorf("%s, %s: %w", name, spec.Name, err)
	}
	r.Round = round + 1
	c.done++
	if c.json {
		return r, json.NewEncoder(c.stdout).Encode(r)
	}
	return r, nil
}

// phase runs a process that does one thing, and returns what it printed.
func (c *comparison) phase(ctx context.Context, name string, spec *workload.Spec, more ...string) ([]byte, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := append([]string{childName, "-engine=" + name, "-workload=" + spec.Name, "-dir=" + filepath.Join(c.dir, name)}, c.flags()...)
	var out, trouble bytes.Buffer
	cmd := exec.CommandContext(ctx, self, append(args, more...)...)
	cmd.Stdout, cmd.Stderr = &out, &trouble
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s, %s: %w\n%s", name, spec.Name, err, strings.TrimSpace(trouble.String()))
	}
	return out.Bytes(), nil
}

// flags pass the configuration on: what define defines.
func (c *comparison) flags() []string {
	return []string{
		"-keys=" + c.Keys,
		fmt.Sprint("-n=", c.Pairs), fmt.Sprint("-value-size=", c.ValueSize), fmt.Sprint("-lookups=", c.Lookups), fmt.Sprint("-syncs=", c.Syncs),
		fmt.Sprint("-opens=", c.Opens), fmt.Sprint("-seed=", c.Seed), fmt.Sprint("-cache=", c.Settings.CacheSize), fmt.Sprint("-memtable=", c.Settings.MemTableSize),
	}
}

// progress says on a terminal what is being done; nothing wipes the line.
func (c *comparison) progress(what string) {
	f, ok := c.stderr.(*os.File)
	if !ok {
		return
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return
	}
	const wipe = "\r\x1b[K"
	if what == "" {
		fmt.Fprint(f, wipe)
		return
	}
	fmt.Fprintf(f, "%s%d of %d  %s", wipe, c.done, c.total, what)
}
