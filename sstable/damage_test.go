package sstable

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/siftkv/sift/internal/cache"
	"github.com/siftkv/sift/internal/coding"
	"github.com/siftkv/sift/internal/key"
)

// everyBlockKind returns a table that has every kind of block and separator in
// few bytes: data blocks compressed and not, versions that span blocks, a
// filter, an index, range deletions, properties.
func everyBlockKind(t testing.TB) (data []byte, info Info, es, ranges []entry) {
	es = sorted([]entry{
		set("apple", 9, strings.Repeat("red", 30)), set("apple", 4, "green"), del("apple", 2),
		set("many", 12, "incompressible: 9f8e"), set("many", 11, strings.Repeat("x", 60)), set("many", 10, "q"),
		set("", 1, ""), set("pear", 3, "yellow"), set("plum", 3, ""), del("zoo", 7),
	})
	ranges = []entry{{key.Make([]byte("b"), 8, key.RangeDelete), []byte("k")}}
	o := WriterOptions{BlockSize: 64, RestartInterval: 2, Compression: Snappy, BitsPerKey: 10}
	data, info = tableFile(t, o, slices.Concat(es, ranges))
	types := map[byte]bool{}
	r := openBytes(t, data, ReaderOptions{})
	for i := range r.index.numBlocks() {
		types[data[r.index.handle(i).end()-blockTrailerLen]] = true
	}
	if len(types) != 2 || r.index.trailers == nil || info.Filter.Len == 0 || r.rangeDel == nil {
		t.Fatalf("the table lacks a kind of block: types %v, info %+v", types, info)
	}
	return data, info, es, ranges
}

// typed reports whether err is an error that damage may cause.
func typed(err error) bool {
	var c *key.CorruptionError
	return errors.As(err, &c) && c.File == "000007.sst" || errors.Is(err, key.ErrVersion)
}

// readDamaged reads everything from a table that may be damaged. It fails the
// test unless each answer is a typed error or exactly right, and returns
// whether any call reported damage.
func readDamaged(t *testing.T, what string, data []byte, o ReaderOptions, es, ranges []entry) (noticed bool) {
	t.Helper()
	notice := func(err error) {
		noticed = true
		if !typed(err) {
			t.Fatalf("%s: untyped error %v", what, err)
		}
	}
	o.Name = "dir/000007.sst"
	r, err := Open(&bytesFile{data: data}, o)
	if err != nil {
		notice(err)
		return true
	}
	for _, e := range es {
		v, trailer, ok, err := r.Get(nil, e.k.User, e.k.Trailer.Seq())
		switch {
		case err != nil:
			notice(err)
		case !ok || trailer != e.k.Trailer || !bytes.Equal(v, e.v):
			t.Fatalf("%s: Get %v returned %q, %v, %v", what, e, v, trailer, ok)
		}
	}
	for _, absent := range []string{"aaa", "applf", "q", "zzz"} {
		if _, _, ok, err := r.Get(nil, []byte(absent), key.MaxSeq); err != nil {
			notice(err)
		} else if ok {
			t.Fatalf("%s: Get found %q", what, absent)
		}
	}
	forward := r.NewIter()
	i := 0
	for ok := forward.First(); ok; ok = forward.Next() {
		checkAt(t, forward, ok, es, i, what+": Next")
		i++
	}
	if err := forward.Close(); err != nil {
		notice(err)
	} else if i != len(es) {
		t.Fatalf("%s: a scan ended after %d of %d entries without an error", what, i, len(es))
	}
	backward := r.NewCompactionIter()
	i = len(es)
	for ok := backward.Last(); ok; ok = backward.Prev() {
		i--
		checkAt(t, backward, ok, es, i, what+": Prev")
	}
	if err := backward.Close(); err != nil {
		notice(err)
	} else if i != 0 {
		t.Fatalf("%s: a scan backward ended before entry %d without an error", what, i)
	}
	if it := r.NewRangeDelIter(); it == nil {
		t.Fatalf("%s: range deletions are gone", what)
	} else {
		checkAt(t, it, it.First(), ranges, 0, what+": range deletions")
	}
	if err := r.Verify(); err != nil {
		notice(err)
	}
	return noticed
}

// Every bit of a table with every kind of block, flipped: each answer is right
// or a typed error, and as the format has no padding, Verify notices each flip.
func TestEveryBitFlipIsNoticed(t *testing.T) {
	data, info, es, ranges := everyBlockKind(t)
	known := ReaderOptions{ID: testID, Size: int64(info.Size), TailOff: int64(info.TailOff), Filter: info.Filter}
	for _, o := range []ReaderOptions{{}, known} {
		for bit := range 8 * len(data) {
			damaged := slices.Clone(data)
			damaged[bit/8] ^= 1 << (bit % 8)
			what := fmt.Sprintf("bit %d of byte %d of %d flipped", bit%8, bit/8, len(data))
			if !readDamaged(t, what, damaged, o, es, ranges) {
				t.Fatalf("%s: nothing noticed it", what)
			}
		}
	}
}

// A damaged filter is never handed out, so it cannot deny a stored key.
func TestEveryBitFlipInTheFilterIsNoticed(t *testing.T) {
	data, info, _, _ := everyBlockKind(t)
	stats := new(Stats)
	got, err := ReadFilter(&bytesFile{data: data}, "000007.sst", testID, info.Filter, stats)
	if err != nil || !bytes.Equal(got, info.FilterData) {
		t.Fatalf("filter read back: %v, equal to the one written: %v", err, bytes.Equal(got, info.FilterData))
	}
	if stats.Reads.Load() != 1 || stats.Bytes.Load() != info.Filter.Len {
		t.Errorf("%d reads of %d bytes were counted", stats.Reads.Load(), stats.Bytes.Load())
	}
	for bit := 8 * info.Filter.Off; bit < 8*info.Filter.end(); bit++ {
		damaged := slices.Clone(data)
		damaged[bit/8] ^= 1 << (bit % 8)
		if _, err := ReadFilter(&bytesFile{data: damaged}, "000007.sst", testID, info.Filter, nil); !typed(err) {
			t.Fatalf("bit %d flipped: error %v", bit, err)
		}
	}
	for _, h := range []Handle{{}, {0, 5}, {info.Filter.Off, 1 << 62}, {1 << 62, 100}, {^uint64(0), 10}, {0, info.Size}, {info.Filter.Off + 1, info.Filter.Len}} {
		if _, err := ReadFilter(&bytesFile{data: data}, "000007.sst", testID, h, nil); !typed(err) {
			t.Errorf("handle %+v: error %v", h, err)
		}
	}
	if _, err := ReadFilter(&bytesFile{data: data}, "000007.sst", testID+1, info.Filter, nil); !typed(err) {
		t.Errorf("another table's id: error %v", err)
	}
}

func TestTruncatedZeroedAndLengthenedTables(t *testing.T) {
	data, info, es, ranges := everyBlockKind(t)
	for _, o := range []ReaderOptions{{}, {ID: testID, Size: int64(info.Size), TailOff: int64(info.TailOff)}} {
		for n := range data {
			if !readDamaged(t, fmt.Sprintf("cut to %d bytes", n), data[:n], o, es, ranges) {
				t.Fatalf("cut to %d bytes: nothing noticed it", n)
			}
		}
		for _, n := range []int{1, 4096} {
			longer := append(slices.Clone(data), make([]byte, n)...)
			if !readDamaged(t, fmt.Sprintf("%d bytes appended", n), longer, o, es, ranges) {
				t.Fatalf("%d bytes appended: nothing noticed it", n)
			}
		}
		for at := 0; at < len(data); at += 64 {
			zeroed := slices.Clone(data)
			clear(zeroed[at:min(at+64, len(data))])
			if !readDamaged(t, fmt.Sprintf("64 bytes at %d zeroed", at), zeroed, o, es, ranges) {
				t.Fatalf("64 bytes at %d zeroed: nothing noticed it", at)
			}
		}
	}
}

// restamp gives the block that was moved to off the check that it would have if
// it had been written there for the table with this id.
func restamp(block []byte, id, off uint64) {
	n := len(block) - 4
	binary.LittleEndian.PutUint32(block[n:], blockCheck(block[:n], id, off))
}

// Blocks of equal length that changed places, and a block of another table, are
// found by the stamp, though each has its own checksum right.
func TestMisplacedBlocksAreNoticed(t *testing.T) {
	var es, other []entry
	for i := range 4 {
		es = append(es, set(fmt.Sprintf("key%d", i), 1, fmt.Sprintf("value%d", i)))
		other = append(other, set(fmt.Sprintf("key%d", i), 1, fmt.Sprintf("other%d", i)))
	}
	data, _ := tableFile(t, WriterOptions{BlockSize: 1}, es)
	r := openBytes(t, data, ReaderOptions{})
	h := func(i int) []byte { b := r.index.handle(i); return data[b.Off:b.end()] }
	a, b := slices.Clone(h(1)), slices.Clone(h(2))
	copy(h(1), b)
	copy(h(2), a)
	for i, want := range []bool{true, false, false, true} {
		_, _, ok, err := r.Get(nil, es[i].k.User, 1)
		if ok != want || ok != (err == nil) || err != nil && !typed(err) {
			t.Errorf("blocks 1 and 2 swapped: Get %v: %v, %v", es[i], ok, err)
		}
	}
	copy(h(1), a)
	copy(h(2), b)
	otherData, _ := tableFile(t, WriterOptions{BlockSize: 1, ID: testID + 1}, other)
	copy(h(1), otherData[r.index.handle(1).Off:])
	if _, _, _, err := r.Get(nil, es[1].k.User, 1); !typed(err) {
		t.Errorf("block of another table: error %v", err)
	}
	restamp(h(1), testID, r.index.handle(1).Off)
	if v, _, ok, err := r.Get(nil, es[1].k.User, 1); string(v) != "other1" || !ok || err != nil {
		t.Errorf("a block that was stamped anew: %q, %v, %v", v, ok, err)
	}
}

// What the manifest recorded must be what the file says.
func TestOpenRefusesAnotherTable(t *testing.T) {
	data, info, _, _ := everyBlockKind(t)
	for what, o := range map[string]ReaderOptions{
		"id":             {ID: testID + 1},
		"size":           {Size: int64(info.Size) - 1},
		"tail offset":    {TailOff: int64(info.TailOff) + 1},
		"far tail":       {TailOff: 1 << 60},
		"near tail":      {TailOff: 1},
		"filter offset":  {Filter: Handle{info.Filter.Off + 1, info.Filter.Len}},
		"filter length":  {Filter: Handle{info.Filter.Off, info.Filter.Len - 1}},
		"filter beyond":  {Filter: Handle{1 << 60, 1}},
		"filter wrapped": {Filter: Handle{1 << 63, 1 << 63}},
	} {
		o.Name = "000007.sst"
		if _, err := Open(&bytesFile{data: data}, o); !typed(err) {
			t.Errorf("%s differs: error %v", what, err)
		}
	}
}

// reseal recomputes a footer's check.
func reseal(footer []byte) {
	n := len(footer) - 12
	binary.LittleEndian.PutUint32(footer[n:], coding.CRC(footer[:n]))
}

// A newer format is told from damage, whatever else the newer footer holds.
func TestNewerFormatIsNotCorruption(t *testing.T) {
	data, _, _, _ := everyBlockKind(t)
	open := func(data []byte) error {
		_, err := Open(&bytesFile{data: data}, ReaderOptions{Name: "000007.sst"})
		return err
	}
	newer := slices.Clone(data)
	footer := newer[len(newer)-footerLen:]
	binary.LittleEndian.PutUint16(footer[80:], formatVersion+1)
	reseal(footer)
	if err := open(newer); !errors.Is(err, key.ErrVersion) || errors.Is(err, key.ErrCorrupt) {
		t.Errorf("newer version: error %v", err)
	}
	longer := append(bytes.Repeat([]byte{7}, 60), footer[80:]...)
	binary.LittleEndian.PutUint16(longer[62:], uint16(len(longer)))
	reseal(longer)
	if err := open(append(data, longer...)); !errors.Is(err, key.ErrVersion) {
		t.Errorf("newer version with a footer of another length: error %v", err)
	}
}

// An unknown compression, entry kind or property is a newer format's.
func TestUnknownParts(t *testing.T) {
	es := []entry{set("k", 1, "v")}
	data, _ := tableFile(t, WriterOptions{}, es)
	r := openBytes(t, data, ReaderOptions{})
	h := r.index.handle(0)
	block := data[h.Off:h.end()]
	block[len(block)-blockTrailerLen] |= 0x0f
	restamp(block, testID, h.Off)
	if _, _, _, err := r.Get(nil, []byte("k"), 1); !errors.Is(err, key.ErrVersion) {
		t.Errorf("unknown compression: error %v", err)
	}
	block[len(block)-blockTrailerLen] = blockType(roleIndex, NoCompression)
	restamp(block, testID, h.Off)
	if _, _, _, err := r.Get(nil, []byte("k"), 1); !errors.Is(err, key.ErrCorrupt) {
		t.Errorf("block of another role: error %v", err)
	}

	p := Properties{Entries: 1, Kinds: 1 << 40}
	if got, err := decodeProperties(p.encode()); err != nil || got.Kinds != p.Kinds {
		t.Errorf("properties with an unknown kind: %+v, %v", got, err)
	}
	unknownTag := append(p.encode(), 100, 3, 'x', 'y', 'z')
	if got, err := decodeProperties(unknownTag); err != nil || got.Entries != 1 {
		t.Errorf("properties with an unknown tag: %+v, %v", got, err)
	}
}

func TestTableWithUnknownKindsIsOfANewerFormat(t *testing.T) {
	file := new(memFile)
	w := NewWriter(file, WriterOptions{ID: testID})
	if err := w.Add(key.Make([]byte("k"), 1, key.Set), nil); err != nil {
		t.Fatal(err)
	}
	w.props.Kinds |= 1 << 9
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(&bytesFile{data: file.data}, ReaderOptions{}); !errors.Is(err, key.ErrVersion) {
		t.Errorf("error %v", err)
	}
}

// An iterator that met an error stays in error; positioned anew in a healthy
// range, it serves that range.
func TestIteratorStaysInError(t *testing.T) {
	var es []entry
	for i := range 50 {
		es = append(es, set(fmt.Sprintf("key%02d", i), 1, fmt.Sprint(i)))
	}
	data, _ := tableFile(t, WriterOptions{BlockSize: 100}, es)
	r := openBytes(t, data, ReaderOptions{Cache: cache.New(1 << 20)})
	bad := r.index.handle(2)
	data[bad.Off] ^= 1
	for _, compaction := range []bool{false, true} {
		it := r.NewIter()
		if compaction {
			it = r.NewCompactionIter()
		}
		n := 0
		for ok := it.First(); ok; ok = it.Next() {
			n++
		}
		var c *key.CorruptionError
		if !errors.As(it.Error(), &c) || c.Offset != int64(bad.Off) {
			t.Fatalf("error %v, want corruption at %d", it.Error(), bad.Off)
		}
		for range 3 {
			if it.Next() || it.Prev() || it.Valid() || it.Error() == nil {
				t.Fatal("an iterator went on after an error")
			}
		}
		if !it.SeekGE(es[40].k) || it.Error() != nil {
			t.Fatalf("seek to a healthy range: %v", it.Error())
		}
		checkAt(t, it, true, es, 40, "SeekGE")
		for ok := true; ok; ok = it.Prev() {
		}
		if it.Error() == nil {
			t.Fatal("Prev passed over the damage")
		}
		if it.SeekLT(es[n+1].k) || it.Error() == nil {
			t.Fatal("a seek into the damage found something")
		}
		if !it.SeekLT(es[n-1].k) {
			t.Fatal("a seek before the damage found nothing")
		}
		if err := it.Close(); !errors.Is(err, key.ErrCorrupt) {
			t.Errorf("Close returned %v", err)
		}
		if it.Close() == nil {
			t.Error("a second Close forgot the error")
		}
	}
	if m := r.cache.Metrics(); m.Used != m.Blocks {
		t.Errorf("blocks leaked: %+v", m)
	}
}

// The n-th read fails, for every n: the walk serves a prefix and then an error
// that wraps the cause, or everything.
func TestEveryReadFails(t *testing.T) {
	var es []entry
	for i := range 2000 {
		es = append(es, set(fmt.Sprintf("key%06d", i), 1, strings.Repeat("v", 50)))
	}
	data, _ := tableFile(t, WriterOptions{}, es)
	boom := errors.New("boom")
	for failing := 0; ; failing++ {
		reads := 0
		f := &bytesFile{data: data, onRead: func(int64) error {
			if reads++; reads == failing+1 {
				return boom
			}
			return nil
		}}
		r, err := Open(f, ReaderOptions{Name: "t"})
		if err != nil {
			if !errors.Is(err, boom) || f.closed {
				t.Fatalf("open: %v, closed %v", err, f.closed)
			}
			continue
		}
		it := r.NewIter()
		n := 0
		for ok := it.First(); ok; ok = it.Next() {
			checkAt(t, it, ok, es, n, "Next")
			n++
		}
		err = it.Error()
		it.Close()
		if m := r.cache.Metrics(); m.Used != 0 {
			t.Fatalf("read %d failed: %d blocks leaked", failing, m.Used)
		}
		if err == nil {
			if n != len(es) || reads > failing {
				t.Fatalf("read %d failed: %d of %d entries and no error", failing, n, len(es))
			}
			return
		}
		if !errors.Is(err, boom) || errors.Is(err, key.ErrCorrupt) {
			t.Fatalf("read %d failed: error %v", failing, err)
		}
	}
}

// A file that lost its end after Open gives corruption, not an I/O error.
func TestFileThatShrinksUnderTheReader(t *testing.T) {
	data, _ := tableFile(t, WriterOptions{}, []entry{set("k", 1, "v")})
	f := &bytesFile{data: data}
	r, err := Open(f, ReaderOptions{Name: "000007.sst"})
	if err != nil {
		t.Fatal(err)
	}
	f.data = data[:10]
	if _, _, _, err := r.Get(nil, []byte("k"), 1); !typed(err) || errors.Is(err, io.EOF) {
		t.Errorf("error %v", err)
	}
	if err := r.Close(); err != nil || !f.closed {
		t.Errorf("close: %v, file closed: %v", err, f.closed)
	}
}
