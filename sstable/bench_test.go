package sstable

import (
	"encoding/binary"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/siftkv/sift/internal/cache"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

// The benchmarks use pairs of 16 + 100 bytes, values half compressible, in a
// real file that stays in the page cache.
const benchEntries = 500_000

func benchPair(buf []byte, r *rand.Rand, i int) (user, value []byte) {
	user = buf[:16]
	binary.BigEndian.PutUint64(user, uint64(i)*0x9e37)
	binary.BigEndian.PutUint64(user[8:], uint64(i))
	value = buf[16:116]
	for j := 0; j < 48; j += 8 {
		binary.LittleEndian.PutUint64(value[j:], r.Uint64())
	}
	return user, value
}

func benchTable(b *testing.B, o WriterOptions, c *cache.Cache) *Reader {
	b.Helper()
	name := filepath.Join(b.TempDir(), "t.sst")
	f, err := vfs.OS().Create(name)
	if err != nil {
		b.Fatal(err)
	}
	writeBench(b, f, o)
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	if f, err = vfs.OS().Open(name); err != nil {
		b.Fatal(err)
	}
	r, err := Open(f, ReaderOptions{Name: name, Cache: c})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { r.Close() })
	return r
}

func writeBench(b *testing.B, f vfs.File, o WriterOptions) {
	o.ID = testID
	w := NewWriter(f, o)
	r := rand.New(rand.NewPCG(1, 2))
	buf := make([]byte, 116)
	for i := range benchEntries {
		user, value := benchPair(buf, r, i)
		if err := w.Add(key.Make(user, uint64(i), key.Set), value); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil {
		b.Fatal(err)
	}
}

func benchGet(b *testing.B, o WriterOptions, capacity int64) {
	rd := benchTable(b, o, cache.New(capacity))
	r := rand.New(rand.NewPCG(3, 4))
	buf, dst := make([]byte, 116), make([]byte, 0, 128)
	fill := rand.New(rand.NewPCG(1, 2))
	get := func(i int) {
		user, _ := benchPair(buf, fill, i)
		if _, _, ok, err := rd.Get(dst, user, key.MaxSeq); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
	for i := 0; i < benchEntries; i += 10 {
		get(i)
	}
	b.ReportAllocs()
	for b.Loop() {
		get(r.IntN(benchEntries))
	}
}

func BenchmarkGetCached(b *testing.B)     { benchGet(b, WriterOptions{Compression: Snappy}, 256<<20) }
func BenchmarkGetWarmSnappy(b *testing.B) { benchGet(b, WriterOptions{Compression: Snappy}, 1<<20) }
func BenchmarkGetWarmNone(b *testing.B)   { benchGet(b, WriterOptions{}, 1<<20) }

func benchScan(b *testing.B, capacity int64, forward, compaction bool) {
	rd := benchTable(b, WriterOptions{Compression: Snappy}, cache.New(capacity))
	b.ReportAllocs()
	for b.Loop() {
		it := rd.NewIter()
		if compaction {
			it = rd.NewCompactionIter()
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
		if err := it.Close(); err != nil || n != benchEntries {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(b.N)*benchEntries/b.Elapsed().Seconds()/1e6, "Mentries/s")
}

func BenchmarkScanWarm(b *testing.B)       { benchScan(b, 1<<20, true, false) }
func BenchmarkScanCached(b *testing.B)     { benchScan(b, 256<<20, true, false) }
func BenchmarkScanBackward(b *testing.B)   { benchScan(b, 1<<20, false, false) }
func BenchmarkScanCompaction(b *testing.B) { benchScan(b, 1<<20, true, true) }

func BenchmarkSeek(b *testing.B) {
	rd := benchTable(b, WriterOptions{Compression: Snappy}, cache.New(256<<20))
	r := rand.New(rand.NewPCG(3, 4))
	fill := rand.New(rand.NewPCG(1, 2))
	buf := make([]byte, 116)
	it := rd.NewIter()
	defer it.Close()
	b.ReportAllocs()
	for b.Loop() {
		user, _ := benchPair(buf, fill, r.IntN(benchEntries))
		if !it.SeekGE(key.Seek(user, key.MaxSeq)) {
			b.Fatal("not found")
		}
	}
}

func benchWrite(b *testing.B, o WriterOptions) {
	name := filepath.Join(b.TempDir(), "t.sst")
	b.SetBytes(benchEntries * 116)
	b.ReportAllocs()
	for b.Loop() {
		f, err := vfs.OS().Create(name)
		if err != nil {
			b.Fatal(err)
		}
		writeBench(b, f, o)
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteSnappy(b *testing.B) {
	benchWrite(b, WriterOptions{Compression: Snappy, BitsPerKey: 10})
}
func BenchmarkWriteNone(b *testing.B) { benchWrite(b, WriterOptions{BitsPerKey: 10}) }

func BenchmarkOpen(b *testing.B) {
	data, info := func() ([]byte, Info) {
		fs := vfs.NewMem()
		f, _ := fs.Create("t")
		o := WriterOptions{ID: testID, Compression: Snappy, BitsPerKey: 10}
		w := NewWriter(f, o)
		r := rand.New(rand.NewPCG(1, 2))
		buf := make([]byte, 116)
		for i := range benchEntries {
			user, value := benchPair(buf, r, i)
			if err := w.Add(key.Make(user, uint64(i), key.Set), value); err != nil {
				b.Fatal(err)
			}
		}
		info, err := w.Finish()
		if err != nil {
			b.Fatal(err)
		}
		data := make([]byte, info.Size)
		if _, err := f.ReadAt(data, 0); err != nil {
			b.Fatal(err)
		}
		return data, info
	}()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Open(&bytesFile{data: data}, ReaderOptions{Filter: info.Filter}); err != nil {
			b.Fatal(err)
		}
	}
}

func benchBlock(b *testing.B) []byte {
	w := blockWriter{interval: DefaultRestartInterval}
	r := rand.New(rand.NewPCG(1, 2))
	buf := make([]byte, 116)
	var last []byte
	for i := 0; ; i++ {
		user, value := benchPair(buf, r, i)
		shared := key.CommonPrefix(last, user)
		if w.sizeWith(len(user), len(value), shared) > DefaultBlockSize {
			return w.finish()
		}
		w.add(user, key.MakeTrailer(uint64(i), key.Set), value, shared)
		last = append(last[:0], user...)
	}
}

func BenchmarkBlockForward(b *testing.B) {
	body := benchBlock(b)
	var it blockIter
	n := 0
	for b.Loop() {
		it.reset(body)
		for ok := it.first(); ok; ok = it.forward() {
			n++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/entry")
}

func BenchmarkBlockBackward(b *testing.B) {
	body := benchBlock(b)
	var it blockIter
	n := 0
	for b.Loop() {
		it.reset(body)
		for ok := it.last(); ok; ok = it.prev() {
			n++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/entry")
}

func BenchmarkBlockGet(b *testing.B) {
	body := benchBlock(b)
	parsed, _ := parseBlock(body)
	r := rand.New(rand.NewPCG(1, 2))
	buf := make([]byte, 116)
	for i := 0; b.Loop(); i++ {
		user, _ := benchPair(buf, r, i%30)
		if f, ok := parsed.get(user, key.SeekTrailer(key.MaxSeq)); !ok || !f.ok {
			b.Fatal(f, ok)
		}
	}
}
