package iterator

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/siftkv/sift/internal/key"
)

func merged(parts [][]Entry, f *fault) Iterator {
	iters := make([]Iterator, len(parts))
	for i, p := range parts {
		iters[i] = Slice(p)
		if f != nil {
			iters[i] = &faulty{Iterator: iters[i], fault: f}
		}
	}
	return Merge(iters...)
}

// TestMergeModel: any walk over any number of sources shows what a sorted slice
// of all entries shows.
func TestMergeModel(t *testing.T) {
	eachSeed(t, 300, func(t *testing.T, rng *rand.Rand) {
		entries := randomEntries(rng, rng.IntN(60))
		for n := 1; n <= 7; n++ {
			it := merged(deal(rng, entries, n), nil)
			checkWalk(t, it, entries, randomSteps(rng, entries, 100))
			if err := it.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestMergeFaults: whichever call of whichever source fails, the walk never goes
// on past the gap.
func TestMergeFaults(t *testing.T) {
	eachSeed(t, 30, func(t *testing.T, rng *rand.Rand) {
		entries := randomEntries(rng, rng.IntN(30))
		for n := 1; n <= 7; n++ {
			parts := deal(rng, entries, n)
			open := func(f *fault) Iterator { return merged(parts, f) }
			checkFaults(t, open, entries, randomSteps(rng, entries, 40))
		}
	})
}

// TestMergeOfNothing: no sources are an empty source.
func TestMergeOfNothing(t *testing.T) {
	it := Merge()
	if it.First() || it.Last() || it.SeekGE(key.Internal{}) || it.Valid() || it.Error() != nil {
		t.Fatal("there is an entry, or an error")
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestMergeClosesAll: one source that fails to close does not keep the others
// open, and its error is reported.
func TestMergeClosesAll(t *testing.T) {
	closed := 0
	iters := []Iterator{
		&closer{Slice(nil), &closed, nil}, &closer{Slice(nil), &closed, errInjected}, &closer{Slice(nil), &closed, nil},
	}
	if err := Merge(iters...).Close(); !errors.Is(err, errInjected) || closed != 3 {
		t.Fatalf("error %v, %d closed", err, closed)
	}
}

// closer counts in n how often it is closed.
type closer struct {
	Iterator
	n   *int
	err error
}

func (c *closer) Close() error { *c.n++; return c.err }

// counters returns n sources that share the keys 0, 1, 2, ... in turns of length
// burst.
func counters(n, burst, keys int) [][]Entry {
	parts := make([][]Entry, n)
	for i := range keys {
		p := i / burst % n
		user := binary.BigEndian.AppendUint64([]byte("user"), uint64(i))
		parts[p] = append(parts[p], Entry{key.Make(user, 1, key.Set), nil})
	}
	return parts
}

// TestMergeAllocations: moving takes no memory.
func TestMergeAllocations(t *testing.T) {
	it := merged(counters(5, 3, 5000), nil)
	k := counters(1, 1, 2000)[0][1999].Key
	it.SeekGE(k)
	for _, s := range []step{{"Next", k}, {"Prev", k}, {"SeekGE", k}, {"SeekLT", k}, {"First", k}, {"Last", k}} {
		it.SeekGE(k)
		if n := testing.AllocsPerRun(100, func() { s.do(it) }); n != 0 {
			t.Errorf("%s: %v allocations", s.op, n)
		}
	}
}

func benchmarkNext(b *testing.B, n, burst int) {
	it := merged(counters(n, burst, 100_000), nil)
	b.ReportAllocs()
	for b.Loop() {
		if !it.Valid() || !it.Next() {
			it.First()
		}
	}
}

func BenchmarkMergeNextAlternating5(b *testing.B) { benchmarkNext(b, 5, 1) }
func BenchmarkMergeNextBursts5(b *testing.B)      { benchmarkNext(b, 5, 100) }
func BenchmarkMergeNextAlternating2(b *testing.B) { benchmarkNext(b, 2, 1) }
