// Command peers measures sift beside other Go stores on the same machine, in the
// same run, with equal settings: it fills, flushes and compacts, and looks up
// absent and present keys.
//
//	go -C bench/peers run . [-quick]
//
// Each phase of each engine is a process of its own, and the engines take turns
// in every round, so that what else the machine does hits all alike. It prints
// medians, the least and greatest of the rounds, and ratios taken round by round.
// Compare figures of one run only.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/siftkv/sift/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	var usage usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.As(err, &usage):
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// usageError is a fault of the arguments.
type usageError struct{ error }

// A comparison is what the user asked for.
type comparison struct {
	workload
	engines []string
	rounds  int
	dir     string // where the databases of a round lie
	json    bool
	profile string // prefix of the names of sift's CPU profiles
	stdout  io.Writer
	stderr  io.Writer
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == childName {
		return child(args[1:], stdout)
	}
	c, err := parse(args, stdout, stderr)
	if err != nil {
		return err
	}
	if c.dir, err = os.MkdirTemp(c.dir, "peers-"); err != nil {
		return err
	}
	err = c.run(ctx)
	return errors.Join(err, os.RemoveAll(c.dir))
}

func parse(args []string, stdout, stderr io.Writer) (*comparison, error) {
	c := &comparison{stdout: stdout, stderr: stderr}
	set := flag.NewFlagSet("peers", flag.ContinueOnError)
	set.SetOutput(stderr)
	c.define(set)
	engines := set.String("engines", "sift,pebble,goleveldb", "which of "+strings.Join(engineNames(), ", ")+", or all; ratios are the first's")
	set.IntVar(&c.rounds, "rounds", 3, "of all phases of all engines")
	set.StringVar(&c.dir, "dir", "", "where to make the databases (default a temporary directory); they are removed")
	set.BoolVar(&c.json, "json", false, "print a JSON line for each phase instead of tables")
	set.StringVar(&c.profile, "cpuprofile", "", "write CPU profiles of sift's last round to `PREFIX`-fill.prof and so on")
	quick := set.Bool("quick", false, "one round of a tenth: does it work, not how fast is it")
	if err := set.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil, err
	} else if err != nil {
		return nil, usageError{err}
	}
	if *quick {
		c.hurry(set)
	}
	c.engines = engineNames()
	if *engines != "all" {
		c.engines = strings.Split(*engines, ",")
	}
	return c, c.validate(set.Args())
}

// hurry makes a run short, but for what was asked for.
func (c *comparison) hurry(set *flag.FlagSet) {
	given := make(map[string]bool)
	set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, p := range map[string]*int{"n": &c.pairs, "lookups": &c.lookups} {
		if !given[name] {
			*p /= 10
		}
	}
	if !given["rounds"] {
		c.rounds = 1
	}
}

func (c *comparison) validate(rest []string) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	for _, a := range rest {
		fault("unexpected argument %q", a)
	}
	for _, e := range c.engines {
		if !slices.Contains(engineNames(), e) {
			fault("-engines: there is no %q; there are %s", e, strings.Join(engineNames(), ", "))
		}
	}
	if c.pairs < bench.MinKeys || c.lookups < 1 || c.rounds < 1 || c.valueSize < 0 || c.valueSize > bench.MaxValueSize {
		fault("want at least %d pairs, 1 lookup and 1 round, and values of 0 to %d bytes", bench.MinKeys, bench.MaxValueSize)
	}
	if len(faults) > 0 {
		return usageError{errors.Join(faults...)}
	}
	return nil
}

// run does all rounds and prints what they measured.
func (c *comparison) run(ctx context.Context) error {
	if !c.json {
		fmt.Fprintf(c.stdout, "%d pairs of %d B + %d B, %d lookups, seed %d; %d rounds, medians (least–greatest)\n%s/%s, %d processors, %s\n",
			c.pairs, bench.GeneratedKeySize, c.valueSize, c.lookups, c.seed, c.rounds, runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version())
	}
	var all series
	for round := range c.rounds {
		for i := range c.engines {
			name := c.engines[(i+round)%len(c.engines)] // nobody is always first
			samples, err := c.engineRound(ctx, name, round)
			if err != nil {
				return err
			}
			all = append(all, samples...)
		}
	}
	if c.json {
		return nil
	}
	return printTables(c.stdout, all, c.engines)
}

// engineRound runs an engine's phases in a new directory.
func (c *comparison) engineRound(ctx context.Context, name string, round int) (series, error) {
	dir := filepath.Join(c.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var s series
	for _, phase := range phases() {
		m, err := c.phase(ctx, name, phase, dir, round)
		if err != nil {
			return nil, err
		}
		s = append(s, m)
	}
	return s, nil
}

// phase runs one phase in a process of its own.
func (c *comparison) phase(ctx context.Context, name, phase, dir string, round int) (sample, error) {
	var m sample
	self, err := os.Executable()
	if err != nil {
		return m, err
	}
	args := append([]string{childName, "-engine=" + name, "-phase=" + phase, "-dir=" + dir}, c.flags()...)
	if c.profile != "" && name == "sift" && round == c.rounds-1 {
		args = append(args, "-cpuprofile="+c.profile+"-"+phase+".prof")
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stdout, cmd.Stderr = &out, c.stderr
	if err := cmd.Run(); err != nil {
		return m, fmt.Errorf("%s, %s: %w", name, phase, err)
	}
	if err := json.Unmarshal(out.Bytes(), &m); err != nil {
		return m, fmt.Errorf("%s, %s: %w", name, phase, err)
	}
	m.Round = round + 1
	if c.json {
		return m, json.NewEncoder(c.stdout).Encode(m)
	}
	return m, nil
}
