package sift_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// liveTables is how many tables the levels hold.
func liveTables(db *sift.DB) int {
	n := 0
	for _, l := range db.Metrics().Levels {
		n += l.Tables
	}
	return n
}

// tablesOnDisk are the names of the tables, also of those that wait for their
// removal.
func tablesOnDisk(t testing.TB, disk *vfs.Mem) []string {
	t.Helper()
	names, err := disk.List("db")
	must(t, err)
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".sst") })
}

// After many overwrites and manifest rotations the tables on disk are those that
// are live, and no others.
func TestP058_NoLeakedTables(t *testing.T) {
	disk := vfs.NewMem()
	o := small()
	o.FS, o.ManifestSize = disk, 4<<10
	m, db := newModel(), open(t, "db", &o)
	rounds := pick2(*longForm, 50, 5)
	for round := range rounds {
		for i := range 1000 {
			write(t, db, m, put(fmt.Sprintf("%04d", i), strings.Repeat(fmt.Sprint(round), 200)))
		}
	}
	must(t, db.Flush(), db.Compact(nil, nil))
	live := 0
	eventually(t, "only live tables on disk", func() bool {
		live = liveTables(db)
		return len(tablesOnDisk(t, disk)) == live
	})
	must(t, db.Close())
	for range 2 {
		all := mustFiles(t, disk, "db")
		if tables := named(all, ".sst"); len(tables) != live {
			t.Errorf("%d tables on disk, %d live: %v", len(tables), live, tables)
		}
		if n := len(named(all, "MANIFEST-")); n != 1 {
			t.Errorf("%d manifests", n)
		}
		var size int
		for _, data := range all {
			size += len(data)
		}
		if limit := 3 * 1000 * 200; size > limit {
			t.Errorf("the directory holds %d bytes, want at most %d", size, limit)
		}
		db = open(t, "db", &o)
		must(t, m.head().check(db, rand.New(rand.NewPCG(58, 0))))
		live = liveTables(db)
		must(t, db.Close())
	}
}

// Failed opens leave no manifest or other file behind.
func TestP059_FailedOpensLeaveNothing(t *testing.T) {
	s := makeSpecimen(t, true)
	log := newestLog(s.files)
	disk := s.with(t, log, flipped(s.files[log], strings.Index(s.files[log], "tail0"), 1))
	before := mustFiles(t, disk, "db")
	o := manual()
	o.FS = disk
	for range 20 {
		_, err := sift.Open("db", &o)
		wantCorrupt(t, "open with a damaged log", err, log)
		unchanged(t, before, mustFiles(t, disk, "db"))
	}
	if n := disk.OpenFiles(); n != 0 {
		t.Errorf("%d files open", n)
	}
}

// No table is removed twice or while it is live, and a removal that fails does
// not stop anything.
func TestP077_Removals(t *testing.T) {
	defer watchdog(time60, t.Name)()
	removed, failing := sync.Map{}, atomic.Bool{}
	disk := vfs.NewMem()
	o := small()
	o.FS = vfs.NewFault(disk, func(op vfs.Op) error {
		if op.Kind != vfs.OpRemove || vfs.FileType(op.Name) != "sst" {
			return nil
		}
		if failing.Load() {
			return errInjected
		}
		if _, twice := removed.LoadOrStore(op.Name, true); twice {
			t.Errorf("%s is removed twice", op.Name)
		}
		return nil
	})
	m, db := newModel(), open(t, "db", &o)
	stop := beside(t,
		func() error { return db.Flush() },
		func() error { return db.Compact(nil, nil) },
		func() error { _, err := scan(db, nil, nil); return err },
	)
	for i := range 6000 {
		write(t, db, m, put(fmt.Sprintf("%03d", i%300), strings.Repeat("v", 50)))
	}
	stop()
	must(t, m.head().check(db, rand.New(rand.NewPCG(77, 0))))
	failing.Store(true)
	for i := range 300 {
		write(t, db, m, put(fmt.Sprintf("%03d", i), "w"))
	}
	must(t, db.Compact(nil, nil), m.head().check(db, rand.New(rand.NewPCG(77, 1))), db.Close())
	failing.Store(false)
	db = open(t, "db", &o)
	must(t, m.head().check(db, rand.New(rand.NewPCG(77, 2))))
	live := liveTables(db)
	must(t, db.Close())
	if tables := named(mustFiles(t, disk, "db"), ".sst"); len(tables) != live {
		t.Errorf("%d tables on disk, %d live", len(tables), live)
	}
}

// More data than the sum of all levels' targets.
func TestP088_VeryDeepTree(t *testing.T) {
	defer watchdog(time60, t.Name)()
	o := tiny()
	o.MemTableSize, o.Compaction.BaseLevelSize = 16<<10, 1<<10
	size := pick2(*longForm, 4<<20, 512<<10)
	m, db := newModel(), openMem(t, o)
	rnd := rand.New(rand.NewPCG(88, 0))
	for i := range size / 200 {
		value := make([]byte, 180)
		for j := range value {
			value[j] = byte(rnd.Uint32())
		}
		write(t, db, m, put(fmt.Sprintf("%08d", i*7919%100_003), string(value)))
	}
	must(t, m.head().checkScans(db, nil, nil), db.Compact(nil, nil), m.head().check(db, rnd))
}

// Parallel compactions of random ranges beside automatic ones.
func TestP092_ParallelCompactions(t *testing.T) {
	defer watchdog(time60, t.Name)()
	o := small()
	o.Workers = 4
	m, db := newModel(), openMem(t, o)
	compact := func(seed uint64) func() error {
		rnd := rand.New(rand.NewPCG(92, seed))
		return func() error {
			lo := rnd.IntN(2000)
			return db.Compact(fmt.Appendf(nil, "%05d", lo), fmt.Appendf(nil, "%05d", lo+rnd.IntN(500)))
		}
	}
	rnd := rand.New(rand.NewPCG(92, 9))
	stop := beside(t, compact(1), compact(2))
	for i := range pick2(*longForm, 200_000, 12_000) {
		key := fmt.Sprintf("%05d", rnd.IntN(2000))
		if rnd.IntN(10) < 4 {
			write(t, db, m, del(key))
		} else {
			write(t, db, m, put(key, fmt.Sprint(i)))
		}
		if i%4000 == 3999 {
			must(t, m.head().checkScans(db, nil, nil))
		}
	}
	stop()
	must(t, m.head().check(db, rnd))
}

// The newest version wins, whatever the numbers of the tables that hold it.
func TestP091_AgeIsNotNumber(t *testing.T) {
	o := small()
	o.FS, o.Workers = sift.NewMemFS(), 4
	m, db := newModel(), open(t, "db", &o)
	rnd := rand.New(rand.NewPCG(91, 0))
	for round := range 10 {
		for i := range 300 {
			write(t, db, m, put(fmt.Sprintf("%02d", i%20), fmt.Sprintf("%d/%0100d", round, i)))
		}
		db = reopen(t, db, "db", &o)
		must(t, m.head().check(db, rnd))
	}
}

// After every plain reopening new writes are newer than all old ones.
func TestP101_SequenceAfterReopen(t *testing.T) {
	o := manual()
	o.FS = sift.NewMemFS()
	m, db := newModel(), open(t, "db", &o)
	rnd := rand.New(rand.NewPCG(101, 0))
	for round := range 6 {
		for i := range 50 {
			write(t, db, m, put("x", fmt.Sprintf("%d/%d", round, i)))
		}
		if round%2 == 0 {
			must(t, db.Flush())
		}
		if round%3 == 2 {
			must(t, db.Compact(nil, nil))
		}
		db = reopen(t, db, "db", &o)
		must(t, m.head().check(db, rnd))
		write(t, db, m, put("x", "new"))
		must(t, m.head().check(db, rnd))
	}
}

// Few open files, no cache, many tables, readers and a compaction: the number of
// handles stays near the limit.
func TestP146_P188_FewOpenFiles(t *testing.T) {
	for _, limit := range []int{1, 2, 10} {
		disk := vfs.NewMem()
		o := manual()
		o.FS, o.CacheSize, o.MaxOpenFiles, o.MemTableSize = disk, 1, limit, 4<<10
		m, db := newModel(), open(t, "db", &o)
		for i := range 2000 {
			write(t, db, m, put(fmt.Sprintf("%05d", i), fmt.Sprintf("%030d", i)))
		}
		must(t, db.Flush())
		tables := liveTables(db)
		if tables < 30 {
			t.Fatalf("only %d tables", tables)
		}
		most := 0
		v := m.head()
		for i := 0; i < len(v); i += 7 {
			must(t, v.checkGet(db, v[i].key))
			most = max(most, disk.OpenFiles())
		}
		if most > limit+20 {
			t.Errorf("limit %d: %d files open while %d tables are read one by one", limit, most, tables)
		}
		var wg sync.WaitGroup
		for r := range 8 {
			rnd := rand.New(rand.NewPCG(146, uint64(r)))
			wg.Go(func() {
				for range 200 {
					p := v[rnd.IntN(len(v))]
					if err := v.checkGet(db, p.key); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		err := db.Compact(nil, nil)
		wg.Wait()
		must(t, err, v.checkScans(db, nil, nil))
		if n := disk.OpenFiles(); n > limit+20 {
			t.Errorf("limit %d: %d files open afterwards", limit, n)
		}
		must(t, db.Close())
		if n := disk.OpenFiles(); n != 0 {
			t.Errorf("limit %d: %d files open after Close", limit, n)
		}
	}
}

// Writers beside a loop of flushes and syncs of the log: no bytes of two records
// mix, so reopening finds all of them.
func TestP208_SyncsBesideWriters(t *testing.T) {
	defer watchdog(time60, t.Name)()
	disk := vfs.NewMem()
	o := small()
	o.FS, o.MemTableSize = disk, 64<<10
	db := open(t, "db", &o)
	stop := beside(t, db.SyncWAL, db.Flush)
	var wg sync.WaitGroup
	errs := make([]error, 6)
	for w := range errs {
		wg.Go(func() {
			for i := range 500 {
				errs[w] = errors.Join(errs[w], db.Put(fmt.Appendf(nil, "%d/%04d", w, i), fmt.Appendf(nil, "%0200d", i), sift.NoSync))
			}
		})
	}
	wg.Wait()
	stop()
	must(t, errs...)
	o.FS = disk.Kill()
	after := open(t, "db", &o)
	v, err := scan(after, nil, nil)
	if must(t, err); len(v) != 500*len(errs) {
		t.Fatalf("%d keys after a kill, want %d", len(v), 500*len(errs))
	}
	for _, p := range v {
		var w, i int
		if _, err := fmt.Sscanf(p.key, "%d/%d", &w, &i); err != nil || p.value != fmt.Sprintf("%0200d", i) {
			t.Fatalf("%s = %s", p.key, brief(p.value))
		}
	}
}

// A table that the system will not let us look at is not said to be damaged.
func TestRefusedStatIsNoDamage(t *testing.T) {
	disk := vfs.NewMem()
	o := manual()
	o.FS = disk
	db := open(t, "db", &o)
	must(t, db.Put([]byte("a"), []byte("1"), sift.Sync), db.Flush(), db.Close())
	o.FS = vfs.NewFault(disk, func(op vfs.Op) error {
		if op.Kind == vfs.OpStat && strings.HasSuffix(op.Name, ".sst") {
			return syscall.EACCES
		}
		return nil
	})
	_, err := sift.Open("db", &o)
	if !errors.Is(err, syscall.EACCES) || errors.Is(err, sift.ErrCorrupt) {
		t.Errorf("open: %v; want the system's error and no word of damage", err)
	}
}
