package sstable

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"slices"
	"testing"

	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/key"
)

// exercise calls everything that decodes a table, whatever it returns. A panic,
// an endless walk or memory out of proportion is the fault that fuzzing looks
// for; wrong data under right checksums is not.
func exercise(t *testing.T, data []byte) {
	r, err := Open(&bytesFile{data: data}, ReaderOptions{Name: "fuzz"})
	if err != nil {
		return
	}
	targets := [][]byte{nil, {0}, []byte("apple"), []byte("many"), {0xff, 0xff}}
	for i := range min(r.index.numBlocks(), 4) {
		targets = append(targets, r.index.separator(nil, i))
	}
	its := []iterator.Iterator{r.NewIter(), r.NewCompactionIter()}
	if it := r.NewRangeDelIter(); it != nil {
		its = append(its, it)
	}
	for _, it := range its {
		for ok := it.First(); ok; ok = it.Next() {
		}
		for ok := it.Last(); ok; ok = it.Prev() {
		}
		for _, user := range targets {
			if it.SeekGE(key.Seek(user, key.MaxSeq)) {
				it.Prev()
			}
			if it.SeekLT(key.Seek(user, 0)) {
				it.Next()
			}
		}
		it.Close()
	}
	for _, user := range targets {
		if _, _, _, err := r.Get(nil, user, 5); err != nil && err.Error() == "" {
			t.Fatal("an error without a text")
		}
	}
	_ = r.Verify()
	if m := r.cache.Metrics(); m.Used != 0 {
		t.Fatalf("%d blocks leaked", m.Used)
	}
}

// allocates fails the test if f allocates more than limit bytes in all.
func allocates(t *testing.T, limit uint64, f func()) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > limit {
		t.Fatalf("%d bytes allocated, the limit is %d", n, limit)
	}
}

// patch is one edit that the fuzzer makes: three bytes say where and what.
const patchLen = 3

// FuzzPatchedTable edits bytes of a good table and then makes every checksum
// right again, so that the edits reach the decoders.
func FuzzPatchedTable(f *testing.F) {
	data, _, _, _ := everyBlockKind(f)
	r := openBytes(f, data, ReaderOptions{})
	f.Add([]byte{})
	for off := range data {
		f.Add(binary.LittleEndian.AppendUint16([]byte{0xff}, uint16(off)))
	}
	blocks := []Handle{r.footer.filter, r.footer.index, r.footer.rangeDel, r.footer.properties}
	for i := range r.index.numBlocks() {
		blocks = append(blocks, r.index.handle(i))
	}
	f.Fuzz(func(t *testing.T, patches []byte) {
		table := slices.Clone(data)
		for ; len(patches) >= patchLen; patches = patches[patchLen:] {
			off := int(binary.LittleEndian.Uint16(patches[1:])) % len(table)
			table[off] ^= patches[0]
		}
		id := binary.LittleEndian.Uint64(table[len(table)-footerLen+64:])
		for _, h := range blocks {
			restamp(table[h.Off:h.end()], id, h.Off)
		}
		reseal(table[len(table)-footerLen:])
		exercise(t, table)
	})
}

// FuzzBlock reads any bytes as the only data block of a table.
func FuzzBlock(f *testing.F) {
	w := blockWriter{interval: 2}
	for i, user := range []string{"", "apple", "many", "many", "manz"} {
		w.add([]byte(user), key.MakeTrailer(uint64(9-i), key.Set), []byte("value"), 0)
	}
	f.Add(w.finish(), false)
	f.Add([]byte{4, 12, 'a', 'b', 'c', 'd'}, true)
	f.Fuzz(func(t *testing.T, body []byte, compressed bool) {
		mem := new(memFile)
		w := NewWriter(mem, WriterOptions{ID: testID})
		h, err := w.writeBlock(body, roleData, NoCompression)
		if err != nil || h.Len <= blockTrailerLen {
			return
		}
		if compressed {
			mem, w = new(memFile), NewWriter(mem, WriterOptions{ID: testID})
			w.f, w.out = mem, append(w.out, body...)
			w.out = append(w.out, blockType(roleData, Snappy))
			w.out = binary.LittleEndian.AppendUint32(w.out, blockCheck(w.out, testID, 0))
			w.off = h.Len
		}
		w.index.add([]byte("zzz"), 0, h.Len)
		if _, err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		// Each of the walks may decode the block anew.
		allocates(t, 64<<20+uint64(len(body))*maxSnappyRatio*64, func() { exercise(t, mem.data) })
	})
}

// FuzzIndex decodes any bytes as an index, and searches in what passes.
func FuzzIndex(f *testing.F) {
	var w indexWriter
	w.add([]byte("prefix-a"), 0, 100)
	w.add([]byte("prefix-many"), 5<<8, 100)
	w.add([]byte("prefix-many"), 3<<8, 100)
	w.add([]byte("prefix-z"), 0, 100)
	f.Add(w.encode(), uint64(400), []byte("prefix-many"), uint64(4<<8))
	f.Add([]byte{0xff, 0xff, 0xff, 0x0f, 0}, uint64(0), []byte{}, uint64(0))
	f.Fuzz(func(t *testing.T, body []byte, dataLen uint64, user []byte, trailer uint64) {
		var x *index
		var err error
		allocates(t, 1<<20+uint64(len(body))*32, func() { x, err = decodeIndex(body, dataLen) })
		if err != nil {
			return
		}
		i := x.find(user, key.Trailer(trailer))
		target := key.Internal{User: user, Trailer: key.Trailer(trailer)}
		sep := func(i int) key.Internal { return key.Internal{User: x.separator(nil, i), Trailer: x.trailer(i)} }
		if i < x.numBlocks() && key.Compare(sep(i), target) < 0 {
			t.Fatalf("block %d, whose separator %v is before %v", i, sep(i), target)
		}
		if i > 0 && key.Compare(sep(i-1), target) >= 0 {
			t.Fatalf("block %d, though the separator %v before it is not before %v", i, sep(i-1), target)
		}
	})
}

// FuzzProperties decodes any bytes; what passes is encoded and decoded again to
// the same.
func FuzzProperties(f *testing.F) {
	p := Properties{Entries: 3, MaxSeq: 9, Kinds: 3, Smallest: key.Make([]byte("a"), 1, key.Set), Largest: key.Make(nil, 2, key.Set), FilterBits: 10, Sum: 1 << 63}
	f.Add(p.encode())
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := decodeProperties(body)
		if err != nil {
			return
		}
		again, err := decodeProperties(p.encode())
		if err != nil || !bytes.Equal(again.encode(), p.encode()) {
			t.Fatalf("%+v became %+v (%v)", p, again, err)
		}
	})
}

// FuzzOpen opens any bytes.
func FuzzOpen(f *testing.F) {
	data, _, _, _ := everyBlockKind(f)
	f.Add(data)
	f.Add(data[len(data)-footerLen:])
	f.Fuzz(func(t *testing.T, data []byte) { exercise(t, data) })
}

// FuzzRoundTrip writes what it is told and reads it back.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("apple\x00banana\x00band\x00"), uint16(20), uint8(2), true)
	f.Fuzz(func(t *testing.T, keys []byte, blockSize uint16, interval uint8, compress bool) {
		var es []entry
		for i, user := range bytes.Split(keys, []byte{0}) {
			es = append(es, entry{key.Make(user, uint64(i%5), key.Kind(i%2)), bytes.Repeat(user, i%3)})
		}
		if len(es) > 200 {
			return
		}
		o := WriterOptions{BlockSize: int(blockSize), RestartInterval: int(interval)}
		if compress {
			o.Compression = Snappy
		}
		es = sorted(es)
		checkTable(t, buildTable(t, o, es), es)
	})
}
