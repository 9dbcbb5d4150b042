package sift_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// A tableFault fails the N-th call of a kind on a table while it is armed.
type tableFault struct {
	kind  vfs.OpKind
	at    atomic.Int64 // the call that fails; 0 is disarmed
	run   int64        // and how many after it do
	err   error
	calls atomic.Int64
	hits  atomic.Int64
}

func (f *tableFault) arm(n int64) {
	f.hits.Store(0)
	f.calls.Store(0)
	f.at.Store(n)
}

func (f *tableFault) hook(op vfs.Op) error {
	at := f.at.Load()
	if at == 0 || op.Kind != f.kind || vfs.FileType(op.Name) != "sst" {
		return nil
	}
	if n := f.calls.Add(1); n < at || n > at+f.run {
		return nil
	}
	f.hits.Add(1)
	return f.err
}

// faultyTables is a closed database of several overlapping tables.
func faultyTables(t *testing.T, tables int) (*vfs.Mem, *model) {
	t.Helper()
	disk := vfs.NewMem()
	o := manual()
	o.FS = disk
	m, db := newModel(), open(t, "db", &o)
	rnd := rand.New(rand.NewPCG(65, 0))
	for table := range tables {
		for range 12 {
			key := fmt.Sprintf("%03d", rnd.IntN(100))
			if rnd.IntN(4) == 0 {
				write(t, db, m, del(key))
			} else {
				write(t, db, m, put(key, strings.Repeat(fmt.Sprint(table), 60)))
			}
		}
		must(t, db.Flush())
	}
	must(t, db.Close())
	return disk, m
}

// readingOptions keep nothing in memory, so that each read is a call.
func readingOptions(disk *vfs.Mem, f *tableFault) *sift.Options {
	o := manual()
	o.CacheSize, o.MaxOpenFiles, o.FS = 1, 1, vfs.NewFault(disk, f.hook)
	return &o
}

// A read that fails under an iterator ends the walk with an error: no gap is
// taken for the end or stepped over, and a later walk is whole.
func TestReadFaultUnderIterator(t *testing.T) {
	disk, m := faultyTables(t, 6)
	for _, kind := range []vfs.OpKind{vfs.OpRead, vfs.OpOpen} {
		f := &tableFault{kind: kind, err: syscall.EIO}
		db := open(t, "db", readingOptions(disk, f))
		for _, back := range []bool{false, true} {
			want := m.head()
			if back {
				slices.Reverse(want)
			}
			for n := int64(1); ; n++ {
				f.arm(n)
				got, err := walkOnce(db, back)
				hit := f.hits.Load() > 0
				f.arm(0)
				if err := prefixOrError(want, got, err, hit); err != nil {
					t.Fatalf("%v %d fails, backward %v: %v", kind, n, back, err)
				}
				if !hit {
					break
				}
			}
		}
		must(t, m.head().check(db, rand.New(rand.NewPCG(1, 1))), db.Close())
	}
}

// walkOnce scans; after the end it steps on, which must lead nowhere if the walk
// ended in an error.
func walkOnce(db *sift.DB, back bool) (view, error) {
	it, err := db.NewIter(nil)
	if err != nil {
		return nil, err
	}
	start, step := it.First, it.Next
	if back {
		start, step = it.Last, it.Prev
	}
	var v view
	for start(); it.Valid(); step() {
		v = append(v, pair{string(it.Key()), string(it.Value())})
	}
	err = it.Error()
	if err != nil {
		for range 3 {
			if it.Next(); it.Valid() {
				err = fmt.Errorf("Next goes on to %q after %w", it.Key(), err)
			}
			if it.Prev(); it.Valid() {
				err = fmt.Errorf("Prev goes on to %q after %w", it.Key(), err)
			}
		}
		if it.Error() == nil {
			err = fmt.Errorf("the error is forgotten: %w", err)
		}
	}
	if closeErr := it.Close(); closeErr != nil && err == nil {
		err = closeErr
	}
	return v, err
}

// prefixOrError accepts the whole sequence without an error, or a part of it
// with the injected one.
func prefixOrError(want, got view, err error, hit bool) error {
	switch {
	case err == nil:
		return want.diff(got)
	case !hit || !errors.Is(err, syscall.EIO) || strings.Contains(err.Error(), "goes on"):
		return fmt.Errorf("unexpected error: %w", err)
	case len(got) > len(want):
		return fmt.Errorf("%d entries before the error, of %d", len(got), len(want))
	}
	return want[:len(got)].diff(got)
}

// A read that fails under Get is an error, never "not found".
func TestReadFaultUnderGet(t *testing.T) {
	disk, m := faultyTables(t, 6)
	f := &tableFault{kind: vfs.OpRead, err: syscall.EIO}
	db := open(t, "db", readingOptions(disk, f))
	for _, p := range m.head() {
		for n := int64(1); ; n++ {
			f.arm(n)
			v, err := db.Get([]byte(p.key))
			hit := f.hits.Load() > 0
			f.arm(0)
			if err == nil && string(v) != p.value || err != nil && !errors.Is(err, syscall.EIO) {
				t.Fatalf("read %d fails: Get(%s) = %s, %v", n, p.key, brief(string(v)), err)
			}
			if !hit {
				break
			}
		}
	}
}

// A table that cannot be opened or read while a compaction runs: the compaction
// keeps its inputs, and no key is lost.
func TestP064_P065_CompactionInputFails(t *testing.T) {
	for _, kind := range []vfs.OpKind{vfs.OpOpen, vfs.OpRead} {
		for n := int64(1); ; n++ {
			disk, m := faultyTables(t, 8)
			f := &tableFault{kind: kind, err: pick2[error](kind == vfs.OpOpen, syscall.EMFILE, syscall.EIO), run: 2}
			db := open(t, "db", readingOptions(disk, f))
			f.arm(n)
			err := db.Compact(nil, nil)
			hit := f.hits.Load() > 0
			f.arm(0)
			if err != nil && !hit {
				t.Fatalf("Compact: %v", err)
			}
			if err := m.head().check(db, rand.New(rand.NewPCG(2, 2))); err != nil {
				t.Fatalf("%v %d fails (Compact: %v): %v", kind, n, err, err)
			}
			_ = db.Close() // it may report the failed job
			o := manual()
			o.FS = disk
			db = open(t, "db", &o)
			must(t, m.head().check(db, rand.New(rand.NewPCG(2, 3))), db.Compact(nil, nil), m.head().check(db, rand.New(rand.NewPCG(2, 4))), db.Close())
			if !hit {
				break
			}
		}
	}
}

// Behind a damaged block an iterator serves nothing by stepping; a seek to a
// healthy place may work.
func TestP067_DamagedBlock(t *testing.T) {
	disk, m := faultyTables(t, 1)
	all := mustFiles(t, disk, "db")
	table := named(all, ".sst")[0]
	want := m.head()
	for at := 0; at < len(all[table])/2; at += 97 {
		changed := image(t, "db", all)
		must(t, writeFile(changed, "db/"+table, flipped(all[table], at, 3)))
		o := manual()
		o.FS = changed
		db, err := sift.Open("db", &o)
		if err != nil {
			wantCorrupt(t, "open", err, table)
			continue
		}
		got, err := walkOnce(db, false)
		if err != nil {
			wantCorrupt(t, fmt.Sprintf("byte %d", at), err, table)
			err = want[:min(len(got), len(want))].diff(got)
		} else {
			err = want.diff(got)
		}
		if err != nil {
			t.Errorf("byte %d: %v", at, err)
		}
		must(t, db.Close())
	}
}

// A compaction that cannot read its input is tried again only now and then, and
// what it wrote is removed.
func TestP074_FailingJobBacksOff(t *testing.T) {
	defer watchdog(time60, t.Name)()
	synctest.Test(t, func(t *testing.T) {
		disk, m := faultyTables(t, 3)
		created, failures, armed := atomic.Int64{}, atomic.Int64{}, atomic.Bool{}
		victim := named(mustFiles(t, disk, "db"), ".sst")[0]
		o := small()
		o.CacheSize, o.MaxOpenFiles, o.Compaction.L0Compact = 1, 1, 4
		o.FS = vfs.NewFault(disk, func(op vfs.Op) error {
			if op.Kind == vfs.OpCreate && vfs.FileType(op.Name) == "sst" {
				created.Add(1)
			}
			if armed.Load() && op.Kind == vfs.OpRead && strings.HasSuffix(op.Name, victim) {
				failures.Add(1)
				return syscall.EIO
			}
			return nil
		})
		db, err := sift.Open("db", &o)
		must(t, err)
		armed.Store(true)
		write(t, db, m, put("fourth", "v"))
		must(t, db.Flush())
		<-time.After(time.Minute)
		if n := failures.Load(); n < 2 || n > 60 || created.Load() > 60 {
			t.Errorf("in a minute of failures the job was tried %d times and began %d tables", n, created.Load())
		}
		if tables := tablesOnDisk(t, disk); len(tables) > 5 {
			t.Errorf("4 tables are live, on disk are %v", tables)
		}
		armed.Store(false)
		<-time.After(time.Minute)
		if n := db.Metrics().Levels[0].Tables; n >= 4 {
			t.Errorf("%d tables are left in level 0 a minute after the disk was well again", n)
		}
		must(t, m.head().check(db, rand.New(rand.NewPCG(74, 0))), db.Close())
	})
}

// One manifest write fails at the commit of a compaction: its inputs are not
// marked as busy for ever.
func TestP167_ManifestWriteFailsOnce(t *testing.T) {
	for _, kind := range []vfs.OpKind{vfs.OpAppend, vfs.OpSync} {
		inTime(t, 10*time.Minute, func(t *testing.T) {
			armed := atomic.Bool{}
			o := small()
			o.FS = vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
				if op.Kind == kind && vfs.FileType(op.Name) == "MANIFEST" && armed.CompareAndSwap(true, false) {
					return syscall.EIO
				}
				return nil
			})
			m := newModel()
			db, err := sift.Open("db", &o)
			must(t, err)
			for i := range 200 {
				write(t, db, m, put(fmt.Sprintf("%03d", i), strings.Repeat("v", 100)))
			}
			armed.Store(true)
			_ = db.Flush() // this or a later job meets the fault
			_ = db.Compact(nil, nil)
			<-time.After(time.Minute)
			for i := range 2000 {
				write(t, db, m, put(fmt.Sprintf("%03d", i%200), strings.Repeat("w", 100)))
			}
			must(t, db.Flush())
			<-time.After(time.Minute)
			if n := db.Metrics().Levels[0].Tables; n > o.Compaction.L0Slow {
				t.Errorf("%v: %d tables are left in level 0", kind, n)
			}
			must(t, m.head().check(db, rand.New(rand.NewPCG(167, 0))), db.Close())
		})
	}
}
