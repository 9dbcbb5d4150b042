package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// printTables prints every figure of every engine, and below them how sift's
// compare.
func printTables(w io.Writer, s series, engines []string) error {
	for _, phase := range phases() {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintf(t, "\n%s\t", phaseTitle(phase))
		for _, e := range engines {
			fmt.Fprintf(t, "%s\t", e)
		}
		fmt.Fprintln(t)
		for _, figure := range figuresOf(phase) {
			fmt.Fprintf(t, "  %s\t", figure)
			for _, e := range engines {
				fmt.Fprintf(t, "%s\t", show(s.values(e, phase, figure)))
			}
			fmt.Fprintln(t)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return printRatios(w, s, engines)
}

func phaseTitle(phase string) string {
	switch phase {
	case absentPhase:
		return "looking up absent keys"
	case presentPhase:
		return "looking up present keys"
	}
	return "filling in random order"
}

// printRatios prints how many times better the first engine is than the others.
func printRatios(w io.Writer, s series, engines []string) error {
	if len(engines) < 2 {
		return nil
	}
	first := engines[0]
	fmt.Fprintf(w, "\nHow many times better %s is (below 1: worse), round by round\n", first)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "\t")
	for _, e := range engines[1:] {
		fmt.Fprintf(t, "than %s\t", e)
	}
	fmt.Fprintln(t)
	for _, row := range []struct{ phase, figure string }{
		{fillPhase, putRate}, {fillPhase, allRate}, {fillPhase, cpuPerOp}, {absentPhase, lookupRate}, {presentPhase, lookupRate},
	} {
		fmt.Fprintf(t, "  %s: %s\t", row.phase, row.figure)
		for _, e := range engines[1:] {
			fmt.Fprintf(t, "%s\t", show(s.ratios(first, e, row.phase, row.figure)))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// show writes the median, and the spread if there is more than one round.
func show(values []float64) string {
	switch len(values) {
	case 0:
		return "-"
	case 1:
		return short(values[0])
	}
	s := spreadOf(values)
	return fmt.Sprintf("%s (%s–%s)", short(s.mid), short(s.low), short(s.high))
}

func short(x float64) string {
	switch {
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case x >= 1:
		return strconv.FormatFloat(x, 'f', 2, 64)
	case x == 0:
		return "0"
	}
	return strconv.FormatFloat(x, 'f', 3, 64)
}
