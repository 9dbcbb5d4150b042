package sstable

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/golang/snappy"

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

// The structures that FuzzDecode knows.
const (
	fuzzFile       = iota // all of a file
	fuzzPatches           // edits of a good file
	fuzzFooter            // the end of a good file
	fuzzBlock             // the data block of a table that has only one
	fuzzCompressed        // the same, compressed
	fuzzIndex
	fuzzProperties
	fuzzStructures
)

// FuzzDecode reads any bytes as the structure that its first argument chooses,
// under checksums that are right. For an index, user, dataLen and trailer are
// what is searched and what the index is about.
func FuzzDecode(f *testing.F) {
	good, _, _, _ := everyBlockKind(f)
	add := func(structure uint8, body []byte) { f.Add(structure, body, []byte("many"), uint64(0), uint64(0)) }
	add(fuzzFile, good)
	for _, name := range []string{"v1-snappy", "v1-classic", "v1-plain"} {
		data, err := os.ReadFile("testdata/" + name + ".sst")
		if err != nil {
			f.Fatal(err)
		}
		add(fuzzFile, data)
	}
	for off := range good {
		add(fuzzPatches, binary.LittleEndian.AppendUint16([]byte{0xff}, uint16(off)))
	}
	add(fuzzFooter, good[len(good)-footerLen:])
	w := blockWriter{interval: 2}
	for i, user := range []string{"", "apple", "many", "many", "manz"} {
		w.add([]byte(user), key.MakeTrailer(uint64(9-i), key.Set), []byte("value"), 0)
	}
	add(fuzzBlock, w.finish())
	add(fuzzCompressed, []byte{4, 12, 'a', 'b', 'c', 'd'})
	add(fuzzCompressed, snappy.Encode(nil, bytes.Repeat(w.finish(), 3)))
	var x indexWriter
	x.add([]byte("prefix-a"), 0, 100)
	x.add([]byte("prefix-many"), 5<<8, 100)
	x.add([]byte("prefix-many"), 3<<8, 100)
	x.add([]byte("prefix-z"), 0, 100)
	f.Add(uint8(fuzzIndex), x.encode(), []byte("prefix-many"), uint64(400), uint64(4<<8))
	add(fuzzIndex, []byte{0xff, 0xff, 0xff, 0x0f, 0})
	p := Properties{Entries: 3, MaxSeq: 9, Kinds: 3, Smallest: key.Make([]byte("a"), 1, key.Set), Largest: key.Make(nil, 2, key.Set), FilterBits: 10, Sum: 1 << 63}
	add(fuzzProperties, p.encode())

	f.Fuzz(func(t *testing.T, structure uint8, body, user []byte, dataLen, trailer uint64) {
		// Each of some dozens of walks may decode a block anew.
		allocates(t, 64<<20+uint64(len(body))*maxSnappyRatio*64, func() {
			switch structure % fuzzStructures {
			case fuzzFile:
				exercise(t, body)
			case fuzzPatches:
				exercise(t, patched(t, good, body))
			case fuzzFooter:
				table := slices.Clone(good)
				end := table[len(table)-footerLen:]
				copy(end[:footerLen-footerEndLen], body)
				reseal(end)
				exercise(t, table)
			case fuzzBlock, fuzzCompressed:
				if table := oneBlock(t, body, structure%fuzzStructures == fuzzCompressed); table != nil {
					exercise(t, table)
				}
			case fuzzIndex:
				checkIndex(t, body, dataLen, key.Internal{User: user, Trailer: key.Trailer(trailer)})
			case fuzzProperties:
				checkProperties(t, body)
			}
		})
	})
}

// patched is a good table with some bytes changed, and every checksum made right
// again. Three bytes of patches say what is changed, and where.
func patched(t *testing.T, good, patches []byte) []byte {
	t.Helper()
	r := openBytes(t, good, ReaderOptions{})
	blocks := []Handle{r.footer.filter, r.footer.index, r.footer.rangeDel, r.footer.properties}
	for i := range r.index.numBlocks() {
		blocks = append(blocks, r.index.handle(i))
	}
	table := slices.Clone(good)
	for ; len(patches) >= 3; patches = patches[3:] {
		off := int(binary.LittleEndian.Uint16(patches[1:])) % len(table)
		table[off] ^= patches[0]
	}
	id := binary.LittleEndian.Uint64(table[len(table)-footerLen+64:])
	for _, h := range blocks {
		restamp(table[h.Off:h.end()], id, h.Off)
	}
	reseal(table[len(table)-footerLen:])
	return table
}

// oneBlock is a table whose only data block has this body, compressed or not; nil
// if there can be none.
func oneBlock(t *testing.T, body []byte, compressed bool) []byte {
	t.Helper()
	mem := new(memFile)
	w := NewWriter(mem, WriterOptions{ID: testID})
	h, err := w.writeBlock(body, roleData, NoCompression)
	if err != nil || h.Len <= blockTrailerLen {
		return nil
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
	return mem.data
}

// checkIndex decodes any bytes as an index, and searches in what passes.
func checkIndex(t *testing.T, body []byte, dataLen uint64, target key.Internal) {
	var x *index
	var err error
	allocates(t, 1<<20+uint64(len(body))*32, func() { x, err = decodeIndex(body, dataLen) })
	if err != nil {
		return
	}
	i := x.find(target.User, target.Trailer)
	sep := func(i int) key.Internal { return key.Internal{User: x.separator(nil, i), Trailer: x.trailer(i)} }
	if i < x.numBlocks() && key.Compare(sep(i), target) < 0 {
		t.Fatalf("block %d, whose separator %v is before %v", i, sep(i), target)
	}
	if i > 0 && key.Compare(sep(i-1), target) >= 0 {
		t.Fatalf("block %d, though the separator %v before it is not before %v", i, sep(i-1), target)
	}
}

// checkProperties decodes any bytes; what passes is encoded and decoded again to
// the same.
func checkProperties(t *testing.T, body []byte) {
	p, err := decodeProperties(body)
	if err != nil {
		return
	}
	again, err := decodeProperties(p.encode())
	if err != nil || !bytes.Equal(again.encode(), p.encode()) {
		t.Fatalf("%+v became %+v (%v)", p, again, err)
	}
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
