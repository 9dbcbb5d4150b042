package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	exitSignal = 128 // plus the signal's number
	exitPipe   = exitSignal + 13
)

// An environment is what a process gives kvbench, so that a test can give it
// something else.
type environment struct {
	args   []string
	stdout io.Writer
	stderr io.Writer
	tty    bool // show progress on stderr
	litter *litter
}

// A command is what kvbench does when its first argument is the command's name.
type command struct {
	name    string
	summary string
	run     func(ctx context.Context, env environment) error
}

// commands returns the commands in the order of the usage text. The main job has
// no name: it is what kvbench does without one.
func commands() []command {
	return []command{
		{"run", "run workloads such as fillrandom or ycsb-a on sift", runWorkloads},
		{"sweep", "show where filters pay and where they are wasted memory", runSweep},
		{"report", "measure, or read what was measured, and show it; -html for plots", runReport},
		{"model", "say what sizes would cost that cannot be run", modelSizes},
		{"fpr", "check the filters' false-positive rates against theory", fpr},
		{"help", "print this text", func(_ context.Context, env environment) error { return env.help() }},
	}
}

// run does what the arguments say, and returns the exit code.
func (env environment) run(ctx context.Context) int {
	err := env.dispatch(ctx)
	if ctx.Err() != nil && err != nil {
		err = context.Cause(ctx)
	}
	var stopped interrupted
	var asked *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &stopped):
		return stopped.code()
	case isClosedPipe(err):
		return exitPipe
	case errors.As(err, &asked):
		for _, f := range asked.faults {
			fmt.Fprintf(env.stderr, "kvbench: %v\n", f)
		}
		fmt.Fprintf(env.stderr, "\n%s", asked.help())
		return exitUsage
	}
	fmt.Fprintf(env.stderr, "kvbench: %v\n", err)
	return exitFailed
}

func (env environment) dispatch(ctx context.Context) error {
	if len(env.args) == 0 || strings.HasPrefix(env.args[0], "-") {
		return mainJob(ctx, env)
	}
	for _, c := range commands() {
		if c.name == env.args[0] {
			env.args = env.args[1:]
			return c.run(ctx, env)
		}
	}
	return &usageError{faults: []error{fmt.Errorf("there is no command %q", env.args[0])}}
}

// A usageError is what was wrong with the arguments, all of it.
type usageError struct {
	faults []error
	usage  string // of the command, in short; that of the main job if empty
}

func (e *usageError) Error() string { return errors.Join(e.faults...).Error() }

func (e *usageError) help() string {
	if e.usage != "" {
		return e.usage
	}
	return shortUsage
}
