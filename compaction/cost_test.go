package compaction

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
	"github.com/siftkv/sift/sstable"
)

// discard is a sink that keeps nothing.
type discard struct{}

func (discard) add(key.Internal, []byte, bool) error { return nil }

// The decisions about an entry allocate nothing, whatever becomes of it.
func TestSurvivorsDoNotAllocate(t *testing.T) {
	var entries []iterator.Entry
	for i := range 1000 {
		kinds := []key.Kind{key.Set, key.Set, key.Delete, key.Delete, key.Merge}
		entries = append(entries, history(fmt.Sprintf("k%06d", i), kinds[:i%6])...)
	}
	in := iterator.Slice(entries)
	s := &survivors{snapshots: []uint64{2, 4}}
	if n := testing.AllocsPerRun(10, func() {
		if err := s.run(context.Background(), in, in.First(), discard{}); err != nil {
			t.Fatal(err)
		}
	}); n > 1 {
		t.Errorf("%v allocations for %d entries", n, len(entries))
	}
}

// fourRuns is a database with four overlapping tables of n entries on level 0.
func fourRuns(t testing.TB, fs vfs.FS, n int) *testDB {
	d := newTestDB(t, fs, Options{})
	r := rand.New(rand.NewPCG(1, 1))
	value := make([]byte, 100)
	for run := range 4 {
		var entries []iterator.Entry
		for i := range n {
			for j := range value[:50] {
				value[j] = byte(r.Uint32())
			}
			e := entry(fmt.Sprintf("user%012d", 4*i+r.IntN(4)), uint64(run*n+i), key.Set, string(value))
			entries = append(entries, e)
		}
		r, err := Flush(context.Background(), benchEnv(d), d.v, iterator.Slice(entries))
		if err != nil {
			t.Fatal(err)
		}
		d.install(0, r.Outputs)
	}
	return d
}

func benchEnv(d *testDB) *Env {
	env := d.env(1)
	env.Writer = func(int) sstable.WriterOptions {
		return sstable.WriterOptions{Compression: sstable.Snappy, BitsPerKey: 10}
	}
	return env
}

// A whole job allocates for its tables and blocks, not for its entries.
func TestRunAllocatesLittle(t *testing.T) {
	const n = 5000
	d := fourRuns(t, vfs.NewMem(), n)
	j := jobOf(d)
	allocs := testing.AllocsPerRun(3, func() {
		if _, err := Run(context.Background(), benchEnv(d), j); err != nil {
			t.Fatal(err)
		}
	})
	if perEntry := allocs / (4 * n); perEntry > 0.05 {
		t.Errorf("%.3f allocations an entry, %v in all", perEntry, allocs)
	}
}

// BenchmarkRun merges four tables of 16-byte keys and 100-byte values, half
// compressible, with the syncs that a job needs; BenchmarkFlush writes one.
func BenchmarkRun(b *testing.B) {
	const n = 25_000
	b.Chdir(b.TempDir())
	d := fourRuns(b, vfs.OS(), n)
	j := jobOf(d)
	b.ReportAllocs()
	for b.Loop() {
		r, err := Run(context.Background(), benchEnv(d), j)
		if err != nil {
			b.Fatal(err)
		}
		removeAll(b, d, r)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*4*n), "ns/entry")
}

func BenchmarkFlush(b *testing.B) {
	const n = 25_000
	entries := fourRuns(b, vfs.NewMem(), n).entries()
	b.Chdir(b.TempDir())
	d := newTestDB(b, vfs.OS(), Options{})
	b.ReportAllocs()
	for b.Loop() {
		r, err := Flush(context.Background(), benchEnv(d), d.v, iterator.Slice(entries))
		if err != nil {
			b.Fatal(err)
		}
		removeAll(b, d, r)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(entries)), "ns/entry")
}

func removeAll(t testing.TB, d *testDB, r Result) {
	out := output{env: d.env(1)}
	for _, m := range r.Outputs {
		out.nums = append(out.nums, m.Num)
	}
	if err := out.discard(); err != nil {
		t.Fatal(err)
	}
}
