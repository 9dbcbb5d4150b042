package compaction

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 takes one from the clock")

// newRand returns a source whose seed the test's log shows, for -seed to replay.
func newRand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("replay with -seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}
