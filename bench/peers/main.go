// Command peers measures sift beside other stores on the same machine, in the
// same run, with equal settings: the workloads of package bench/workload.
//
//	go -C bench/peers run . [-quick]
//
// Each workload of each engine is a process of its own, and the engines take
// turns in every round, so that what else the machine does hits all alike. It
// prints medians, the least and greatest of the rounds, and ratios taken round by
// round. Compare figures of one run only.
//
// RocksDB is among the engines of a program built with -tags rocksdb, which needs
// its C library: Debian's librocksdb-dev.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/siftkv/sift/bench/workload"
)

func main() {
	// A pipe whose reader is gone is an error like any other, so that the databases
	// are removed.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
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

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == childName {
		return child(ctx, args[1:], stdout)
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
	define(set, &c.Config)
	engines := set.String("engines", "all", "which of "+strings.Join(engineNames(), ", ")+"; the first is compared with the others")
	workloads := set.String("workloads", "all", "which of "+strings.Join(workload.Names(), ", "))
	set.IntVar(&c.rounds, "rounds", 3, "of all workloads on all engines")
	set.StringVar(&c.dir, "dir", "", "where to make the databases (default a temporary directory); they are removed")
	set.BoolVar(&c.json, "json", false, "print a JSON line for each run instead of tables")
	set.BoolVar(&c.cold, "cold", false, "drop the page cache of a database before a workload opens it")
	set.StringVar(&c.profile, "cpuprofile", "", "write CPU profiles of sift's last round to `PREFIX`-WORKLOAD.prof")
	quick := set.Bool("quick", false, "one round of a tenth: a look in some minutes")
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
	return c, c.validate(set.Args(), strings.Split(*workloads, ","))
}

// hurry makes a run short, but for what was asked for.
func (c *comparison) hurry(set *flag.FlagSet) {
	given := make(map[string]bool)
	set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, p := range map[string]*int{"n": &c.Pairs, "lookups": &c.Lookups, "syncs": &c.Syncs} {
		if !given[name] {
			*p /= 10
		}
	}
	if !given["rounds"] {
		c.rounds = 1
	}
}

// validate finds the workloads, and lists every fault.
func (c *comparison) validate(rest, workloads []string) error {
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
	var err error
	if c.specs, err = workload.Find(workloads...); err != nil {
		fault("-workloads: %w", err)
	}
	if c.rounds < 1 {
		fault("%d rounds; want at least 1", c.rounds)
	}
	if err := c.Validate(); err != nil {
		faults = append(faults, err)
	}
	if len(faults) > 0 {
		return usageError{errors.Join(faults...)}
	}
	return nil
}
