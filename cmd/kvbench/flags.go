package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/siftkv/sift/bench"
)

const (
	maxKeys      = 1_000_000_000
	maxLookups   = 1_000_000_000
	maxDataBytes = 1 << 40
	minBits      = 1
	maxBits      = 64

	defaultKeys      = 1_000_000
	defaultValueSize = 100
	defaultLookups   = 100_000
	defaultBits      = 10
	defaultSeed      = 1

	cacheOneIn = 20 // the default cache's share of the data
)

// jobFlags are the main job's flags as given, checked each for itself.
type jobFlags struct {
	keys      int // 0: not given
	valueSize int
	bits      float64
	lookups   int   // 0: not given
	cache     int64 // 0: not given
	seed      uint64
	dir       string
	keyFile   string
	json      bool
	keep      bool

	arguments
}

// parseJobFlags reads the main job's arguments. It lists every fault in a
// usageError.
func parseJobFlags(args []string) (*jobFlags, error) {
	f := &jobFlags{
		valueSize: defaultValueSize,
		bits:      defaultBits,
		seed:      defaultSeed,
	}
	f.def("n", intFlag(&f.keys, bench.MinKeys, maxKeys))
	f.def("value-size", intFlag(&f.valueSize, 0, bench.MaxValueSize))
	f.def("lookups", intFlag(&f.lookups, 1, maxLookups))
	f.def("bits", func(s string) (err error) { f.bits, err = parseBits(s); return err })
	f.def("cache", func(s string) (err error) { f.cache, err = parseSize(s); return err })
	f.def("seed", func(s string) (err error) { f.seed, err = parseSeed(s); return err })
	f.def("dir", func(s string) error { f.dir = s; return checkNewDir(s) })
	f.def("keys", func(s string) error { f.keyFile = s; return nil })
	f.defBool("json", &f.json)
	f.defBool("keep", &f.keep)
	return f, f.parse(args)
}

// keySet makes the keys, which it may have to read. Its faults are usage errors.
func (f *jobFlags) keySet() (bench.Keys, error) {
	var k bench.Keys
	if f.keyFile != "" {
		file, err := bench.ReadKeyFile(f.keyFile, f.keys, f.valueSize, f.seed)
		if err != nil {
			return nil, fmt.Errorf("-keys: %w", err)
		}
		k = file
	} else {
		n := f.keys
		if n == 0 {
			n = defaultKeys
		}
		k = bench.NewGenerated(n, f.valueSize, f.seed)
	}
	if k.Bytes() > maxDataBytes {
		return nil, fmt.Errorf("%s keys with values of %s B are %s; the limit is %s",
			commas(k.Len()), commas(f.valueSize), byteCount(float64(k.Bytes())), byteCount(maxDataBytes))
	}
	return k, nil
}

// lookupsOf returns the number of lookups. Held-out keys are not looked up twice
// unless it is asked for: a repeated false positive would be in the cache.
func (f *jobFlags) lookupsOf(k bench.Keys) int {
	if f.lookups > 0 {
		return f.lookups
	}
	if file, ok := k.(*bench.FileKeys); ok {
		return min(defaultLookups, file.HeldOut())
	}
	return defaultLookups
}

// cacheFor returns the size of the block cache, in bytes.
func (f *jobFlags) cacheFor(k bench.Keys) int64 {
	if f.cache > 0 {
		return f.cache
	}
	return max(k.Bytes()/cacheOneIn, 1)
}

// checkNewDir reports why a directory cannot be made, without making it.
func checkNewDir(dir string) error {
	if dir == "" {
		return errors.New("want a name")
	}
	switch _, err := os.Lstat(dir); {
	case err == nil:
		return errors.New("it exists already, and kvbench writes only where nothing was; name a new one")
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	switch info, err := os.Stat(filepath.Dir(dir)); {
	case err != nil:
		return fmt.Errorf("nothing can be made there: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", filepath.Dir(dir))
	}
	return nil
}

func intFlag(p *int, lo, hi int64) func(string) error {
	return func(s string) error {
		n, err := strconv.ParseInt(ungroup(s), 10, 64)
		if err != nil || n < lo || n > hi {
			return fmt.Errorf("want a whole number from %s to %s", commas(lo), commas(hi))
		}
		*p = int(n)
		return nil
	}
}

func parseBits(s string) (float64, error) {
	b, err := strconv.ParseFloat(s, 64)
	if err != nil || !(b >= minBits && b <= maxBits) {
		return 0, fmt.Errorf("want a number from %d to %d", minBits, maxBits)
	}
	return b, nil
}

func parseSeed(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, errors.New("want a whole number from 0 to 2^64-1")
	}
	return n, nil
}

// parseSize reads a number of bytes with a unit or without: the units are powers
// of 1,024, with or without iB.
func parseSize(s string) (int64, error) {
	bad := errors.New("want a size above zero such as 4096, 64KiB, 8MiB or 1GiB")
	number := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(ungroup(s)), "B"), "I")
	shift := 0
	if n := len(number); n > 0 {
		if i := strings.IndexByte("KMGT", number[n-1]); i >= 0 {
			number, shift = number[:n-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > maxDataBytes>>shift {
		return 0, bad
	}
	return n << shift, nil
}

// ungroup takes out what people put between thousands.
func ungroup(s string) string { return strings.NewReplacer("_", "", ",", "").Replace(s) }
