package sstable

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/internal/invariants"
	"github.com/siftkv/sift/internal/key"
)

// Every fault of the options is named at once, and nothing is written.
func TestWriterRefusesInvalidOptions(t *testing.T) {
	f := new(memFile)
	bad := WriterOptions{BlockSize: 3 << 20, RestartInterval: -1, Compression: 9}
	w := NewWriter(f, bad)
	err := w.Add(key.Make(nil, 1, key.Set), nil)
	if !errors.Is(err, key.ErrInvalidOption) {
		t.Fatalf("error %v", err)
	}
	for _, name := range []string{"ID", "BlockSize", "RestartInterval", "Compression"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
	if _, again := w.Finish(); again != err || len(f.data) > 0 {
		t.Errorf("Finish after an error: %v, %d bytes written", again, len(f.data))
	}
	for _, bits := range []float64{-1, math.NaN(), math.Inf(1), 1000} {
		if _, err := NewWriter(f, WriterOptions{ID: 1, BitsPerKey: bits}).Finish(); err == nil {
			t.Errorf("%v bits per key were accepted", bits)
		}
	}
}

func TestWriterRefusesWhatIsOverTheLimits(t *testing.T) {
	for what, e := range map[string]entry{
		"key":   set(strings.Repeat("k", key.MaxKeyLen+1), 1, ""),
		"value": {key.Make([]byte("k"), 1, key.Set), make([]byte, key.MaxValueLen+1)}, // never touched
	} {
		w := NewWriter(new(memFile), WriterOptions{ID: 1})
		if err := w.Add(e.k, e.v); !errors.Is(err, key.ErrTooLarge) {
			t.Errorf("%s over its limit: error %v", what, err)
		}
	}
	w := NewWriter(new(memFile), WriterOptions{ID: 1})
	if err := w.Add(key.Make(nil, 1, 99), nil); !errors.Is(err, key.ErrVersion) {
		t.Errorf("unknown kind: error %v", err)
	}
}

// Entries out of order are a bug of the caller: a panic where invariants are
// checked, an error elsewhere, and never a table.
func TestWriterRefusesEntriesOutOfOrder(t *testing.T) {
	for _, pair := range [][2]entry{
		{set("b", 1, ""), set("a", 1, "")},
		{set("ab", 1, ""), set("a", 1, "")},
		{set("a", 1, ""), set("a", 1, "")},
		{set("a", 1, ""), set("a", 2, "")},
		{set("", 1, ""), set("", 1, "")},
		{del("a", 1), set("a", 1, "")},
		{{key.Make([]byte("b"), 1, key.RangeDelete), []byte("c")}, {key.Make([]byte("a"), 1, key.RangeDelete), []byte("c")}},
	} {
		func() {
			defer func() {
				if p := recover(); (p != nil) != invariants.Enabled {
					t.Errorf("%v: panic %v", pair, p)
				}
			}()
			w := NewWriter(new(memFile), WriterOptions{ID: 1})
			if err := w.Add(pair[0].k, pair[0].v); err != nil {
				t.Fatal(err)
			}
			if err := w.Add(pair[1].k, pair[1].v); err == nil {
				t.Errorf("%v was accepted", pair)
			}
			if _, err := w.Finish(); err == nil {
				t.Errorf("%v: Finish forgot the error", pair)
			}
		}()
	}
	for _, e := range []entry{{key.Make([]byte("b"), 1, key.RangeDelete), []byte("b")}, {key.Make([]byte("b"), 1, key.RangeDelete), nil}} {
		if err := NewWriter(new(memFile), WriterOptions{ID: 1}).Add(e.k, e.v); err == nil {
			t.Errorf("range deletion %v was accepted", e)
		}
	}
}

func TestWriteErrorIsStickyAndWrapped(t *testing.T) {
	boom := errors.New("boom")
	f := &memFile{err: boom}
	w := NewWriter(f, WriterOptions{ID: 1})
	var err error
	for i := 0; err == nil; i++ {
		err = w.Add(key.Make(fmt.Appendf(nil, "%09d", i), 1, key.Set), make([]byte, 1000))
	}
	if !errors.Is(err, boom) {
		t.Fatalf("error %v", err)
	}
	f.err = nil
	if again := w.Add(key.Make([]byte("z"), 1, key.Set), nil); again != err {
		t.Errorf("Add after the error: %v", again)
	}
	if _, again := w.Finish(); again != err || f.syncs > 0 {
		t.Errorf("Finish after the error: %v, %d syncs", again, f.syncs)
	}
}

func TestFinishSyncsOnceAndEndsTheWriter(t *testing.T) {
	f := new(memFile)
	w := NewWriter(f, WriterOptions{ID: 1})
	if _, err := w.Finish(); err != nil || f.syncs != 1 {
		t.Fatalf("finish: %v, %d syncs", err, f.syncs)
	}
	n := len(f.data)
	if err := w.Add(key.Make(nil, 1, key.Set), nil); err == nil {
		t.Error("Add after Finish was accepted")
	}
	if _, err := w.Finish(); err == nil || len(f.data) != n {
		t.Error("a second Finish wrote something")
	}
}

// The caller's key and value buffers may be used again at once.
func TestWriterKeepsNoReferenceToItsInput(t *testing.T) {
	var es []entry
	f := new(memFile)
	w := NewWriter(f, WriterOptions{ID: 1, BlockSize: 64})
	buf := make([]byte, 20)
	for i := range 100 {
		e := set(fmt.Sprintf("key%06d", i), 5, fmt.Sprintf("value%03d", i))
		es = append(es, e)
		user := buf[:copy(buf[:9], e.k.User)]
		value := buf[9 : 9+copy(buf[9:], e.v)]
		if err := w.Add(key.Internal{User: user, Trailer: e.k.Trailer}, value); err != nil {
			t.Fatal(err)
		}
		copy(buf, "XXXXXXXXXXXXXXXXXXXX")
	}
	info, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if s, l := string(info.Smallest.User), string(info.Largest.User); s != "key000000" || l != "key000099" {
		t.Errorf("bounds %q to %q", s, l)
	}
	checkTable(t, openBytes(t, f.data, ReaderOptions{}), es)
}

// Equal input gives equal bytes, and the estimate is near the truth throughout.
func TestWriterIsDeterministicAndEstimatesItsSize(t *testing.T) {
	o := WriterOptions{BitsPerKey: 10}
	a, _, es := manyBlocks(t, o)
	b, _, _ := manyBlocks(t, o)
	if !bytes.Equal(a, b) {
		t.Error("two tables of the same entries differ")
	}
	w := NewWriter(new(memFile), WriterOptions{ID: 1, BitsPerKey: 10})
	for _, e := range es {
		if err := w.Add(e.k, e.v); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := float64(w.EstimatedSize()), float64(len(a)); math.Abs(got-want) > want/50 {
		t.Errorf("estimated %v bytes, the file has %v", got, want)
	}
}

// Info and properties say what was added.
func TestInfoAndProperties(t *testing.T) {
	es := sorted([]entry{set("b", 9, "12345"), del("b", 4), set("c", 6, ""), del("aa", 30)})
	data, info := tableFile(t, WriterOptions{BitsPerKey: 12.5, FilterKind: bloom.Classic, Compression: Snappy}, es)
	var sum Sum
	for _, e := range es {
		sum.Add(e.k, e.v)
	}
	want := Properties{
		DataBlocks: 1, Entries: 4, Deletes: 2, RawKeyBytes: 5 + 4*key.TrailerLen, RawValueBytes: 5,
		MinSeq: 4, MaxSeq: 30, Kinds: 1<<key.Set | 1<<key.Delete,
		Smallest: es[0].k, Largest: es[3].k,
		Compression: Snappy, BlockSize: DefaultBlockSize, RestartInterval: DefaultRestartInterval,
		FilterKind: bloom.Classic, FilterBits: 12.5, Sum: sum,
	}
	r := openBytes(t, data, ReaderOptions{ID: testID, Size: int64(info.Size), TailOff: int64(info.TailOff), Filter: info.Filter})
	for what, got := range map[string]Properties{"info": info.Properties, "file": r.Properties()} {
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("%s:\n%+v, want\n%+v", what, got, want)
		}
	}
	if r.ID() != testID || info.ID != testID || r.Filter() != info.Filter {
		t.Error("id or filter handle differ between the writer and the file")
	}
	f, err := bloom.Open(info.FilterData)
	if err != nil || f.Len() != 3 {
		t.Errorf("filter of %d keys (%v), want 3: versions of a key count once", f.Len(), err)
	}
}

// A sum does not depend on order, and shows an entry that is lost, doubled or
// changed in any of its parts.
func TestSum(t *testing.T) {
	es := []entry{set("a", 1, "x"), set("b", 1, "y"), del("c", 7)}
	sumOf := func(es ...entry) (s Sum) {
		for _, e := range es {
			s.Add(e.k, e.v)
		}
		return s
	}
	want := sumOf(es...)
	if sumOf(es[2], es[0], es[1]) != want {
		t.Error("the order changes the sum")
	}
	if sumOf(es[0], es[1])+sumOf(es[2]) != want {
		t.Error("sums of parts do not add up")
	}
	for what, other := range map[string][]entry{
		"lost":          es[:2],
		"doubled":       append(es, es[0]),
		"user key":      {set("A", 1, "x"), es[1], es[2]},
		"sequence":      {set("a", 2, "x"), es[1], es[2]},
		"kind":          {es[0], es[1], {key.Make([]byte("c"), 7, key.Set), nil}},
		"value":         {set("a", 1, "z"), es[1], es[2]},
		"values traded": {set("a", 1, "y"), set("b", 1, "x"), es[2]},
		"seqs traded":   {set("a", 7, "x"), es[1], del("c", 1)},
	} {
		if sumOf(other...) == want {
			t.Errorf("%s: the sum is the same", what)
		}
	}
	var s Sum
	s.Add(key.Make([]byte("key"), 5, key.Set), []byte("value"))
	if s != 0x7dfb50342b40d262 {
		t.Errorf("the hash of the file format changed: %#x", uint64(s))
	}
}

// Adding entries makes no garbage once the buffers have grown.
func TestAddDoesNotAllocate(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the race detector allocates by itself")
	}
	f := new(memFile)
	w := NewWriter(f, WriterOptions{ID: 1, Compression: Snappy})
	user, value, i := make([]byte, 8), make([]byte, 100), uint64(0)
	add := func() {
		f.data = f.data[:0]
		for range 100 {
			i++
			for j := range 8 {
				user[j] = byte(i >> (56 - 8*j))
			}
			if err := w.Add(key.Make(user, 1, key.Set), value); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 3000 {
		add()
	}
	// What grows is the index: a few bytes for each block of 4 KiB.
	if n := testing.AllocsPerRun(200, add); n > 0 {
		t.Errorf("%v allocations for 100 entries", n)
	}
}
