package sift_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// A filter is read as it was built, whatever the options say now.
func TestP136_FilterFromTheFile(t *testing.T) {
	o := manual()
	o.FS = sift.NewMemFS()
	m, db := newModel(), open(t, "db", &o)
	rnd := rand.New(rand.NewPCG(136, 0))
	for i, bits := range []float64{10, 1, 20, 3} {
		for j := range 300 {
			write(t, db, m, put(fmt.Sprintf("%d/%03d", i, j), "v"))
		}
		must(t, db.Flush())
		o.Filter.BitsPerKey = bits
		db = reopen(t, db, "db", &o)
		must(t, m.head().check(db, rnd))
		if n := db.Metrics().Filters.Tables; n != i+1 {
			t.Errorf("%d filters in use, want %d", n, i+1)
		}
	}
	o.Filter = sift.FilterOptions{Off: true}
	db = reopen(t, db, "db", &o)
	must(t, m.head().check(db, rnd), db.Compact(nil, nil), m.head().check(db, rnd))
}

// An absent key costs no disk read where a filter says no, and each damaged
// filter bit leaves every stored key findable.
func TestP143_EveryFilterBit(t *testing.T) {
	disk := vfs.NewMem()
	o := manual()
	o.FS, o.Compression = disk, sift.NoCompression
	m, db := newModel(), open(t, "db", &o)
	for i := range 100 {
		write(t, db, m, put(fmt.Sprintf("%03d", i), ""))
	}
	must(t, db.Flush(), db.Close())
	all := mustFiles(t, disk, "db")
	table := named(all, ".sst")[0]
	want, found, damaged := m.head(), 0, 0
	step := pick2(*longForm, 1, 3)
	for at := len(all[table]) / 3; at < len(all[table]); at += step {
		bad := image(t, "db", all)
		must(t, writeFile(bad, "db/"+table, flipped(all[table], at, uint(at%8))))
		o := manual()
		o.FS = bad
		db, err := sift.Open("db", &o)
		if err != nil {
			wantCorrupt(t, fmt.Sprintf("byte %d: open", at), err, table)
			continue
		}
		for _, p := range want {
			v, err := db.Get([]byte(p.key))
			if err == nil && string(v) == p.value {
				found++
			} else {
				wantCorrupt(t, fmt.Sprintf("byte %d: Get(%s)", at, p.key), err, table)
			}
		}
		if db.Metrics().Filters.Damaged > 0 {
			damaged++
		}
		must(t, db.Close())
	}
	if damaged == 0 || found == 0 {
		t.Errorf("%d damaged filters were counted and %d keys found beside them: nothing was tested", damaged, found)
	}
}

// Filters change no result of a reverse walk or a seek, across prefixes.
func TestP140_SeekBackBesideFilters(t *testing.T) {
	for _, off := range []bool{false, true} {
		o := manual()
		o.Filter.Off, o.BlockSize = off, 64
		m, db := newModel(), openMem(t, o)
		for p := 1; p <= 99; p += 2 {
			for c := 'a'; c <= 'z'; c += 5 {
				write(t, db, m, put(fmt.Sprintf("p%02d%c", p, c), "v"))
			}
			if p%30 == 1 {
				must(t, db.Flush())
			}
		}
		c := newCursor(m.head(), iterOver(t, db, nil, nil))
		for p := range 100 {
			for _, tail := range []string{"", "a", "b", "f", "z", "zz"} {
				key := fmt.Sprintf("p%02d%s", p, tail)
				c.seekLT(key)
				if c.onEntry() {
					c.prev()
				}
				c.seekGE(key)
				if c.onEntry() {
					c.prev()
				}
			}
		}
		if c.err != nil {
			t.Errorf("filters off %v: %v", off, c.err)
		}
	}
}

// Blocks of a former database at the same place, with the same file numbers, are
// never served.
func TestP145_RecreatedDatabase(t *testing.T) {
	disk := vfs.NewMem()
	o := small()
	o.FS = disk
	var older map[string]string
	for round := range 12 {
		m, db := newModel(), open(t, "db", &o)
		for i := range 200 {
			write(t, db, m, put(fmt.Sprintf("%03d", i), strings.Repeat(fmt.Sprint(round), 60)))
		}
		must(t, db.Compact(nil, nil), m.head().check(db, rand.New(rand.NewPCG(145, 0))), db.Close())
		if older == nil {
			older = mustFiles(t, disk, "db")
		}
		disk = vfs.NewMem()
		if round%3 == 2 {
			disk = image(t, "db", older)
		}
		o.FS = disk
		if round%3 == 2 {
			db = open(t, "db", &o)
			v, err := db.Get([]byte("100"))
			if err != nil || string(v) != strings.Repeat("0", 60) {
				t.Errorf("round %d: the restored copy says %s, %v", round, brief(string(v)), err)
			}
			must(t, db.Close())
		}
	}
}

// A compaction that is split into parts loses nothing at their edges.
func TestP085_SplitCompaction(t *testing.T) {
	o := small()
	o.Workers, o.MemTableSize = 4, 64<<10
	n := pick2(*longForm, 10_000, 3_000)
	m, db := newModel(), openMem(t, o)
	for version := range 3 {
		for i := range n {
			write(t, db, m, put(fmt.Sprintf("k%05d", i), fmt.Sprint(version)))
		}
	}
	for i := 0; i < n; i += 2 {
		write(t, db, m, del(fmt.Sprintf("k%05d", i)))
	}
	must(t, db.Flush(), db.Compact(nil, nil), m.head().checkScans(db, nil, nil))
	if v := m.head(); len(v) != n/2 {
		t.Fatalf("the model has %d keys, want %d", len(v), n/2)
	}
	var entries uint64
	for _, l := range db.Metrics().Levels {
		entries += l.Entries
	}
	if entries != uint64(n/2) {
		t.Errorf("%d entries are left for %d keys after everything was compacted", entries, n/2)
	}
}

// Compactions by several workers, reopenings and kills: the database always
// opens, and in the end the tables on disk are the live ones.
func TestP056_WorkersAndReopenings(t *testing.T) {
	disk := vfs.NewMem()
	o := small()
	o.Workers, o.ManifestSize = 4, 2<<10
	m := newModel()
	rnd := rand.New(rand.NewPCG(56, 0))
	for round := range pick2(*longForm, 20, 6) {
		o.FS = disk
		db := open(t, "db", &o)
		must(t, m.head().check(db, rnd))
		for range 2_000 {
			write(t, db, m, put(fmt.Sprintf("%04d", rnd.IntN(1000)), strings.Repeat("v", rnd.IntN(100))))
		}
		if round%2 == 0 {
			disk = disk.Kill()
		}
		must(t, db.Close())
	}
	o.FS = disk
	db := open(t, "db", &o)
	must(t, m.head().check(db, rnd), db.Compact(nil, nil))
	eventually(t, "only live tables on disk", func() bool { return len(tablesOnDisk(t, disk)) == liveTables(db) })
}
