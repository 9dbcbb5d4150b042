package sift_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/siftkv/sift"
)

// snapshot takes a snapshot that the test closes.
func snapshot(t testing.TB, db *sift.DB) *sift.Snapshot {
	t.Helper()
	s := db.NewSnapshot()
	t.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, sift.ErrReleased) && !errors.Is(err, sift.ErrClosed) {
			t.Errorf("closing a snapshot: %v", err)
		}
	})
	return s
}

// Compactions beside up to a hundred snapshots drop nothing that one of them
// needs.
func TestP080_CompactionsBesideSnapshots(t *testing.T) {
	keys, ops, seeds := 400, 6_000, uint64(2)
	if *longForm {
		keys, ops, seeds = 10_000, 200_000, 5
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			manySnapshots(t, rand.New(rand.NewPCG(80, seed)), keys, ops)
		})
	}
}

func manySnapshots(t *testing.T, rnd *rand.Rand, keys, ops int) {
	type held struct {
		s  *sift.Snapshot
		at int
	}
	o := small()
	o.MemTableSize, o.TableSize = 64<<10, 64<<10
	m, db := newModel(), openMem(t, o)
	var snaps []held
	for i := range ops {
		key := fmt.Sprintf("key%06d", rnd.IntN(keys))
		if i > keys && rnd.IntN(10) < 7 {
			write(t, db, m, del(key))
		} else {
			write(t, db, m, put(key, strings.Repeat(fmt.Sprintf("%d/", i), 1000/(len(fmt.Sprint(i))+1))))
		}
		if rnd.IntN(max(ops/400, 1)) == 0 && len(snaps) < 100 {
			snaps = append(snaps, held{snapshot(t, db), m.last})
		}
		if rnd.IntN(max(ops/300, 1)) == 0 && len(snaps) > 0 {
			i := rnd.IntN(len(snaps))
			must(t, snaps[i].s.Close())
			snaps = slices.Delete(snaps, i, i+1)
		}
		if i%(ops/6) == ops/6-1 {
			for range min(len(snaps), 10) {
				h := snaps[rnd.IntN(len(snaps))]
				must(t, m.at(h.at).checkScans(h.s, nil, nil))
			}
		}
	}
	for _, h := range snaps {
		must(t, m.at(h.at).check(h.s, rnd))
	}
	must(t, m.head().check(db, rnd))
}

// A snapshot of the empty store, whose sequence number may be 0, stays empty.
func TestP097_SnapshotOfEmptyStore(t *testing.T) {
	m, db := newModel(), openMem(t, manual())
	s := snapshot(t, db)
	write(t, db, m, put("a", "1"))
	rnd := rand.New(rand.NewPCG(97, 0))
	for _, layer := range layers(db) {
		must(t, layer(), m.at(0).check(s, rnd), m.head().check(db, rnd))
	}
}

// At the bottom level a version under a newer one or under a tombstone stays
// while a snapshot needs it.
func TestP098_VersionsAtTheBottom(t *testing.T) {
	rnd := rand.New(rand.NewPCG(98, 0))
	for _, last := range []op{put("k", "60"), del("k")} {
		m, db := newModel(), openMem(t, manual())
		write(t, db, m, put("k", "3"))
		write(t, db, m, put("k", "5"))
		must(t, db.Flush(), db.Compact(nil, nil))
		s, at := snapshot(t, db), m.last
		for i := range 20 {
			write(t, db, m, put("other", fmt.Sprint(i)))
		}
		write(t, db, m, last)
		for _, layer := range layers(db) {
			must(t, layer(), m.at(at).check(s, rnd), m.head().check(db, rnd))
		}
		must(t, s.Close(), db.Compact(nil, nil), m.head().check(db, rnd))
	}
}

// A flush, too, keeps what snapshots and older iterators need.
func TestP103_FlushKeepsVersions(t *testing.T) {
	rnd := rand.New(rand.NewPCG(103, 0))
	m, db := newModel(), openMem(t, manual())
	for i := range 500 {
		write(t, db, m, put(fmt.Sprintf("%03d", i), "old"))
	}
	s, at := snapshot(t, db), m.last
	c := newCursor(m.head(), iterOver(t, db, nil, nil))
	c.seekGE("100")
	for i := range 500 {
		if i%2 == 0 {
			write(t, db, m, del(fmt.Sprintf("%03d", i)))
		} else {
			write(t, db, m, put(fmt.Sprintf("%03d", i), "new"))
		}
	}
	for _, layer := range layers(db) {
		must(t, layer(), m.at(at).check(s, rnd), m.head().check(db, rnd))
		for range 50 {
			c.step(rnd)
		}
		must(t, c.err)
	}
	for c.err == nil && c.onEntry() {
		c.next()
	}
	must(t, c.err)
}

// A file that an iterator or a snapshot reads is not deleted under it, even with
// no cache and few open files.
func TestP076_FilesOfReadersStay(t *testing.T) {
	keys := 2_000
	if *longForm {
		keys = 10_000
	}
	o := small()
	o.CacheSize, o.MaxOpenFiles, o.ManifestSize = 1, 10, 1<<10
	m, db := newModel(), openMem(t, o)
	fill := func(value string) {
		for i := range keys {
			write(t, db, m, put(fmt.Sprintf("%05d", i), strings.Repeat(value, 20)))
		}
		must(t, db.Flush())
	}
	fill("old")
	at := m.last
	s := snapshot(t, db)
	c := newCursor(m.head(), iterOver(t, db, nil, nil))
	c.first()
	fill("new")
	must(t, db.Compact(nil, nil))
	fill("newer")
	must(t, db.Compact(nil, nil))
	for c.err == nil && c.onEntry() {
		c.next()
	}
	must(t, c.err, m.at(at).checkScans(s, nil, nil), m.head().checkScans(db, nil, nil))
}

// A tombstone hides the value below it in every combination of layers.
func TestP089_TombstoneOverTable(t *testing.T) {
	rnd := rand.New(rand.NewPCG(89, 0))
	o := manual()
	o.FS = sift.NewMemFS()
	m, db := newModel(), open(t, "db", &o)
	write(t, db, m, put("foo", "v1"))
	must(t, db.Flush())
	write(t, db, m, del("foo"))
	must(t, m.head().check(db, rnd), db.Flush(), m.head().check(db, rnd))
	db = reopen(t, db, "db", &o)
	must(t, m.head().check(db, rnd), db.Compact(nil, nil), m.head().check(db, rnd))
}

// A tombstone does not go below a live older value: the inputs of a compaction
// are widened to all overlapping level-0 tables.
func TestP083_TombstoneInLevelZero(t *testing.T) {
	rnd := rand.New(rand.NewPCG(83, 0))
	o := manual()
	o.FS = sift.NewMemFS()
	m, db := newModel(), open(t, "db", &o)
	for _, table := range [][]op{
		{put("a", "1"), put("b", "1"), put("d", "1")},
		{put("b", "2"), put("c", "2")},
		{del("b")},
		{put("e", "3")},
	} {
		write(t, db, m, table...)
		must(t, db.Flush())
	}
	for _, span := range [][2]string{{"e", "f"}, {"b", "b0"}, {"a", "c"}, {"c", "z"}, {"", "z"}} {
		must(t, db.Compact([]byte(span[0]), []byte(span[1])))
		if err := m.head().check(db, rnd); err != nil {
			t.Fatalf("after compacting [%s,%s): %v", span[0], span[1], err)
		}
		db = reopen(t, db, "db", &o)
		if err := m.head().check(db, rnd); err != nil {
			t.Fatalf("after compacting [%s,%s) and reopening: %v", span[0], span[1], err)
		}
	}
}

// A tombstone is not dropped while an older value lives below neighbours that do
// not overlap it.
func TestP086_TombstoneOverDeepValue(t *testing.T) {
	rnd := rand.New(rand.NewPCG(86, 0))
	m, db := newModel(), openMem(t, manual())
	write(t, db, m, put("x", "old"))
	must(t, db.Flush(), db.Compact(nil, nil))
	write(t, db, m, put("a", "1"), put("w", "1"))
	must(t, db.Flush(), db.Compact([]byte("a"), []byte("w0")))
	write(t, db, m, del("x"))
	must(t, db.Flush())
	for _, span := range [][2]string{{"x", "x0"}, {"a", "b"}, {"a", "z"}} {
		must(t, m.head().check(db, rnd), db.Compact([]byte(span[0]), []byte(span[1])))
		must(t, m.head().check(db, rnd))
	}
}

// Deleted keys do not come back when another range is compacted.
func TestP082_CompactingAnotherRange(t *testing.T) {
	n := 10_000
	if *longForm {
		n = 1_100_000
	}
	db := openMem(t, sift.Options{MemTableSize: 256 << 10, TableSize: 128 << 10, Compaction: sift.CompactionOptions{BaseLevelSize: 512 << 10}})
	each := func(prefix string, do func(b *sift.Batch, key []byte) error) {
		for i := 0; i < n; i += 500 {
			b := db.NewBatch()
			for j := i; j < i+500; j++ {
				must(t, do(b, fmt.Appendf(nil, "%s%016d", prefix, j)))
			}
			must(t, db.Apply(b, sift.NoSync))
		}
	}
	set := func(b *sift.Batch, key []byte) error { return b.Put(key, key[:16]) }
	each("key1", set)
	each("key2", set)
	each("key2", (*sift.Batch).Delete)
	must(t, db.Compact([]byte("key1"), []byte("key1~")))
	v, err := scan(db, []byte("key2"), nil)
	if must(t, err); len(v) != 0 {
		t.Errorf("%d deleted keys came back, the first is %q", len(v), v[0].key)
	}
	v, err = scan(db, []byte("key1"), []byte("key2"))
	if must(t, err); len(v) != n {
		t.Errorf("%d keys of the compacted range, want %d", len(v), n)
	}
}
