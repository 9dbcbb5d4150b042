package workload

import (
	"errors"
	"fmt"

	"github.com/siftkv/sift/bench"
)

// Config says how large a run is, and with what keys.
type Config struct {
	Keys      string // by its name
	Pairs     int    // that a state holds, or a fill puts
	ValueSize int    // bytes
	Lookups   int    // operations of a workload that reads; a tenth where each is a scan
	Syncs     int    // writes of a workload that waits for the device
	Opens     int    // of a workload that opens
	Seed      uint64 // of keys and choices
	Settings  Settings

	// Progress, unless nil, is told what is being done and how much of it is
	// done, from 0 to 1. It is called often, by one goroutine at a time.
	Progress func(what string, done float64)
}

// DefaultConfig returns what a run is unless told otherwise.
func DefaultConfig() Config {
	return Config{
		Keys: "hex", Pairs: 1_000_000, ValueSize: 100, Lookups: 200_000, Syncs: 5000, Opens: 5, Seed: 1,
		Settings: Defaults(),
	}
}

// Validate lists every fault.
func (c *Config) Validate() error {
	var faults []error
	if _, err := NewKeys(c.Keys, bench.MinKeys, 0); err != nil {
		faults = append(faults, err)
	}
	atLeast := func(what string, n, least int) {
		if n < least {
			faults = append(faults, fmt.Errorf("%d %s; want at least %d", n, what, least))
		}
	}
	atLeast("pairs", c.Pairs, bench.MinKeys)
	atLeast("lookups", c.Lookups, 1)
	atLeast("synced writes", c.Syncs, 1)
	atLeast("opens", c.Opens, 1)
	if c.ValueSize < 0 || c.ValueSize > bench.MaxValueSize {
		faults = append(faults, fmt.Errorf("values of %d bytes; want 0 to %d", c.ValueSize, bench.MaxValueSize))
	}
	return errors.Join(faults...)
}

// raw returns about how many bytes the pairs have.
func (c *Config) raw() int64 { return int64(c.Pairs) * int64(bench.GeneratedKeySize+c.ValueSize) }

// resized returns the configuration for values of another size, with so many
// pairs that they are about as many bytes.
func (c *Config) resized(valueSize int) Config {
	r := *c
	r.ValueSize = valueSize
	r.Pairs = max(int(c.raw()/int64(bench.GeneratedKeySize+valueSize)), bench.MinKeys)
	return r
}

func (c *Config) progress(what string, done, total int) {
	if c.Progress != nil {
		c.Progress(what, float64(done)/float64(max(total, 1)))
	}
}
