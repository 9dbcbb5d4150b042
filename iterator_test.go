package sift_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/siftkv/sift"
)

// iterOver opens an iterator that the test closes.
func iterOver(t testing.TB, r reader, lo, hi []byte) *sift.Iterator {
	t.Helper()
	it, err := r.NewIter(&sift.IterOptions{LowerBound: lo, UpperBound: hi})
	must(t, err)
	t.Cleanup(func() {
		if err := it.Close(); err != nil && !errors.Is(err, sift.ErrClosed) {
			t.Errorf("closing an iterator: %v", err)
		}
	})
	return it
}

// Changing direction while keys are inserted keeps the place, and what is
// inserted later is not seen.
func TestP109_DirectionChangesBesideInserts(t *testing.T) {
	m, db := newModel(), openMem(t, small())
	for i := 1; i <= 5; i++ {
		write(t, db, m, put(fmt.Sprint(i), "v"))
	}
	c := newCursor(m.head(), iterOver(t, db, nil, nil))
	write(t, db, m, put("25", "v"))
	c.seekGE("5")
	c.prev()
	c.prev()
	c.next()
	c.next()
	must(t, c.err)
}

// Ten thousand random moves with inserts, flushes and compactions between them
// show what was there when the iterator was made.
func TestP109_RandomWalkOnFrozenState(t *testing.T) {
	rnd := rand.New(rand.NewPCG(109, 0))
	m, db := newModel(), openMem(t, small())
	steps := func() []op { return metaOps(rnd) }
	for range 300 {
		write(t, db, m, steps()...)
	}
	c := newCursor(m.head(), iterOver(t, db, nil, nil))
	for i := range 10_000 {
		c.walk(rnd)
		if c.err != nil {
			t.Fatalf("move %d: %v", i, c.err)
		}
		if i%4 == 0 {
			write(t, db, m, steps()...)
		}
		if i%2500 == 1250 {
			must(t, db.Flush())
		}
		if i%5000 == 2500 {
			must(t, db.Compact(nil, nil))
		}
	}
	must(t, m.head().check(db, rnd))
}

// Prev steps over a deleted entry, wherever the tombstone lies and however many
// versions it hides.
func TestP110_PrevOverDeleted(t *testing.T) {
	for _, versions := range []int{1, 2, 17, 1000} {
		for _, place := range []string{"memtable", "level 0", "compacted", "tombstone over table"} {
			t.Run(fmt.Sprintf("%d versions, %s", versions, place), func(t *testing.T) {
				m, db := newModel(), openMem(t, manual())
				write(t, db, m, put("a", "1"), put("c", "3"))
				for i := range versions {
					write(t, db, m, put("b", fmt.Sprint(i)))
				}
				if place == "tombstone over table" {
					must(t, db.Flush())
				}
				write(t, db, m, del("b"))
				switch place {
				case "level 0":
					must(t, db.Flush())
				case "compacted":
					must(t, db.Flush(), db.Compact(nil, nil))
				}
				c := newCursor(m.head(), iterOver(t, db, nil, nil))
				c.seekGE("c")
				c.prev()
				c.next()
				must(t, c.err)
			})
		}
	}
}

// The walk turns at both ends, also after the tail was deleted.
func TestP112_EndsAfterDeletedTail(t *testing.T) {
	for _, flush := range []bool{false, true} {
		m, db := newModel(), openMem(t, manual())
		var tail []op
		for i := range 200 {
			key := fmt.Sprintf("%03d", i)
			write(t, db, m, put(key, fmt.Sprintf("%0100d", i)))
			if i >= 50 {
				tail = append(tail, del(key))
			}
		}
		must(t, db.Flush())
		write(t, db, m, tail...)
		if flush {
			must(t, db.Flush())
		}
		c := newCursor(m.head(), iterOver(t, db, nil, nil))
		c.lastEntry()
		for c.at >= 0 && c.err == nil {
			c.prev()
		}
		c.prev()
		c.next()
		must(t, c.err)
	}
}

// A reverse scan over a prefix, also over one that has no successor.
func TestP113_ReverseOverPrefix(t *testing.T) {
	m, db := newModel(), openMem(t, manual())
	add := func(prefix uint16, n uint32) {
		key := binary.BigEndian.AppendUint16(nil, prefix)
		write(t, db, m, put(string(binary.BigEndian.AppendUint32(key, n)), fmt.Sprint(prefix, n)))
	}
	for _, prefix := range []uint16{4, 5, 6, 0xff, 0xff00, 0xfffe, 0xffff} {
		add(prefix, 1)
		add(prefix, 2)
		add(prefix, 0xffffffff)
	}
	for _, flush := range []bool{false, true} {
		if flush {
			must(t, db.Flush())
		}
		for _, prefix := range []string{"", "\x00", "\x00\x05", "\x00\xff", "\xff", "\xff\xff", "\xff\xff\xff"} {
			got, err := scanBack(db, []byte(prefix), successor(prefix))
			must(t, err)
			slices.Reverse(got)
			if err := m.head().withPrefix(prefix).diff(got); err != nil {
				t.Errorf("prefix %q: %v", prefix, err)
			}
		}
	}
}

// successor is the least key after all keys with a prefix, nil if there is none.
func successor(prefix string) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			return append([]byte(prefix[:i]), prefix[i]+1)
		}
	}
	return nil
}

// Seeks between all neighbours of ten thousand keys, in the memtable and in
// tables, with bounds at every edge.
func TestP115_SeekBetweenAllNeighbours(t *testing.T) {
	const n = 10_000
	key := func(i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(i)) }
	db := openMem(t, manual())
	b := db.NewBatch()
	for i := range n {
		must(t, b.Put(key(2*i), key(i)))
	}
	must(t, db.Apply(b, sift.NoSync))
	for _, where := range []string{"memtable", "table"} {
		it := iterOver(t, db, nil, nil)
		for i := range n - 1 {
			if it.SeekGE(key(2*i + 1)); !it.Valid() || string(it.Key()) != string(key(2*i+2)) {
				t.Fatalf("%s: SeekGE(%d): valid %v, want %d", where, 2*i+1, it.Valid(), 2*i+2)
			}
			if it.SeekLT(key(2*i + 1)); !it.Valid() || string(it.Key()) != string(key(2*i)) {
				t.Fatalf("%s: SeekLT(%d): valid %v, want %d", where, 2*i+1, it.Valid(), 2*i)
			}
		}
		for i := 0; i < n-8; i += 61 {
			got, err := scan(db, key(2*i+1), key(2*i+8))
			if must(t, err); len(got) != 3 {
				t.Fatalf("%s: %d keys in [%d,%d), want 3", where, len(got), 2*i+1, 2*i+8)
			}
		}
		must(t, it.Close(), db.Flush())
	}
}

// Bounds that touch the edges of tables, or are inverted, show exact sets.
func TestP118_BoundsAtTableEdges(t *testing.T) {
	m, db := newModel(), openMem(t, manual())
	for _, table := range []string{"abc", "def", "ghi"} {
		for _, key := range table {
			write(t, db, m, put(string(key), "v"))
		}
		must(t, db.Flush())
	}
	bounds := [][]byte{nil, {}, []byte("a"), []byte("b"), []byte("c"), []byte("c0"), []byte("d"), []byte("d0"), []byte("e"), []byte("f"), []byte("g"), []byte("i"), []byte("i0"), []byte("z")}
	for _, when := range []string{"level 0", "compacted"} {
		for _, lo := range bounds {
			for _, hi := range bounds {
				if err := m.head().checkScans(db, lo, hi); err != nil {
					t.Errorf("%s: [%q,%q): %v", when, lo, hi, err)
				}
			}
		}
		must(t, db.Compact(nil, nil))
	}
}

// Seeks and steps never leave the bounds, wherever they aim.
func TestIteratorSeeksStayInBounds(t *testing.T) {
	rnd := rand.New(rand.NewPCG(118, 0))
	m, db := newModel(), openMem(t, small())
	for range 200 {
		write(t, db, m, metaOps(rnd)...)
	}
	for range 200 {
		lo, hi := metaBound(rnd), metaBound(rnd)
		it := iterOver(t, db, lo, hi)
		c := newCursor(m.head().within(lo, hi), it)
		for range 30 {
			if rnd.IntN(4) == 0 {
				key := metaKey(rnd.IntN(metaKeys))
				if rnd.IntN(2) == 0 {
					c.seekGE(key)
				} else {
					c.seekLT(key)
				}
			} else {
				c.walk(rnd)
			}
		}
		if c.err != nil {
			t.Fatalf("[%q,%q): %v", lo, hi, c.err)
		}
		must(t, it.Close())
	}
}

// A walk over a great many tombstones needs no stack and no memory.
func TestP119_WalkOverTombstones(t *testing.T) {
	n := 100_000
	if *longForm {
		n = 2_000_000
	}
	m, db := newModel(), openMem(t, sift.Options{})
	write(t, db, m, put("a", "1"), put("z", "2"))
	for i := 0; i < n; i += 1000 {
		b := db.NewBatch()
		for j := range 1000 {
			key := fmt.Appendf(nil, "m%08d", i+j)
			must(t, b.Put(key, nil))
			must(t, b.Delete(key))
		}
		must(t, db.Apply(b, sift.NoSync))
	}
	for range 2 {
		c := newCursor(m.head(), iterOver(t, db, nil, nil))
		c.lastEntry()
		c.prev()
		c.first()
		c.next()
		c.next()
		c.prev()
		must(t, c.err, db.Flush())
	}
}

// The same keys in several sources come out once, and deleted ones not at all.
func TestP121_ManySources(t *testing.T) {
	for _, sources := range []int{1, 2, 3, 7} {
		m, db := newModel(), openMem(t, manual())
		for s := range sources {
			var ops []op
			for i := range 100 {
				ops = append(ops, put(fmt.Sprintf("%02d", i), fmt.Sprint(s)))
				if s == sources-1 && i%3 == 0 {
					ops = append(ops, del(fmt.Sprintf("%02d", i)))
				}
			}
			write(t, db, m, ops...)
			if s < sources-1 {
				must(t, db.Flush())
			}
		}
		if v := m.head(); len(v) != 66 {
			t.Fatalf("the model has %d keys, want 66", len(v))
		}
		if err := m.head().check(db, rand.New(rand.NewPCG(121, 0))); err != nil {
			t.Errorf("%d sources: %v", sources, err)
		}
		c := newCursor(m.head(), iterOver(t, db, nil, nil))
		for i := range 100 {
			c.seekGE(fmt.Sprintf("%02d", i))
			c.seekLT(fmt.Sprintf("%02d", i))
		}
		if c.err != nil {
			t.Errorf("%d sources: %v", sources, c.err)
		}
	}
}

// All, Key and Value at work in a range loop.
func TestIteratorAll(t *testing.T) {
	m, db := newModel(), openMem(t, small())
	for i := range 100 {
		write(t, db, m, put(fmt.Sprintf("%02d", i), fmt.Sprint(i)))
	}
	it := iterOver(t, db, []byte("20"), []byte("30"))
	var got view
	for k, v := range it.All() {
		got = append(got, pair{string(k), string(v)})
	}
	must(t, it.Error(), m.head().within([]byte("20"), []byte("30")).diff(got))
}
