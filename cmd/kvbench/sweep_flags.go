package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/siftkv/sift/bench"
	"github.com/siftkv/sift/bench/sweep"
	"github.com/siftkv/sift/bloom"
)

const sweepShortUsage = `Usage: kvbench sweep [flags]
       kvbench sweep -help for what they are
`

const sweepUsage = `kvbench sweep shows where filters pay and where they are wasted memory. It looks up
the same keys with every combination of the values below, counts the disk reads, and
says for each group in one sentence what to take. Filters pay where they save at
least twice the disk reads that the same memory saves as cache; they are wasted where
they save less than 0.01 a lookup, or no more than half of what cache saves.

The tables, filters and block cache are the engine's; the tables lie in memory, and
keys are chosen evenly, so that counts are the same in every run. Lookups a second
are those of a disk that answers at once.

Usage:
  kvbench sweep [flags]

What is combined; each takes several values, separated by commas:
  -filters A,B    kinds: blocked, which a database builds, and to compare classic,
                  fuse, ribbon (default blocked,ribbon)
  -bits B,C       filter bits for each key, 1 to 64 (default 5,10,15)
  -shapes A,B     compacted: one sorted run; overlapping: eight of them (default both)
  -absent P,Q     percent of the lookups whose key is absent (default 0,50,100)
  -caches S,T     block cache: 64KiB, 8MiB, or percent of the data (default 5%,50%)

How large:
  -n N            pairs (default 100,000)
  -value-size B   bytes in each value, which compress to half (default 100)
  -lookups N      in each combination, after half as many that fill the cache
                  (default 20,000)
  -seed N         other keys (default 1)

How it is shown:
  -json           print a JSON line for each combination
  -csv            print them as CSV
`

const (
	maxSweepPairs = 10_000_000 // they lie in memory
	maxAxis       = 50
)

// sweepFlags are the arguments of kvbench sweep.
type sweepFlags struct {
	sweep.Grid
	caches    []string
	json, csv bool
	arguments
}

func parseSweepFlags(args []string) (*sweepFlags, error) {
	f := &sweepFlags{Grid: sweep.Default(), caches: []string{"5%", "50%"}}
	f.def("filters", list(&f.Kinds, parseKind))
	f.def("bits", list(&f.Bits, parseBits))
	f.def("shapes", list(&f.Shapes, parseShape))
	f.def("absent", list(&f.Absent, parsePercent))
	f.def("caches", list(&f.caches, func(s string) (string, error) { _, err := cacheBytes(s, 1); return s, err }))
	f.def("n", intFlag(&f.Pairs, bench.MinKeys, maxSweepPairs))
	f.def("value-size", intFlag(&f.ValueSize, 0, bench.MaxValueSize))
	f.def("lookups", intFlag(&f.Lookups, 1, maxLookups))
	f.def("seed", func(s string) (err error) { f.Seed, err = parseSeed(s); return err })
	f.defBool("json", &f.json)
	f.defBool("csv", &f.csv)
	err := f.parse(args)
	if errors.Is(err, errHelp) {
		return f, err
	}
	if f.json && f.csv {
		f.faults = append(f.faults, errOneForm)
	}
	if data := f.DataBytes(); data > maxSweepBytes {
		f.faults = append(f.faults, fmt.Errorf("%s pairs with values of %s B are %s, which would lie in memory; the limit is %s",
			commas(f.Pairs), commas(f.ValueSize), byteCount(float64(data)), byteCount(maxSweepBytes)))
	}
	if len(f.faults) > 0 {
		return f, &usageError{faults: f.faults, usage: sweepShortUsage}
	}
	for _, s := range f.caches {
		n, err := cacheBytes(s, f.DataBytes())
		if err != nil {
			return f, err // it was checked above
		}
		f.Caches = append(f.Caches, n)
	}
	return f, nil
}

const maxSweepBytes = 4 << 30

var errOneForm = errors.New("-json and -csv: want one of them")

// list returns what parses values that commas separate.
func list[T any](p *[]T, parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		parts := strings.Split(s, ",")
		if len(parts) > maxAxis {
			return fmt.Errorf("want at most %d values", maxAxis)
		}
		var values []T
		for _, part := range parts {
			v, err := parse(strings.TrimSpace(part))
			if err != nil {
				return err
			}
			values = append(values, v)
		}
		*p = values
		return nil
	}
}

func parseKind(s string) (bloom.Kind, error) {
	for _, k := range []bloom.Kind{bloom.Blocked, bloom.Classic, bloom.Fuse, bloom.Ribbon} {
		if k.String() == s {
			return k, nil
		}
	}
	return 0, errors.New("want some of blocked, classic, fuse, ribbon")
}

func parseShape(s string) (sweep.Shape, error) {
	for _, shape := range sweep.Shapes() {
		if string(shape) == s {
			return shape, nil
		}
	}
	return "", errors.New("want compacted, overlapping or both")
}

// parsePercent reads a share in percent.
func parsePercent(s string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
	if err != nil || !(x >= 0 && x <= 100) {
		return 0, errors.New("want percentages from 0 to 100")
	}
	return x / 100, nil
}

// cacheBytes reads a size, or a percentage of the data.
func cacheBytes(s string, data int64) (int64, error) {
	if !strings.HasSuffix(s, "%") {
		n, err := parseSize(s)
		if err != nil {
			err = errors.New("want sizes such as 64KiB or 8MiB, or percentages of the data from 0% to 100%")
		}
		return n, err
	}
	share, err := parsePercent(s)
	return int64(share * float64(data)), err
}
