package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/siftkv/sift/bench"
	"github.com/siftkv/sift/bench/model"
)

const modelShortUsage = `Usage: kvbench model [flags]
       kvbench model -help for what they are
`

const modelUsage = `kvbench model says what databases would be like that cannot be run: levels, what a
byte that is put costs to write, the memory of filters, and the disk reads that a
lookup expects. Sizes up to about 10^9 keys are simulated, with the real picker of
compactions and tables that have no content; beyond, it is formulas. Then it says
where one machine ends, and into what the largest of the sizes is to be cut.
docs/model.md says how, and how near that is to what was measured.

Usage:
  kvbench model [flags]

What is put:
  -keys N,N       sizes, such as 1e6 or 1_000_000 (default 1e6,1e7,...,1e12)
  -key-size B     bytes in each key (default 16)
  -value-size B   bytes in each value (default 100)
  -compress R     what compression leaves of a value, more than 0, at most 1
                  (default 0.5)
  -order ORDER    random or sequential (default random)
  -overwrites X   then keys drawn at random are put again, X times as many as
                  there are (default 0)

The database:
  -bits B         filter bits for each key, 1 to 64 (default 10)
  -memtable SIZE  memtable (default 64MiB)
  -table SIZE     where a compaction begins another table (default 64MiB)
  -base SIZE      what one compaction of level 0 is taken to be, the unit of all
                  levels (default 256MiB)
  -multiplier N   how many times larger a level may be than the one above, 2 to 100
                  (default 10)
  -open-files N   tables that stay open (default 1,000)

The machine:
  -memory SIZE    what filters may take (default 64GiB)
  -disk SIZE      (default 8TiB)
  -rate SIZE      what it can keep writing each second (default 500MiB)

  -json           print one JSON object
`

// modelFlags are the arguments of kvbench model.
type modelFlags struct {
	model.Config
	sizes   []uint64
	machine model.Machine
	json    bool
	arguments
}

func parseModelFlags(args []string) (*modelFlags, error) {
	f := &modelFlags{
		Config:  model.Default(),
		machine: model.Machine{Memory: 64 << 30, Disk: 8 << 40, Rate: 500 << 20},
	}
	for n := uint64(1e6); n <= 1e12; n *= 10 {
		f.sizes = append(f.sizes, n)
	}
	f.def("keys", func(s string) (err error) { f.sizes, err = parseSizes(s); return err })
	f.def("key-size", intFlag(&f.KeySize, model.MinKeySize, 65_535))
	f.def("value-size", intFlag(&f.ValueSize, 0, bench.MaxValueSize))
	f.def("compress", floatFlag(&f.ValueRatio, 0.001, 1))
	f.def("order", func(s string) error {
		if f.Sequential = s == "sequential"; !f.Sequential && s != "random" {
			return errors.New("want random or sequential")
		}
		return nil
	})
	f.def("overwrites", floatFlag(&f.Overwrites, 0, 1000))
	f.def("bits", func(s string) (err error) { f.BitsPerKey, err = parseBits(s); return err })
	f.def("memtable", func(s string) (err error) { f.MemTableSize, err = parseMemTable(s); return err })
	f.def("table", func(s string) (err error) { f.TableSize, err = parseMemTable(s); return err })
	f.def("base", func(s string) (err error) { f.Tree.BaseLevelSize, err = parseSize(s); return err })
	f.def("multiplier", intFlag(&f.Tree.Multiplier, 2, 100))
	f.def("open-files", intFlag(&f.MaxOpenFiles, 1, math.MaxInt32))
	f.def("memory", func(s string) (err error) { f.machine.Memory, err = parseLargeSize(s); return err })
	f.def("disk", func(s string) (err error) { f.machine.Disk, err = parseLargeSize(s); return err })
	f.def("rate", func(s string) (err error) { f.machine.Rate, err = parseLargeSize(s); return err })
	f.defBool("json", &f.json)
	err := f.parse(args)
	var asked *usageError
	if errors.As(err, &asked) {
		asked.usage = modelShortUsage
	}
	return f, err
}

// parseSizes reads numbers of keys. A comma is between two of them, never in one.
func parseSizes(s string) (sizes []uint64, err error) {
	for word := range strings.SplitSeq(s, ",") {
		x, err := strconv.ParseFloat(strings.ReplaceAll(word, "_", ""), 64)
		if err != nil || x != math.Trunc(x) || !(x >= 1 && x <= model.MaxKeys) {
			return nil, errors.New("want whole numbers from 1 to 1e15, such as 1e6,5e9")
		}
		sizes = append(sizes, uint64(x))
	}
	return sizes, nil
}

func floatFlag(p *float64, lo, hi float64) func(string) error {
	return func(s string) error {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || !(x >= lo && x <= hi) {
			return fmt.Errorf("want a number from %v to %v", lo, hi)
		}
		*p = x
		return nil
	}
}

// parseLargeSize is parseSize for what may be more than one run writes.
func parseLargeSize(s string) (float64, error) {
	number, times := s, 1.0
	if short, terabytes := strings.CutSuffix(strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(s), "B"), "I"), "T"); terabytes {
		number, times = short, 1<<40
	}
	if times == 1 {
		n, err := parseSize(number)
		return float64(n), err
	}
	n, err := strconv.ParseUint(ungroup(number), 10, 24)
	if err != nil || n == 0 {
		return 0, errors.New("want a size above zero such as 8MiB, 64GiB or 8TiB")
	}
	return float64(n) * times, nil
}
