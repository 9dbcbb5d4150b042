package manifest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/siftkv/sift/internal/key"
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

// table returns the metadata of a table that holds the user keys in [lo, hi]
// with sequence numbers in [minSeq, maxSeq].
func table(num uint64, lo, hi string, minSeq, maxSeq uint64) *TableMeta {
	return &TableMeta{
		Num: num, ID: num * 0x9e3779b97f4a7c15, Size: 1000,
		Smallest: key.Make([]byte(lo), maxSeq, key.Set),
		Largest:  key.Make([]byte(hi), minSeq, key.Set),
		Entries:  2, MinSeq: minSeq, MaxSeq: maxSeq,
	}
}

func add(level int, tables ...*TableMeta) *Edit {
	e := new(Edit)
	for _, t := range tables {
		e.Added = append(e.Added, NewTable{level, t})
	}
	return e
}

func mustApply(t testing.TB, v *Version, edits ...*Edit) *Version {
	t.Helper()
	for _, e := range edits {
		next, err := v.Apply(e)
		if err != nil {
			t.Fatal(err)
		}
		v = next
	}
	return v
}

func nums(tables []*TableMeta) string {
	var out []uint64
	for _, t := range tables {
		out = append(out, t.Num)
	}
	return fmt.Sprint(out)
}
