package bench

import (
	"errors"
	"fmt"
	"math"

	"github.com/siftkv/sift"
)

// Config says what a run does.
type Config struct {
	Keys       Keys
	BitsPerKey float64 // of the filters, in the database that has them
	Lookups    int     // of absent keys, and again of present ones, in each shape
	CacheSize  int64   // of the block cache, in bytes
	Seed       uint64  // which present keys are looked up
	Dir        string  // where the two databases are made; it must exist
	FS         sift.FS // nil: the operating system's

	// Progress, unless nil, is told what is being done and how much of it is
	// done, from 0 to 1. It is called often.
	Progress func(what string, done float64)
}

const (
	minBits    = 1
	maxBits    = 64
	maxLookups = 1_000_000_000
)

// Validate lists every fault.
func (c *Config) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.Keys == nil {
		fault("no keys")
	} else if c.Keys.Len() < 1 {
		fault("an empty key set")
	}
	if !(c.BitsPerKey >= minBits && c.BitsPerKey <= maxBits) {
		fault("%v bits per key; want %d to %d", c.BitsPerKey, minBits, maxBits)
	}
	if c.Lookups < 1 || c.Lookups > maxLookups {
		fault("%d lookups; want 1 to %d", c.Lookups, maxLookups)
	}
	if c.CacheSize < 1 {
		fault("a block cache of %d bytes; want 1 to %d", c.CacheSize, int64(math.MaxInt64))
	}
	return errors.Join(faults...)
}

func (c *Config) progress(what string, done, total int) {
	if c.Progress != nil {
		c.Progress(what, float64(done)/float64(max(total, 1)))
	}
}
