package main

import (
	"fmt"
	"slices"
)

// Every engine gets the same settings, as far as it has them: Snappy, 4 KiB
// blocks, tables of 64 MiB, a memtable and a block cache of 64 MiB, a base level
// of 256 MiB, filters of 10 bits a key, one flush and one compaction at a time,
// no fsync.
const (
	blockSize     = 4 << 10
	tableSize     = 64 << 20
	memTableSize  = 64 << 20
	cacheSize     = 64 << 20
	baseLevelSize = 256 << 20
	bitsPerKey    = 10
)

// An engine is a store as the harness uses it. One goroutine uses it at a time.
type engine interface {
	// Put stores a pair and does not wait for the device.
	Put(key, value []byte) error

	// Get appends the value of key to dst, if there is one.
	Get(dst, key []byte) (value []byte, ok bool, err error)

	// Flush writes what is in memory to tables. An engine that cannot does
	// nothing, and has it done by Compact.
	Flush() error

	// Compact merges everything into one run.
	Compact() error

	Close() error
}

// openers returns the engines by name.
func openers() map[string]func(dir string) (engine, error) {
	return map[string]func(dir string) (engine, error){
		"sift":      openSift,
		"pebble":    openPebble,
		"goleveldb": openGoLevelDB,
		"badger":    openBadger,
		"bbolt":     openBbolt,
	}
}

func openEngine(name, dir string) (engine, error) {
	open, ok := openers()[name]
	if !ok {
		return nil, fmt.Errorf("there is no engine %q", name)
	}
	e, err := open(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return e, nil
}

// engineNames returns the names of all engines, sift first.
func engineNames() []string {
	names := []string{"sift", "pebble", "goleveldb"}
	var others []string
	for name := range openers() {
		if !slices.Contains(names, name) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	return append(names, others...)
}
