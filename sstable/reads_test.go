package sstable

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/siftkv/sift/internal/cache"
	"github.com/siftkv/sift/internal/invariants"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

// manyBlocks returns the bytes of a table of about 200 blocks.
func manyBlocks(t testing.TB, o WriterOptions) ([]byte, Info, []entry) {
	var es []entry
	for i := range 8000 {
		es = append(es, set(fmt.Sprintf("key%06d", 2*i), 1, strings.Repeat("v", 80)))
	}
	data, info := tableFile(t, o, es)
	return data, info, es
}

// readsDuring returns the read calls that f makes.
func readsDuring(s *Stats, f func()) uint64 {
	before := s.Reads.Load()
	f()
	return s.Reads.Load() - before
}

// Open of a table that the manifest knows is one read of the tail without the
// filter; of an unknown table it is two at most.
func TestReadsOfOpen(t *testing.T) {
	data, info, _ := manyBlocks(t, WriterOptions{BitsPerKey: 10})
	for _, c := range []struct {
		o     ReaderOptions
		reads uint64
		bytes uint64
	}{
		{ReaderOptions{TailOff: int64(info.TailOff), Filter: info.Filter}, 1, info.Size - info.Filter.end()},
		{ReaderOptions{Filter: info.Filter}, 1, info.Size - info.Filter.end()},
		{ReaderOptions{TailOff: int64(info.TailOff)}, 1, info.Size - info.TailOff},
		{ReaderOptions{}, 1, tailGuess},
	} {
		c.o.Stats = new(Stats)
		openBytes(t, data, c.o)
		if reads, bytes := c.o.Stats.Reads.Load(), c.o.Stats.Bytes.Load(); reads != c.reads || bytes != c.bytes {
			t.Errorf("%+v: %d reads of %d bytes, want %d of %d", c.o, reads, bytes, c.reads, c.bytes)
		}
	}
	data, _, _ = manyBlocks(t, WriterOptions{BlockSize: 1})
	stats := new(Stats)
	openBytes(t, data, ReaderOptions{Stats: stats})
	if n := stats.Reads.Load(); n != 2 {
		t.Errorf("a tail larger than the guess took %d reads", n)
	}
}

// A lookup reads one block if the cache does not have it, present or absent; a
// key behind the last one reads nothing.
func TestReadsOfGet(t *testing.T) {
	data, _, es := manyBlocks(t, WriterOptions{})
	stats := new(Stats)
	for _, c := range []struct {
		capacity int64
		second   uint64
	}{{0, 1}, {64 << 20, 0}} {
		r := openBytes(t, data, ReaderOptions{Stats: stats, Cache: cache.New(c.capacity)})
		for i := 100; i < len(es); i += 100 {
			present, absent := es[i].k.User, fmt.Appendf(nil, "%sx", es[i].k.User)
			for round, want := range []uint64{1, c.second} {
				if n := readsDuring(stats, func() { checkGet(t, r, es, present, 1) }); n != want {
					t.Fatalf("capacity %d, round %d: %d reads for a present key", c.capacity, round, n)
				}
			}
			if n := readsDuring(stats, func() { checkGet(t, r, es, absent, 1) }); n > 1 || c.capacity == 0 && n == 0 {
				t.Fatalf("capacity %d: %d reads for an absent key", c.capacity, n)
			}
		}
		if n := readsDuring(stats, func() { checkGet(t, r, es, []byte("kez"), 1) }); n != 0 {
			t.Errorf("%d reads for a key behind the last one", n)
		}
	}
}

// A scan reads ahead in spans that grow, backward too, and a short one does
// not read ahead at all.
func TestReadsOfScans(t *testing.T) {
	data, info, es := manyBlocks(t, WriterOptions{})
	spans := (info.TailOff + maxSpan - 1) / maxSpan
	stats := new(Stats)
	r := openBytes(t, data, ReaderOptions{Stats: stats})
	scan := func(compaction, forward bool) func() {
		return func() {
			it := r.NewIter()
			if compaction {
				it = r.NewCompactionIter()
			}
			n := 0
			if forward {
				for ok := it.First(); ok; ok = it.Next() {
					n++
				}
			} else {
				for ok := it.Last(); ok; ok = it.Prev() {
					n++
				}
			}
			if err := it.Close(); err != nil || n != len(es) {
				t.Fatalf("%d entries, %v", n, err)
			}
		}
	}
	for _, forward := range []bool{true, false} {
		if n := readsDuring(stats, scan(true, forward)); n > spans+1 {
			t.Errorf("compaction scan, forward %v: %d reads for %d spans", forward, n, spans)
		}
		// Two single blocks, then spans of 16, 32, 64, 128 KiB.
		if n := readsDuring(stats, scan(false, forward)); n > spans+2+4+1 {
			t.Errorf("scan, forward %v: %d reads for %d spans", forward, n, spans)
		}
	}
	fromSecondBlock := func() {
		it := r.NewIter()
		defer it.Close()
		k := key.Seek(append(r.index.separator(nil, 0), 0), 0)
		for ok := it.SeekGE(k); ok; ok = it.Next() {
		}
	}
	if n := readsDuring(stats, fromSecondBlock); n > spans+2+4+2 {
		t.Errorf("scan from the second block: %d reads for %d spans", n, spans)
	}
	short := func() {
		it := r.NewIter()
		defer it.Close()
		it.SeekGE(es[1000].k)
		for range 50 {
			it.Next()
		}
	}
	before := stats.Bytes.Load()
	if n := readsDuring(stats, short); n > 3 || stats.Bytes.Load()-before > 3*DefaultBlockSize {
		t.Errorf("seek and 50 entries: %d reads of %d bytes", n, stats.Bytes.Load()-before)
	}
}

// A walk over blocks of which the cache holds every other one still reads
// ahead.
func TestReadAheadBesideACacheThatHoldsSomeBlocks(t *testing.T) {
	data, info, es := manyBlocks(t, WriterOptions{})
	stats := new(Stats)
	r := openBytes(t, data, ReaderOptions{Stats: stats, Cache: cache.New(64 << 20)})
	for i := 0; i < r.index.numBlocks(); i += 2 {
		b, err := r.block(i)
		if err != nil {
			t.Fatal(err)
		}
		b.Release()
	}
	n := readsDuring(stats, func() {
		it := r.NewIter()
		defer it.Close()
		for ok := it.First(); ok; ok = it.Next() {
		}
	})
	if limit := info.TailOff/maxSpan + 8; n > limit {
		t.Errorf("%d reads, want at most %d", n, limit)
	}
	checkGet(t, r, es, es[0].k.User, 1)
}

// What Stats counts is what the file system sees.
func TestStatsEqualReadCalls(t *testing.T) {
	data, _, es := manyBlocks(t, WriterOptions{Compression: Snappy, BitsPerKey: 10})
	calls := uint64(0)
	f := &bytesFile{data: data, onRead: func(int64) error { calls++; return nil }}
	stats := new(Stats)
	r, err := Open(f, ReaderOptions{Stats: stats})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(es); i += 50 {
		checkGet(t, r, es, es[i].k.User, 1)
	}
	if err := r.Verify(); err != nil {
		t.Fatal(err)
	}
	if n := stats.Reads.Load(); n != calls {
		t.Errorf("counted %d reads, the file saw %d", n, calls)
	}
}

// plainFile reads without the allocations of a bytes.Reader.
type plainFile struct {
	vfs.File
	data []byte
}

func (f *plainFile) ReadAt(p []byte, off int64) (int, error) { return copy(p, f.data[off:]), nil }
func (f *plainFile) Size() (int64, error)                    { return int64(len(f.data)), nil }
func (f *plainFile) Close() error                            { return nil }

// Get allocates nothing when dst has room: from the cache, from the file with a
// cache that evicts, and without a cache; for present and absent keys.
func TestGetDoesNotAllocate(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the race detector allocates by itself")
	}
	for _, compression := range []Compression{NoCompression, Snappy} {
		data, _, es := manyBlocks(t, WriterOptions{Compression: compression})
		for _, capacity := range []int64{0, 100 << 10, 64 << 20} {
			r, err := Open(&plainFile{data: data}, ReaderOptions{Cache: cache.New(capacity)})
			if err != nil {
				t.Fatal(err)
			}
			dst, absent, i := make([]byte, 0, 100), []byte("key00000"), 0
			get := func() {
				i = (i + 997) % len(es)
				v, _, ok, err := r.Get(dst, es[i].k.User, key.MaxSeq)
				if !ok || err != nil || len(v) != len(es[i].v) {
					t.Fatal(ok, err)
				}
				if _, _, ok, err := r.Get(dst, absent, key.MaxSeq); ok || err != nil {
					t.Fatal(ok, err)
				}
			}
			for range es {
				get()
			}
			if n := testing.AllocsPerRun(2000, get); n != 0 {
				t.Errorf("%v, cache of %d bytes: %v allocations a lookup", compression, capacity, n)
			}
		}
	}
}

// An iterator's steps and seeks allocate nothing once its buffers have grown.
func TestIteratorStepsDoNotAllocate(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the race detector allocates by itself")
	}
	data, _, es := manyBlocks(t, WriterOptions{Compression: Snappy})
	r, err := Open(&plainFile{data: data}, ReaderOptions{Cache: cache.New(200 << 10)})
	if err != nil {
		t.Fatal(err)
	}
	it := r.NewIter()
	defer it.Close()
	i := 0
	walk := func() {
		i = (i + 997) % (len(es) - 300)
		if !it.SeekGE(es[i].k) {
			t.Fatal(it.Error())
		}
		for range 200 {
			it.Next()
		}
		for range 150 {
			it.Prev()
		}
	}
	for range 100 {
		walk()
	}
	if n := testing.AllocsPerRun(200, walk); n > 0 {
		t.Errorf("%v allocations a walk", n)
	}
}

// One interval is decoded once for a walk backward through it, however long.
func TestPrevDecodesEachIntervalOnce(t *testing.T) {
	w := blockWriter{interval: MaxRestartInterval}
	const n = 5000
	for i := range n {
		user := fmt.Appendf(nil, "key%06d", i)
		w.add(user, 1, nil, min(i, 3))
	}
	var it blockIter
	it.reset(w.finish())
	decodes, entries, passed := 0, 0, 0
	for ok := it.last(); ok; ok = it.prev() {
		if len(it.passed) > passed {
			decodes++
		}
		passed = len(it.passed)
		entries++
	}
	if intervals := (n + MaxRestartInterval - 1) / MaxRestartInterval; entries != n || decodes != intervals {
		t.Errorf("%d entries, %d decodes for %d intervals", entries, decodes, intervals)
	}
}

// Keys of 64 KiB that share nearly everything: what a walk backward keeps is
// bounded by the block, not by its keys written out.
func TestPrevKeepsNoWholeKeys(t *testing.T) {
	w := blockWriter{interval: MaxRestartInterval}
	user := []byte(strings.Repeat("k", key.MaxKeyLen-2) + "  ")
	for i := range 1000 {
		user[key.MaxKeyLen-2], user[key.MaxKeyLen-1] = byte(i>>8), byte(i)
		w.add(user, 1, nil, min(i, 1)*(key.MaxKeyLen-2))
	}
	var it blockIter
	body := w.finish()
	it.reset(body)
	n := 0
	for ok := it.last(); ok; ok = it.prev() {
		n++
	}
	if n != 1000 || cap(it.undo) > len(body) {
		t.Errorf("%d entries, %d bytes kept for a block of %d", n, cap(it.undo), len(body))
	}
}

// Readers and iterators side by side over one small cache.
func TestConcurrentReaders(t *testing.T) {
	data, _, es := manyBlocks(t, WriterOptions{Compression: Snappy})
	r := openBytes(t, data, ReaderOptions{Cache: cache.New(100 << 10)})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := g; i < len(es); i += 37 {
				checkGet(t, r, es, es[i].k.User, key.MaxSeq)
			}
			it := r.NewIter()
			defer it.Close()
			i := 0
			for ok := it.First(); ok; ok = it.Next() {
				checkAt(t, it, ok, es, i, "Next")
				i++
			}
		})
	}
	wg.Wait()
	if m := r.cache.Metrics(); m.Used != m.Blocks {
		t.Errorf("blocks leaked: %+v", m)
	}
}

// Tables share a cache by id, whatever their files are called.
func TestTablesOfOneNameShareACache(t *testing.T) {
	c := cache.New(1 << 20)
	for round := range 50 {
		es := []entry{set("k", 1, fmt.Sprintf("round %d", round))}
		data, _ := tableFile(t, WriterOptions{ID: uint64(round + 1)}, es)
		r := openBytes(t, data, ReaderOptions{Cache: c})
		checkGet(t, r, es, []byte("k"), 1)
		checkGet(t, r, es, []byte("k"), 1)
	}
}
