package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/siftkv/sift/bench"
	"github.com/siftkv/sift/bench/workload"
)

const workloadsShortUsage = `Usage: kvbench run [flags]
       kvbench run -help for what they are
`

const workloadsUsage = `kvbench run runs workloads that the field knows by name on sift, checks every answer,
and prints what each costs. Each finds a database in the state that it needs, which is
made first and is not measured.

Usage:
  kvbench run [flags]

  -workload A,B   which, in this order (default all)
  -n N            pairs that a fill puts, and other workloads find (default 1,000,000)
  -value-size B   bytes in each value, which compress to half (default 100)
  -keys KIND      hex: 16 random digits; decimal: numbers as db_bench writes them;
                  paths: long, and alike at the beginning (default hex)
  -lookups N      operations of a workload that reads; a tenth where each is a scan
                  (default 200,000)
  -syncs N        writes that wait for the device (default 5,000)
  -opens N        times to open, where that is measured (default 5)
  -seed N         other keys and choices (default 1)

  -bits B         filter bits for each key, 1 to 64 (default 10)
  -cache SIZE     block cache: 4096, 64KiB, 8MiB, 1GiB (default 64MiB)
  -memtable SIZE  memtable (default 64MiB)

  -dir DIR        make the databases in DIR, which must not exist yet
                  (default a new temporary directory); they are removed
  -json           print a JSON line for each workload, with operations per 100 ms
  -csv            print them as CSV, with every figure

Workloads:
`

// workloadFlags are the arguments of kvbench run.
type workloadFlags struct {
	workload.Config
	specs []*workload.Spec
	dir   string
	json  bool
	csv   bool
	arguments
}

func parseWorkloadFlags(args []string) (*workloadFlags, error) {
	f := &workloadFlags{Config: workload.DefaultConfig(), specs: workload.All()}
	f.def("workload", func(s string) (err error) {
		f.specs, err = workload.Find(strings.Split(s, ",")...)
		return err
	})
	f.def("n", intFlag(&f.Pairs, bench.MinKeys, maxKeys))
	f.def("value-size", intFlag(&f.ValueSize, 0, bench.MaxValueSize))
	f.def("keys", func(s string) error {
		if f.Keys = s; !slices.Contains(workload.KeyNames(), s) {
			return fmt.Errorf("want one of %s", strings.Join(workload.KeyNames(), ", "))
		}
		return nil
	})
	f.def("lookups", intFlag(&f.Lookups, 1, maxLookups))
	f.def("syncs", intFlag(&f.Syncs, 1, maxLookups))
	f.def("opens", intFlag(&f.Opens, 1, maxLookups))
	f.def("seed", func(s string) (err error) { f.Seed, err = parseSeed(s); return err })
	f.def("bits", func(s string) (err error) { f.Settings.BitsPerKey, err = parseBits(s); return err })
	f.def("cache", func(s string) (err error) { f.Settings.CacheSize, err = parseSize(s); return err })
	f.def("memtable", func(s string) (err error) { f.Settings.MemTableSize, err = parseMemTable(s); return err })
	f.def("dir", func(s string) error { f.dir = s; return checkNewDir(s) })
	f.defBool("json", &f.json)
	f.defBool("csv", &f.csv)
	err := f.parse(args)
	if errors.Is(err, errHelp) {
		return f, err
	}
	if f.json && f.csv {
		f.faults = append(f.faults, errOneForm)
	}
	if len(f.faults) > 0 {
		return f, &usageError{faults: f.faults, usage: workloadsShortUsage}
	}
	return f, nil
}

// parseMemTable reads a size that a database takes for its memtable.
func parseMemTable(s string) (int64, error) {
	const least, most = 1 << 10, 4 << 30
	n, err := parseSize(s)
	if err == nil && (n < least || n > most) {
		err = errors.New("want a size from 1KiB to 4GiB")
	}
	return n, err
}

func workloadsHelp(w io.Writer) error {
	var b strings.Builder
	b.WriteString(workloadsUsage)
	for _, s := range workload.All() {
		fmt.Fprintf(&b, "  %-24s%s\n", s.Name, s.What)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
