package sift_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/siftkv/sift"
)

// Get only finds stored keys, with blocks so small that index separators are
// shortened at every chance.
func TestP122_ShortenedSeparators(t *testing.T) {
	rnd := rand.New(rand.NewPCG(122, 0))
	m, db := newModel(), openMem(t, sift.Options{BlockSize: 64})
	write(t, db, m, put("abcde1", strings.Repeat("x", 60)), put("abcdz", strings.Repeat("y", 60)))
	for range 1000 {
		key := make([]byte, 1+rnd.IntN(8))
		for i := range key {
			key[i] = pick(rnd, 'a', 'b', 'z', 0x00, 0xff, byte(rnd.IntN(256)))
		}
		write(t, db, m, put(string(key), string(key)))
	}
	must(t, db.Flush())
	v := m.head()
	must(t, v.check(db, rnd))
	for i := range len(v) - 1 {
		for _, key := range separators(v[i].key, v[i+1].key) {
			must(t, v.checkGet(db, key))
			c := newCursor(v, iterOver(t, db, nil, nil))
			c.seekGE(key)
			c.seekLT(key)
			must(t, c.err, c.it.Close())
		}
	}
	for _, key := range []string{"abcdf", "abcde", "abcd"} {
		must(t, v.checkGet(db, key))
	}
}

// separators are the short keys between two neighbours.
func separators(a, b string) []string {
	var keys []string
	for n := 1; n <= len(b); n++ {
		if key := b[:n]; key > a {
			keys = append(keys, key)
		}
	}
	for n := range len(a) {
		if key := a[:n] + string([]byte{a[n] + 1}); key > a && key < b {
			keys = append(keys, key)
		}
	}
	return keys
}

// A Get of an absent key never gives its neighbour's value, in any layer, with
// a filter or without.
func TestP124_AbsentNeighbours(t *testing.T) {
	for _, off := range []bool{false, true} {
		m, db := newModel(), openMem(t, sift.Options{
			Filter:     sift.FilterOptions{Off: off},
			Compaction: sift.CompactionOptions{Disable: true},
		})
		for i := 0; i < 2000; i += 2 {
			write(t, db, m, put(fmt.Sprintf("key%06d", i), fmt.Sprint(i)))
		}
		v := m.head()
		for _, layer := range layers(db) {
			must(t, layer())
			for i := 1; i < 2000; i += 2 {
				must(t, v.checkGet(db, fmt.Sprintf("key%06d", i)))
			}
			must(t, v.check(db, rand.New(rand.NewPCG(124, 0))))
		}
	}
}

// One key to a block, several versions: each snapshot reads its own.
func TestP125_OneKeyPerBlock(t *testing.T) {
	o := manual()
	o.BlockSize = 16
	m, db := newModel(), openMem(t, o)
	var snaps []*sift.Snapshot
	var at []int
	for round := range 3 {
		for i := range 20 {
			write(t, db, m, put(fmt.Sprintf("%02d", i), strings.Repeat(fmt.Sprint(round), 100)))
		}
		snaps, at = append(snaps, snapshot(t, db)), append(at, m.last)
	}
	for _, layer := range layers(db) {
		must(t, layer())
		for i, s := range snaps {
			must(t, m.at(at[i]).check(s, rand.New(rand.NewPCG(125, 0))))
		}
	}
}

// The caller may change its buffers after any call.
func TestP127_CallersBuffers(t *testing.T) {
	m, db := newModel(), openMem(t, small())
	key, value := make([]byte, 4), make([]byte, 200)
	b := db.NewBatch()
	for i := range 500 {
		copy(key, fmt.Sprintf("%04d", i))
		for j := range value {
			value[j] = byte(i)
		}
		m.apply(put(string(key), string(value)))
		if i%2 == 0 {
			must(t, db.Put(key, value, sift.NoSync))
		} else {
			must(t, b.Put(key, value))
		}
		clear(key)
		clear(value)
	}
	must(t, db.Apply(b, sift.NoSync))
	lo, hi := []byte("0100"), []byte("0200")
	it := iterOver(t, db, lo, hi)
	clear(lo)
	clear(hi)
	var got view
	for it.First(); it.Valid(); it.Next() {
		got = append(got, pair{string(it.Key()), string(it.Value())})
	}
	must(t, m.head().within([]byte("0100"), []byte("0200")).diff(got))
	seek := []byte("0150")
	it.SeekGE(seek)
	clear(seek)
	if string(it.Key()) != "0150" {
		t.Errorf("the iterator stands on %q after the seek key was changed, want 0150", it.Key())
	}
	must(t, m.head().check(db, rand.New(rand.NewPCG(127, 0))))
}

// What Get returned belongs to the caller: it stays as it is, and changing it
// changes nothing.
func TestP127_GetReturnsACopy(t *testing.T) {
	m, db := newModel(), openMem(t, small())
	write(t, db, m, put("k", strings.Repeat("v", 100)))
	for range 2 {
		v, err := db.Get([]byte("k"))
		must(t, err)
		clear(v)
		_ = append(v, "tail"...)
		must(t, m.head().check(db, rand.New(rand.NewPCG(1, 1))), db.Flush())
	}
	buf := append(make([]byte, 0, 256), "head"...)
	v, err := db.AppendGet(buf, []byte("k"))
	must(t, err)
	if string(v) != "head"+strings.Repeat("v", 100) {
		t.Errorf("AppendGet = %s, want the value behind what was there", brief(string(v)))
	}
	if v, err = db.AppendGet(buf, []byte("absent")); string(v) != "head" {
		t.Errorf("AppendGet of an absent key = %q, %v; want the buffer as it was", v, err)
	}
	wantError(t, "AppendGet of an absent key", err, sift.ErrNotFound)
}

// Appending to part of a returned key or value does not write into the database.
func TestP128_AppendingToReturnedSlices(t *testing.T) {
	m, db := newModel(), openMem(t, sift.Options{})
	for i := byte(1); i <= 5; i++ {
		for j := byte(1); j <= 5; j++ {
			write(t, db, m, put(string([]byte{i, j}), string([]byte{i, j, 0xee})))
		}
	}
	for _, where := range []string{"memtable", "table"} {
		want, err := scanBack(db, nil, nil)
		must(t, err)
		it := iterOver(t, db, nil, nil)
		for it.Last(); it.Valid(); it.Prev() {
			bound := append(it.Key()[:1], 0xff)
			_ = append(it.Value()[:1], 0xff)
			_, err := scanBack(db, nil, bound)
			must(t, err)
		}
		must(t, it.Error(), it.Close())
		got, err := scanBack(db, nil, nil)
		must(t, err)
		if err := want.diff(got); err != nil {
			t.Errorf("%s: the second scan: %v", where, err)
		}
		must(t, m.head().checkScans(db, nil, nil), db.Flush())
	}
}
