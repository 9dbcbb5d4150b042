package compaction

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
	"github.com/siftkv/sift/internal/vfs"
)

// tiny makes a few hundred entries fill four levels.
var tiny = Options{L0Compact: 2, BaseLevelSize: 2 << 10, Multiplier: 2, TableSize: 1 << 10}

// world writes random versions of a few keys and remembers all of them.
type world struct {
	d         *testDB
	r         *rand.Rand
	seq       uint64
	mem       []iterator.Entry
	all       map[string][]iterator.Entry // every version of a key, newest first
	snapshots []uint64
}

func (w *world) write(user string, kind key.Kind) {
	w.seq++
	value := ""
	if kind != key.Delete {
		value = fmt.Sprintf("%d%s", w.seq, bytes.Repeat([]byte{'.'}, w.r.IntN(120)))
	}
	e := entry(user, w.seq, kind, value)
	w.mem = append(w.mem, e)
	w.all[user] = slices.Insert(w.all[user], 0, e)
}

func (w *world) flush() {
	w.d.t.Helper()
	slices.SortFunc(w.mem, func(a, b iterator.Entry) int { return key.Compare(a.Key, b.Key) })
	w.d.flush(w.mem, w.snapshots...)
	w.mem = nil
}

func (w *world) oldest() uint64 {
	if len(w.snapshots) == 0 {
		return NoSnapshot
	}
	return w.snapshots[0]
}

// check compares what every reader sees of every key with all that was written.
func (w *world) check() {
	w.d.t.Helper()
	now := map[string][]iterator.Entry{}
	for _, e := range w.d.entries() {
		now[string(e.Key.User)] = append(now[string(e.Key.User)], e)
	}
	for user, versions := range w.all {
		if !sameForAll(versions, now[user], w.snapshots, "") {
			w.d.t.Fatalf("key %s with snapshots %v: wrote %s, holds %s", user, w.snapshots, draw(versions), draw(now[user]))
		}
	}
}

// Random writes, flushes, snapshots and jobs, cut into parts or not: the head
// and every snapshot see at all times what was written, nothing newer lies
// under something older, and no key is split between tables of a level.
func TestReadersSeeTheSame(t *testing.T) {
	r := newRand(t)
	for range 4 {
		w := &world{d: newTestDB(t, vfs.NewMem(), tiny), r: r, all: map[string][]iterator.Entry{}}
		for range 120 {
			for range r.IntN(20) + 1 {
				w.write(fmt.Sprintf("key%02d", r.IntN(60)), []key.Kind{key.Set, key.Set, key.Delete, key.Merge}[r.IntN(4)])
			}
			switch r.IntN(4) {
			case 0:
				w.snapshots = append(w.snapshots, w.seq)
			case 1:
				if n := len(w.snapshots); n > 0 {
					i := r.IntN(n)
					w.snapshots = slices.Delete(w.snapshots, i, i+1)
				}
			}
			w.flush()
			w.work()
			w.check()
		}
		w.snapshots = nil
		w.d.compactAll(1 + r.IntN(3))
		w.check()
		for level, m := range w.d.v.All() {
			if level < lastLevel || m.Deletes > 0 {
				t.Fatalf("after compacting all, level %d holds %v with %d tombstones", level, m, m.Deletes)
			}
		}
	}
}

// work does what the picker asks for, and now and then what a caller might.
func (w *world) work() {
	w.d.t.Helper()
	s := State{OldestSnapshot: w.oldest()}
	for range w.r.IntN(4) {
		j := Pick(w.d.v, w.d.o, s)
		if j == nil || w.r.IntN(4) == 0 {
			lo := fmt.Appendf(nil, "key%02d", w.r.IntN(60))
			j, _ = PickRange(w.d.v, w.d.o, s, Range{Lo: lo, Hi: append(bytes.Clone(lo), '0'), MaxSeq: w.seq})
		}
		if j == nil {
			return
		}
		w.d.run(j, 1+w.r.IntN(4), w.snapshots...)
	}
}

// A job cut into parts makes the same entries as one that is not, with cuts at
// the first keys of tables, tombstones and old versions on both sides of them.
func TestPartsMakeTheSame(t *testing.T) {
	build := func() *testDB {
		d := newTestDB(t, vfs.NewMem(), Options{TableSize: 4 << 10})
		var old, deletes []iterator.Entry
		for i := range 1000 {
			user := fmt.Sprintf("k%04d", i)
			for v := range uint64(3) {
				old = append(old, entry(user, 10-v, key.Set, fmt.Sprint(user, v)))
			}
			if i%2 == 0 {
				deletes = append(deletes, entry(user, 20, key.Delete, ""))
			}
		}
		for chunk := range slices.Chunk(old, 3*100) {
			d.load(6, chunk)
		}
		d.flush(deletes)
		return d
	}
	for _, snapshots := range [][]uint64{nil, {9}, {15}} {
		var want string
		for _, workers := range []int{1, 2, 4, 100} {
			d := build()
			j, _ := PickRange(d.v, d.o, State{OldestSnapshot: NoSnapshot}, Range{MaxSeq: key.MaxSeq})
			r := d.run(j, workers, snapshots...)
			if r.Stats.Parts != min(workers, 10) {
				t.Errorf("%d workers made %d parts", workers, r.Stats.Parts)
			}
			got := draw(d.entries())
			if workers == 1 {
				want = got
			}
			if got != want {
				t.Errorf("%d workers with snapshots %v: %s, want %s", workers, snapshots, got, want)
			}
		}
	}
}

// What faults of other engines were about, each with its outcome.
func TestTombstoneCases(t *testing.T) {
	put := func(user string, seq uint64) iterator.Entry { return entry(user, seq, key.Set, "v") }
	del := func(user string, seq uint64) iterator.Entry { return entry(user, seq, key.Delete, "") }
	for _, c := range []struct {
		what      string
		l0        []iterator.Entry
		l5, l6    []iterator.Entry
		snapshots []uint64
		level     int // whose tables go down
		want      string
	}{
		{
			what: "a tombstone goes under neighbours in the middle, but a value lies at the bottom",
			l0:   []iterator.Entry{del("x", 9)}, l5: []iterator.Entry{put("w", 5), put("y", 6)}, l6: []iterator.Entry{put("x", 1)},
			want: "w#5 x#9,delete x#1 y#6 ",
		},
		{
			what: "nothing lies at the bottom",
			l0:   []iterator.Entry{del("x", 9)}, l5: []iterator.Entry{put("w", 5), put("y", 6)}, l6: []iterator.Entry{put("z", 1)},
			want: "w#5 y#6 z#1 ",
		},
		{
			what: "the bottom itself",
			l5:   []iterator.Entry{del("x", 9)}, l6: []iterator.Entry{put("x", 1), put("y", 2)}, level: 5,
			want: "y#2 ",
		},
		{
			what: "a snapshot before the tombstone",
			l5:   []iterator.Entry{del("x", 100)}, l6: []iterator.Entry{put("x", 30)}, level: 5, snapshots: []uint64{50},
			want: "x#100,delete x#30 ",
		},
		{
			what: "a snapshot between versions at the bottom",
			l5:   []iterator.Entry{put("x", 60)}, l6: []iterator.Entry{put("x", 5), put("x", 3)}, level: 5, snapshots: []uint64{5},
			want: "x#60 x#5 ",
		},
		{
			what: "a snapshot of the empty store needs nothing",
			l5:   []iterator.Entry{put("x", 2)}, l6: []iterator.Entry{put("x", 1)}, level: 5, snapshots: []uint64{0},
			want: "x#2 ",
		},
	} {
		d := newTestDB(t, vfs.NewMem(), Options{})
		for level, entries := range map[int][]iterator.Entry{0: c.l0, 5: c.l5, 6: c.l6} {
			if len(entries) > 0 {
				d.load(level, entries)
			}
		}
		p := newPicker(d.v, d.o, State{OldestSnapshot: NoSnapshot})
		out := p.shape.base
		if c.level > 0 {
			out = c.level + 1
		}
		j := p.job(c.level, out, d.v.Levels[c.level].Tables, ReasonRange)
		j.Trivial = false
		d.run(j, 1, c.snapshots...)
		if got := draw(d.entries()); got != c.want {
			t.Errorf("%s: holds %s, want %s", c.what, got, c.want)
		}
	}
}

// A flush keeps what snapshots need, drops what nobody sees, and drops a
// tombstone only if no table may hold the key.
func TestFlush(t *testing.T) {
	mem := []iterator.Entry{
		entry("a", 12, key.Set, "3"), entry("a", 11, key.Set, "2"), entry("a", 10, key.Set, "1"),
		entry("b", 13, key.Delete, ""), entry("b", 9, key.Set, "1"),
		entry("m", 14, key.Delete, ""),
	}
	for _, c := range []struct {
		tables    string
		snapshots []uint64
		want      string
	}{
		{"", nil, "a#12 "},
		{"", []uint64{11}, "a#12 a#11 b#13,delete b#9 "},
		{"L0 1[k-n]", nil, "a#12 m#14,delete "},
		{"L6 1[k-n]", nil, "a#12 m#14,delete "},
		{"L3 1[n-z]", nil, "a#12 "},
	} {
		d := newTestDB(t, vfs.NewMem(), Options{})
		v := parseTree(t, c.tables)
		r, err := Flush(context.Background(), d.env(1, c.snapshots...), v, iterator.Slice(mem))
		if err != nil {
			t.Fatal(err)
		}
		d.install(0, r.Outputs)
		if got := draw(d.entries()); got != c.want {
			t.Errorf("over %q with snapshots %v: %s, want %s", c.tables, c.snapshots, got, c.want)
		}
	}
}

// A memtable of which nothing is left makes no table and no file.
func TestFlushOfNothing(t *testing.T) {
	d := newTestDB(t, vfs.NewMem(), Options{})
	for _, entries := range [][]iterator.Entry{nil, {entry("a", 1, key.Delete, "")}} {
		if r := d.flush(entries); len(r.Outputs) != 0 || r.Stats.In.Entries != uint64(len(entries)) {
			t.Errorf("%+v", r)
		}
	}
	if got := files(t, d.fs); len(got) != 0 {
		t.Errorf("files %v", got)
	}
}

// Outputs end near the table size, but all versions of a key are in one, and
// earlier where they would overlap too many grandparents.
func TestOutputsEnd(t *testing.T) {
	d := newTestDB(t, vfs.NewMem(), Options{TableSize: 2 << 10})
	var entries []iterator.Entry
	for i := range 200 {
		for v := range uint64(1 + 300*(i/100%2)*(i%100/99)) { // key 199 has 301 versions
			entries = append(entries, entry(fmt.Sprintf("k%03d", i), 1000-v, key.Set, fmt.Sprintf("%050d", i)))
		}
	}
	for chunk := range slices.Chunk(entries, 100) {
		d.load(0, chunk)
		break
	}
	d.load(0, entries[100:])
	p := newPicker(d.v, d.o, State{OldestSnapshot: NoSnapshot})
	j := p.job(0, 6, d.v.Levels[0].Tables, ReasonRange)
	j.Trivial = false
	r := d.run(j, 1, allSeqs(entries)...)
	if got := len(d.entries()); got != len(entries) || len(r.Outputs) < 5 {
		t.Fatalf("%d entries in %d tables, want %d", got, len(r.Outputs), len(entries))
	}
	for i, m := range r.Outputs {
		last := i == len(r.Outputs)-1
		if !last && (m.Size < 1<<10 || m.Size > 4<<10) {
			t.Errorf("table %v has %d bytes", m, m.Size)
		}
		if last && (string(m.Largest.User) != "k199" || m.Entries < 301) {
			t.Errorf("the last table is %v with %d entries", m, m.Entries)
		}
	}
}

// An output ends before it overlaps more than ten tables' worth of the level
// under it.
func TestOutputsSpareGrandparents(t *testing.T) {
	d := newTestDB(t, vfs.NewMem(), Options{TableSize: 1 << 20})
	var upper []iterator.Entry
	for i := range 400 {
		upper = append(upper, entry(fmt.Sprintf("k%03d", i), 10, key.Set, "v"))
	}
	d.load(4, upper[:200])
	d.load(5, upper[200:])
	var grandparents []*manifest.TableMeta
	for i := range 100 { // of 1 MiB each
		lo, hi := fmt.Sprintf("k%03d", 4*i), fmt.Sprintf("k%03d", 4*i+3)
		grandparents = append(grandparents, &manifest.TableMeta{
			Num: uint64(1000 + i), ID: uint64(1000 + i), Size: mib,
			Smallest: key.Make([]byte(lo), 1, key.Set), Largest: key.Make([]byte(hi), 1, key.Set),
		})
	}
	d.install(6, grandparents)
	p := newPicker(d.v, d.o, State{OldestSnapshot: NoSnapshot})
	j := p.job(4, 5, d.v.Levels[4].Tables, ReasonRange)
	j.Inputs[1], j.Trivial = d.v.Levels[5].Tables, false
	j.Grandparents = grandparents
	r, err := Run(context.Background(), d.env(1), j)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Outputs) < 9 {
		t.Errorf("only %d outputs", len(r.Outputs))
	}
	for _, m := range r.Outputs {
		if n := len(d.v.Overlaps(6, m.Smallest.User, m.Largest.User)); n > maxGrandparents+2 {
			t.Errorf("output %v overlaps %d tables", m, n)
		}
	}
}

// What a job returns survives a power cut: bytes and names are synced.
func TestOutputsAreDurable(t *testing.T) {
	mem := vfs.NewMem()
	d := newTestDB(t, mem, tiny)
	if err := mem.SyncDir("."); err != nil {
		t.Fatal(err)
	}
	d.flush(history("k", []key.Kind{key.Set, key.Set}), 1)
	d.fs = mem.Crash(0, 1)
	if got := draw(d.entries()); got != "k#2 k#1 " {
		t.Errorf("holds %s", got)
	}
}

// A job that is stopped at any entry leaves no file and says why.
func TestCancel(t *testing.T) {
	d := newTestDB(t, vfs.NewMem(), Options{TableSize: 1 << 10})
	for level, seq := range map[int]uint64{5: 2, 6: 1} {
		var entries []iterator.Entry
		for i := range 3000 {
			entries = append(entries, entry(fmt.Sprintf("k%04d", i), seq, key.Set, "some value"))
		}
		d.load(level, entries)
	}
	before := files(t, d.fs)
	reason := errors.New("the database closes")
	for at := 0; at < 5000; at += 700 {
		ctx, cancel := context.WithCancelCause(context.Background())
		n := 0
		d.wrap = func(_ *manifest.TableMeta, it iterator.Iterator) iterator.Iterator {
			return &counting{it, func() {
				if n++; n > at {
					cancel(reason)
				}
			}}
		}
		p := newPicker(d.v, d.o, State{OldestSnapshot: NoSnapshot})
		j := p.job(5, 6, d.v.Levels[5].Tables, ReasonRange)
		if _, err := Run(ctx, d.env(1), j); !errors.Is(err, reason) {
			t.Errorf("stopped at entry %d: %v", at, err)
		}
		if got := files(t, d.fs); !slices.Equal(got, before) {
			t.Errorf("stopped at entry %d: files %v, were %v", at, got, before)
		}
	}
}

// counting calls fn at each step.
type counting struct {
	iterator.Iterator
	fn func()
}

func (c *counting) Next() bool {
	c.fn()
	return c.Iterator.Next()
}
