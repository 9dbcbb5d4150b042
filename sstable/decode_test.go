package sstable

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/golang/snappy"

	"github.com/siftkv/sift/internal/key"
)

// Index and model agree on which block a key belongs to, for separators of all
// lengths around the head, with and without trailers.
func TestIndexFindEqualsModel(t *testing.T) {
	r := newRand(t)
	for range 300 {
		var seps []entry
		prefix := strings.Repeat("common/", r.IntN(4))
		for range 1 + r.IntN(40) {
			user := prefix + string(randomKey(r)) + strings.Repeat("\x00", r.IntN(3)*r.IntN(5)) + string(randomKey(r))
			seps = append(seps, set(user, r.Uint64N(3), ""))
			if r.IntN(2) == 0 {
				seps[len(seps)-1].k.Trailer = 0
			}
		}
		seps = sorted(seps)
		var w indexWriter
		for _, s := range seps {
			w.add(s.k.User, s.k.Trailer, 100)
		}
		x, err := decodeIndex(w.encode(), uint64(100*len(seps)))
		if err != nil {
			t.Fatalf("%v: %v", seps, err)
		}
		for i, s := range seps {
			if got := x.separator(nil, i); string(got) != string(s.k.User) || x.trailer(i) != s.k.Trailer {
				t.Fatalf("separator %d is %q, want %v", i, got, s)
			}
			if h := x.handle(i); h != (Handle{uint64(100 * i), 100}) {
				t.Fatalf("block %d is at %+v", i, h)
			}
			for _, user := range append(neighbours(s.k.User), s.k.User) {
				for _, trailer := range []key.Trailer{0, s.k.Trailer, s.k.Trailer + 1, math.MaxUint64} {
					k := key.Internal{User: user, Trailer: trailer}
					if got, want := x.find(user, trailer), lowerBound(seps, k); got != want {
						t.Fatalf("%v among %v: block %d, want %d", k, seps, got, want)
					}
				}
			}
		}
	}
}

// Offsets beyond 4 GiB stay whole.
func TestIndexOfAHugeTable(t *testing.T) {
	var w indexWriter
	for i := range 9 {
		w.add([]byte{byte(i)}, 0, maxBlockLen)
	}
	x, err := decodeIndex(w.encode(), 9*maxBlockLen)
	if err != nil {
		t.Fatal(err)
	}
	if h := x.handle(8); h.Off != 8<<30 || h.Len != 1<<30 {
		t.Errorf("the last block is at %+v", h)
	}
}

// sparseFile has zeros before the bytes of inner.
type sparseFile struct {
	bytesFile
	gap int64
}

func (f *sparseFile) ReadAt(p []byte, off int64) (int, error) {
	return f.bytesFile.ReadAt(p, off-f.gap)
}
func (f *sparseFile) Size() (int64, error) { return f.gap + int64(len(f.data)), nil }

// A table with blocks behind 5 GiB reads like any other.
func TestBlocksBehind4GiB(t *testing.T) {
	const gap = int64(5 << 30)
	var es []entry
	for i := range 100 {
		es = append(es, set(fmt.Sprintf("key%03d", i), 1, strings.Repeat("v", i)))
	}
	f := new(memFile)
	w := NewWriter(f, WriterOptions{ID: testID, BlockSize: 200, BitsPerKey: 10})
	for range gap / maxBlockLen {
		w.index.add([]byte{byte(len(w.index.entries))}, 0, maxBlockLen)
	}
	w.off = uint64(gap)
	for _, e := range es {
		if err := w.Add(e.k, e.v); err != nil {
			t.Fatal(err)
		}
	}
	info, err := w.Finish()
	if err != nil || info.Size != uint64(gap)+uint64(len(f.data)) {
		t.Fatalf("size %d, %v", info.Size, err)
	}
	r, err := Open(&sparseFile{bytesFile{data: f.data}, gap}, ReaderOptions{TailOff: int64(info.TailOff)})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range es {
		checkGet(t, r, es, e.k.User, 1)
		it := r.NewCompactionIter()
		checkAt(t, it, it.SeekGE(e.k), es, i, "SeekGE")
		it.Close()
	}
}

// Index bodies that lie are refused, and none makes the decoder allocate more
// than a constant times its length.
func TestMalformedIndex(t *testing.T) {
	body := func(parts ...any) (b []byte) {
		for _, p := range parts {
			switch p := p.(type) {
			case int:
				b = binary.AppendUvarint(b, uint64(p))
			case int64:
				b = binary.AppendUvarint(b, uint64(p))
			case string:
				b = binary.AppendUvarint(b, uint64(len(p)))
				b = append(b, p...)
			case uint64:
				b = binary.LittleEndian.AppendUint64(b, p)
			}
		}
		return b
	}
	const hasTrailer, sameKey = indexHasTrailer, indexSameKey
	if _, err := decodeIndex(body(2, "p", "a", 10<<2|hasTrailer, uint64(9), "", 20<<2|sameKey), 30); err != nil {
		t.Fatalf("a good index: %v", err)
	}
	for what, c := range map[string]struct {
		body    []byte
		dataLen uint64
	}{
		"empty":                       {nil, 0},
		"no prefix":                   {body(0), 0},
		"no blocks for data":          {body(0, ""), 5},
		"count beyond the body":       {body(int64(1<<40), "", "a", 10<<2), 10},
		"entry cut off":               {body(2, "", "a", 10<<2, "b"), 20},
		"bytes left over":             {append(body(1, "", "a", 10<<2), 0), 10},
		"blocks shorter than data":    {body(1, "", "a", 10<<2), 11},
		"blocks longer than data":     {body(1, "", "a", 10<<2), 9},
		"block without a body":        {body(1, "", "a", 5<<2), 5},
		"block over the limit":        {body(1, "", "a", int64((maxBlockLen+1)<<2)), maxBlockLen + 1},
		"equal separators":            {body(2, "", "a", 10<<2, "a", 10<<2), 20},
		"descending separators":       {body(2, "", "b", 10<<2, "a", 10<<2), 20},
		"descending behind the head":  {body(2, "", "12345678b", 10<<2, "12345678a", 10<<2), 20},
		"zeros that are not there":    {body(2, "", "a\x00", 10<<2, "a", 10<<2), 20},
		"same key at the front":       {body(1, "", "", 10<<2|sameKey), 10},
		"same key with a suffix":      {body(2, "", "a", 10<<2|hasTrailer, uint64(9), "b", 10<<2|sameKey), 20},
		"same key, ascending trailer": {body(2, "", "a", 10<<2|hasTrailer, uint64(9), "", 10<<2|sameKey|hasTrailer, uint64(10)), 20},
		"same key behind all":         {body(2, "", "a", 10<<2, "", 10<<2|sameKey), 20},
		"trailer cut off":             {body(1, "", "a", 10<<2|hasTrailer), 10},
		"prefix over the limit":       {body(0, strings.Repeat("p", key.MaxKeyLen+1)), 0},
		"key over the limit":          {body(1, strings.Repeat("p", key.MaxKeyLen), "a", 10<<2), 10},
	} {
		if _, err := decodeIndex(c.body, c.dataLen); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func TestMalformedProperties(t *testing.T) {
	for what, body := range map[string][]byte{
		"field cut off":     {tagEntries, 2, 1},
		"tag alone":         {tagEntries},
		"tag twice":         {tagEntries, 1, 1, tagEntries, 1, 1},
		"tags descending":   {tagDeletes, 1, 1, tagEntries, 1, 1},
		"tag zero":          {0, 1, 1},
		"number too long":   {tagEntries, 2, 1, 1},
		"number empty":      {tagEntries, 0},
		"short key":         {tagSmallest, 7, 1, 2, 3, 4, 5, 6, 7},
		"key too long":      append([]byte{tagLargest, 0x88, 0x80, 0x04}, make([]byte, key.MaxKeyLen+1+8)...),
		"large compression": {tagCompression, 2, 0x80, 2},
		"large filter kind": {tagFilterKind, 2, 0x80, 2},
		"endless varint":    []byte(strings.Repeat("\xff", 11)),
	} {
		if p, err := decodeProperties(body); err == nil {
			t.Errorf("%s: no error, %+v", what, p)
		}
	}
}

// blockBody builds a data block from raw entries and restarts.
func blockBody(entries string, restarts ...uint32) []byte {
	b := []byte(entries)
	for _, r := range append(restarts, uint32(len(restarts))) {
		b = binary.LittleEndian.AppendUint32(b, r)
	}
	return b
}

// Blocks that lie are reported by whatever way of reading meets the lie, and
// none of them panics or finds something.
func TestMalformedBlocks(t *testing.T) {
	const trailer = "\x01\x05\x00\x00\x00\x00\x00\x00"
	good := "\x00\x01\x01" + trailer + "kv"
	for what, body := range map[string][]byte{
		"empty":                      nil,
		"count alone":                {0, 0, 0, 0},
		"no restarts":                blockBody(good),
		"restarts beyond the body":   append([]byte(good), 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff),
		"no entries":                 blockBody("", 0),
		"first restart not at 0":     blockBody(good+good, 13),
		"front cut off":              blockBody(good[:10], 0),
		"key beyond the entries":     blockBody("\x00\x09\x01"+trailer+"kv", 0),
		"value beyond the entries":   blockBody("\x00\x01\x09"+trailer+"kv", 0),
		"value of 4 GiB":             blockBody("\x00\x01\xff\xff\xff\xff\x0f"+trailer+"kv", 0),
		"value length overflows":     blockBody("\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"+trailer+"kv", 0),
		"endless varint":             blockBody("\x00\x01"+strings.Repeat("\xff", 11)+trailer+"kv", 0),
		"key over the limit":         blockBody("\x00\x80\x80\x04\x00"+trailer+strings.Repeat("k", 1<<16), 0),
		"shared without predecessor": blockBody("\x01\x01\x01"+trailer+"kv", 0),
		"shared over predecessor":    blockBody(good+"\x02\x01\x01"+trailer+"zv", 0),
	} {
		noticed := 0
		var it blockIter
		if !it.reset(body) {
			noticed = 4
		} else {
			for _, walk := range []func() bool{it.first, it.last, func() bool { return it.seekGE([]byte("z"), 0) }} {
				ok, step := walk(), it.forward
				for ; ok; ok = step() {
				}
				if it.bad {
					noticed++
				}
				it.bad = false
			}
			b, _ := parseBlock(body)
			if f, ok := b.get([]byte("z"), 0); !ok {
				noticed++
			} else if f.ok {
				t.Errorf("%s: found %+v", what, f)
			}
		}
		if noticed < 3 {
			t.Errorf("%s: noticed by %d of 4 ways of reading", what, noticed)
		}
	}
	far := blockBody(good+"\x00\x01\x01"+trailer+"lv", 0, 1000)
	b, _ := parseBlock(far)
	if _, ok := b.get([]byte("z"), 0); ok {
		t.Error("restart beyond the entries: not noticed")
	}
}

// A few bytes of Snappy that claim gigabytes are refused before anything is
// allocated for them; the densest honest encoding is not.
func TestSnappyClaimIsBounded(t *testing.T) {
	s := source{name: "t"}
	claim := binary.AppendUvarint(nil, math.MaxUint32)
	if _, err := s.decodedLen(append(claim, 1, 2, 3), Snappy, 0); err == nil {
		t.Error("4 GiB in eight bytes were believed")
	}
	if _, err := s.decodedLen(binary.AppendUvarint(nil, 1<<20), Snappy, 0); err == nil {
		t.Error("1 MiB in three bytes was believed")
	}
	if _, err := s.decodedLen(slices.Repeat([]byte{0xff}, 20), Snappy, 0); err == nil {
		t.Error("an endless length was believed")
	}
	honest := snappy.Encode(nil, make([]byte, 1<<20))
	if n, err := s.decodedLen(honest, Snappy, 0); n != 1<<20 || err != nil {
		t.Errorf("1 MiB of zeros in %d bytes: %d, %v", len(honest), n, err)
	}
}

// Search in a block equals a search in a list, over blocks with many versions
// and all restart intervals.
func TestBlockGetEqualsModel(t *testing.T) {
	r := newRand(t)
	for range 300 {
		es := randomEntries(r, 1+r.IntN(60))
		w := blockWriter{interval: 1 + r.IntN(20)}
		var last []byte
		for _, e := range es {
			w.add(e.k.User, e.k.Trailer, e.v, key.CommonPrefix(last, e.k.User))
			last = e.k.User
		}
		b, ok := parseBlock(w.finish())
		if !ok {
			t.Fatal("a written block cannot be parsed")
		}
		for range 100 {
			k := key.Seek(pick(r, es), r.Uint64N(100))
			if r.IntN(2) == 0 {
				k = es[r.IntN(len(es))].k // exactly a version that is there
			}
			var want entry
			i := lowerBound(es, k)
			found := i < len(es) && string(es[i].k.User) == string(k.User)
			if found {
				want = es[i]
			}
			f, ok := b.get(k.User, k.Trailer)
			if !ok || f.ok != found || string(f.value) != string(want.v) || f.trailer != want.k.Trailer {
				t.Fatalf("get %v: %+v, want %v", k, f, want)
			}
		}
	}
}

func pick(r *rand.Rand, es []entry) []byte {
	user := es[r.IntN(len(es))].k.User
	if ns := neighbours(user); r.IntN(2) == 0 {
		return ns[r.IntN(len(ns))]
	}
	return user
}
