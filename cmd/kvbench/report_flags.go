package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/siftkv/sift/bench"
	"github.com/siftkv/sift/bench/workload"
)

const reportShortUsage = `Usage: kvbench report [flags] [FILE ...]
       kvbench report -help for what they are
`

const reportUsage = `kvbench report shows what was measured. Without files it measures first, for a minute
or two: a sweep of filters, and workloads on sift. With files it reads the JSON lines
that these print, several stores side by side:

  kvbench run -json > sift.jsonl
  kvbench sweep -json > sweep.jsonl
  go -C bench/peers run . -json > peers.jsonl
  kvbench report -html report.html sift.jsonl sweep.jsonl peers.jsonl

Usage:
  kvbench report [flags] [FILE ...]

  -html FILE      also write a page with plots, which needs no network
  -json           print the summary as a JSON object instead of tables
  -csv            print it as CSV, a line for each figure

What is measured, without files:
  -n N            pairs of each workload (default 1,000,000); the sweep has a tenth
  -lookups N      operations of a workload that reads (default 200,000)
  -seed N         other keys and choices (default 1)
  -dir DIR        make the databases in DIR, which must not exist yet
                  (default a new temporary directory); they are removed
`

// reportFlags are the arguments of kvbench report.
type reportFlags struct {
	workload.Config
	files     []string
	html, dir string
	json, csv bool
	arguments
}

func parseReportFlags(args []string) (*reportFlags, error) {
	f := &reportFlags{Config: workload.DefaultConfig()}
	var measuring []string // flags given that say what to measure
	measure := func(name string, parse func(string) error) {
		f.def(name, func(s string) error {
			measuring = append(measuring, "-"+name)
			return parse(s)
		})
	}
	f.def("html", func(s string) error { f.html = s; return checkPage(s) })
	measure("n", intFlag(&f.Pairs, bench.MinKeys, maxKeys))
	measure("lookups", intFlag(&f.Lookups, 1, maxLookups))
	measure("seed", func(s string) (err error) { f.Seed, err = parseSeed(s); return err })
	measure("dir", func(s string) error { f.dir = s; return checkNewDir(s) })
	f.defBool("json", &f.json)
	f.defBool("csv", &f.csv)
	f.operands = &f.files
	err := f.parse(args)
	if errors.Is(err, errHelp) {
		return f, err
	}
	if f.json && f.csv {
		f.faults = append(f.faults, errOneForm)
	}
	if len(f.files) > 0 {
		for _, name := range measuring {
			f.faults = append(f.faults, fmt.Errorf("%s: with files nothing is measured", name))
		}
	}
	if len(f.faults) > 0 {
		return f, &usageError{faults: f.faults, usage: reportShortUsage}
	}
	return f, nil
}

// pageStart is how a page begins that a report wrote.
const pageStart = "<!DOCTYPE html>"

// checkPage reports why a page cannot be written, without writing it. It may
// replace a page and nothing else: the names of results are typed beside it.
func checkPage(name string) error {
	if name == "" {
		return errors.New("want the name of a file")
	}
	if info, err := os.Stat(filepath.Dir(name)); err != nil {
		return fmt.Errorf("nothing can be written there: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", filepath.Dir(name))
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is there, and is not a file")
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	start := make([]byte, len(pageStart))
	if n, _ := f.Read(start); n > 0 && !bytes.Equal(start[:n], []byte(pageStart)) {
		return errors.New("it is there, and is not a page that a report wrote; name another")
	}
	return nil
}
