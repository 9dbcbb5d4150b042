package main

import (
	"fmt"
	"slices"

	"github.com/siftkv/sift/bench/workload"
)

// openers are the engines by name. One that is built only where its library is
// installed adds itself.
var openers = map[string]workload.Opener{
	"sift":        workload.OpenSift,
	"pebble":      openPebble,
	"pebble-iter": openPebbleIter,
	"goleveldb":   openGoLevelDB,
	"badger":      openBadger,
	"bbolt":       openBbolt,
}

func opener(name string) (workload.Opener, error) {
	open, ok := openers[name]
	if !ok {
		return nil, fmt.Errorf("there is no engine %q", name)
	}
	return open, nil
}

// engineNames returns the names of all engines, sift first.
func engineNames() []string {
	names := []string{"sift", "pebble", "pebble-iter", "goleveldb"}
	var others []string
	for name := range openers {
		if !slices.Contains(names, name) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	return append(names, others...)
}

// never is more tables in level 0 than any state has: nothing that waits for so
// many begins.
const never = 1 << 20
