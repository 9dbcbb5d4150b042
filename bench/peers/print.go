package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/siftkv/sift/bench/workload"
)

// printTables prints a table for each figure that anybody has, a row for each
// workload and a column for each engine, and then how they compare.
func printTables(w io.Writer, s series, engines []string, specs []*workload.Spec) error {
	for _, c := range columns() {
		err := printTable(w, c.title, engines, specs, func(engine, name string) []float64 {
			values := s.values(engine, name, c.figure)
			for i := range values {
				values[i] /= c.unit
			}
			return values
		})
		if err != nil {
			return err
		}
	}
	if len(engines) < 2 {
		return nil
	}
	err := printTable(w, "Speed as a share of the fastest, round by round", engines, specs, func(engine, name string) []float64 {
		return s.toBest(engine, name, engines)
	})
	if err != nil {
		return err
	}
	title := fmt.Sprintf("How many times faster %s is (below 1: slower), round by round", engines[0])
	return printTable(w, title, engines[1:], specs, func(engine, name string) []float64 {
		return s.ratios(engines[0], engine, name)
	})
}

// printTable prints one table, without rows that are empty, or nothing if all
// are.
func printTable(w io.Writer, title string, engines []string, specs []*workload.Spec, values func(engine, name string) []float64) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	rows := 0
	for _, spec := range specs {
		row, found := "  "+spec.Name+"\t", false
		for _, e := range engines {
			v := values(e, spec.Name)
			found = found || len(v) > 0
			row += show(v) + "\t"
		}
		if !found {
			continue
		}
		if rows++; rows == 1 {
			fmt.Fprintf(w, "\n%s\n", title)
			fmt.Fprint(t, "\t")
			for _, e := range engines {
				fmt.Fprintf(t, "%s\t", e)
			}
			fmt.Fprintln(t)
		}
		fmt.Fprintln(t, row)
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
