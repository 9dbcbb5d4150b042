package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// arguments are flags that are each checked for itself. It notes every fault, so
// that one call tells a user of all of them, and changes nothing on the disk.
type arguments struct {
	set    *flag.FlagSet
	faults []error

	// operands, unless nil, takes what is not a flag.
	operands *[]string
}

var errHelp = errors.New("help")

// def defines a flag with a value.
func (a *arguments) def(name string, parse func(string) error) {
	a.flags().Func(name, "", func(s string) error {
		if err := parse(s); err != nil {
			a.faults = append(a.faults, fmt.Errorf("-%s %q: %w", name, s, err))
		}
		return nil // so that parsing goes on to the next
	})
}

// defBool defines a flag without a value.
func (a *arguments) defBool(name string, p *bool) { a.flags().BoolVar(p, name, false, "") }

func (a *arguments) flags() *flag.FlagSet {
	if a.set == nil {
		a.set = flag.NewFlagSet("kvbench", flag.ContinueOnError)
		a.set.SetOutput(io.Discard)
	}
	return a.set
}

// parse reads all arguments. It returns errHelp if they ask for help, and lists
// every fault in a usageError.
func (a *arguments) parse(args []string) error {
	for {
		err := a.flags().Parse(args)
		if err == nil && a.operands != nil && a.set.NArg() > 0 {
			*a.operands = append(*a.operands, a.set.Arg(0))
			args = a.set.Args()[1:] // more flags may follow
			continue
		}
		if err == nil {
			break
		}
		if errors.Is(err, flag.ErrHelp) {
			return errHelp
		}
		a.faults = append(a.faults, err)
		args = afterFault(a.set.Args(), err)
	}
	for _, arg := range a.set.Args() {
		a.faults = append(a.faults, fmt.Errorf("unexpected argument %q", arg))
	}
	if len(a.faults) > 0 {
		return &usageError{faults: a.faults}
	}
	return nil
}

// afterFault returns where to go on after a fault that package flag found. It
// stops behind an unknown flag, whose value, most likely, is what follows; but it
// stops before what cannot be a flag, such as ---.
func afterFault(rest []string, err error) []string {
	if len(rest) > 0 && (strings.HasPrefix(err.Error(), "bad flag syntax") || !strings.HasPrefix(rest[0], "-")) {
		return rest[1:]
	}
	return rest
}
