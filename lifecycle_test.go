package sift_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// A method is one call of a database, for the tests that make every one.
type method struct {
	name string
	call func(db *sift.DB) error
}

// methods are all methods of DB that can fail.
func methods() []method {
	k, v := []byte("k"), []byte("v")
	batch := func(db *sift.DB) *sift.Batch {
		b := db.NewBatch()
		_ = b.Put(k, v) // it is not too large
		return b
	}
	return []method{
		{"Get", func(db *sift.DB) error { _, err := db.Get(k); return err }},
		{"AppendGet", func(db *sift.DB) error { _, err := db.AppendGet(nil, k); return err }},
		{"Has", func(db *sift.DB) error { _, err := db.Has(k); return err }},
		{"Put", func(db *sift.DB) error { return db.Put(k, v, nil) }},
		{"Put NoSync", func(db *sift.DB) error { return db.Put(k, v, sift.NoSync) }},
		{"Delete", func(db *sift.DB) error { return db.Delete([]byte("absent"), nil) }},
		{"Apply", func(db *sift.DB) error { return db.Apply(batch(db), nil) }},
		{"Apply of an empty batch", func(db *sift.DB) error { return db.Apply(db.NewBatch(), nil) }},
		{"SyncWAL", (*sift.DB).SyncWAL},
		{"Flush", (*sift.DB).Flush},
		{"Compact", func(db *sift.DB) error { return db.Compact(nil, nil) }},
		{"NewIter", func(db *sift.DB) error { _, err := scan(db, nil, nil); return err }},
		{"Metrics", func(db *sift.DB) error {
			_ = db.Metrics().String()
			_, err := db.Has(k) // it cannot fail itself
			return err
		}},
		{"snapshot Has", func(db *sift.DB) error {
			s := db.NewSnapshot()
			_, err := s.Has(k)
			return errors.Join(err, ignoreClosed(s.Close()))
		}},
		{"snapshot AppendGet", func(db *sift.DB) error {
			s := db.NewSnapshot()
			_, err := s.AppendGet(nil, k)
			return errors.Join(err, ignoreClosed(s.Close()))
		}},
		{"snapshot Get", func(db *sift.DB) error {
			s := db.NewSnapshot()
			_, err := s.Get(k)
			return errors.Join(err, ignoreClosed(s.Close()))
		}},
		{"snapshot NewIter", func(db *sift.DB) error {
			s := db.NewSnapshot()
			_, err := scan(s, nil, nil)
			return errors.Join(err, ignoreClosed(s.Close()))
		}},
	}
}

func ignoreClosed(err error) error {
	if errors.Is(err, sift.ErrClosed) || errors.Is(err, sift.ErrReleased) {
		return nil
	}
	return err
}

// Every method after Close says so, and a second Close does no harm.
func TestMethodsAfterClose(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	db := openMem(t, small())
	must(t, db.Put([]byte("k"), []byte("v"), nil), db.Close())
	for _, m := range methods() {
		wantError(t, m.name, m.call(db), sift.ErrClosed)
	}
	must(t, ignoreClosed(db.Close()))
	if text := db.Metrics().String(); text == "" {
		t.Error("no report of the metrics after Close")
	}
}

// Every method beside Close works or says that it is closed; Close waits for
// those that have begun.
func TestMethodsDuringClose(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	rounds := 20
	if *longForm {
		rounds = 500
	}
	for range rounds {
		o := small()
		db := openMem(t, o)
		must(t, db.Put([]byte("k"), []byte("v"), nil))
		var wg sync.WaitGroup
		started := make(chan struct{}, len(methods()))
		for _, m := range methods() {
			wg.Go(func() {
				started <- struct{}{}
				for range 1000 {
					if err := m.call(db); errors.Is(err, sift.ErrClosed) {
						return
					} else if err != nil {
						t.Errorf("%s beside Close: %v", m.name, err)
						return
					}
				}
			})
		}
		for range methods() {
			<-started
		}
		err := db.Close()
		if err != nil && !strings.Contains(err.Error(), "iterator") && !strings.Contains(err.Error(), "snapshot") {
			t.Errorf("Close beside calls: %v", err)
		}
		wg.Wait()
	}
}

// Several goroutines close at once.
func TestCloseTwiceAtOnce(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for range 20 {
		db := openMem(t, small())
		must(t, db.Put([]byte("k"), nil, sift.NoSync))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := ignoreClosed(db.Close()); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
		}
		wg.Wait()
	}
}

// Close with iterators and snapshots open names how many there are, closes them,
// and leaves the directory unlocked.
func TestP176_LeakedReaders(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	o := small()
	mem := vfs.NewMem()
	o.FS = mem
	db, err := sift.Open("db", &o)
	must(t, err)
	for i := range 500 {
		must(t, db.Put(fmt.Appendf(nil, "%04d", i), []byte(strings.Repeat("v", 50)), sift.NoSync))
	}
	its := make([]*sift.Iterator, 3)
	for i := range its {
		its[i], err = db.NewIter(nil)
		must(t, err)
		its[i].First()
	}
	s1, s2 := db.NewSnapshot(), db.NewSnapshot()
	b := db.NewBatch()
	must(t, b.Put([]byte("k"), nil))

	err = db.Close()
	if err == nil || !strings.Contains(err.Error(), "3") || !strings.Contains(err.Error(), "2") {
		t.Errorf("Close with 3 iterators and 2 snapshots open: %v; want an error with both counts", err)
	}
	if n := mem.OpenFiles(); n != 0 {
		t.Errorf("%d files open after Close", n)
	}
	for _, it := range its {
		for name, move := range map[string]func() bool{
			"First": it.First, "Last": it.Last, "Next": it.Next, "Prev": it.Prev,
			"SeekGE": func() bool { return it.SeekGE([]byte("1")) },
			"SeekLT": func() bool { return it.SeekLT([]byte("1")) },
		} {
			if move(); it.Valid() {
				t.Errorf("%s after Close: the iterator is valid", name)
			}
			wantError(t, name+" after Close", it.Error(), sift.ErrClosed)
		}
		must(t, ignoreClosed(it.Close()))
	}
	for _, s := range []*sift.Snapshot{s1, s2} {
		_, err := s.Get([]byte("0001"))
		wantError(t, "snapshot Get after Close", err, sift.ErrClosed)
		_, err = s.NewIter(nil)
		wantError(t, "snapshot NewIter after Close", err, sift.ErrClosed)
		must(t, ignoreClosed(s.Close()))
	}
	wantError(t, "Apply after Close", db.Apply(b, nil), sift.ErrClosed)
	must(t, open(t, "db", &o).Close())
}

// A panic or an early return in a reader's loop leaves no lock behind.
func TestP178_PanicInALoop(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	defer watchdog(time60, t.Name)()
	db := openMem(t, small())
	for i := range 100 {
		must(t, db.Put(fmt.Append(nil, i), nil, sift.NoSync))
	}
	for step := range 5 {
		it := iterOver(t, db, nil, nil)
		func() {
			defer func() { _ = recover() }() // the panic is the test's own
			n := 0
			for range it.All() {
				if n++; n > step {
					panic("in the loop")
				}
			}
		}()
		for range it.All() {
			break
		}
		must(t, it.Close(), db.Put([]byte("k"), nil, nil), db.Flush())
	}
	must(t, db.Close())
}

// Nothing panics on an empty store, an empty batch, or one that was used before.
func TestP179_EmptyAndUsed(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	m, db := newModel(), openMem(t, small())
	for range 2 {
		must(t, db.Flush(), db.Compact(nil, nil), db.SyncWAL(), m.head().checkScans(db, nil, nil))
		must(t, db.Compact([]byte("b"), []byte("a")), db.Compact([]byte("a"), []byte("b")))
		for _, m := range methods() {
			empty := openMem(t, small())
			if err := m.call(empty); err != nil && !errors.Is(err, sift.ErrNotFound) {
				t.Errorf("%s on an empty store: %v", m.name, err)
			}
			must(t, empty.Close())
		}
	}
	b := db.NewBatch()
	must(t, db.Apply(b, nil), b.Put([]byte("a"), []byte("1")), db.Apply(b, nil), db.Apply(b, nil))
	m.apply(put("a", "1"))
	must(t, m.head().checkScans(db, nil, nil))
	b.Reset()
	if b.Len() != 0 {
		t.Errorf("a batch has %d writes after Reset", b.Len())
	}
	must(t, db.Apply(b, nil), b.Delete([]byte("a")), db.Apply(b, nil))
	m.apply(del("a"))
	var zero sift.Batch
	must(t, zero.Put([]byte("z"), nil), db.Apply(&zero, nil))
	m.apply(put("z", ""))
	must(t, m.head().checkScans(db, nil, nil), db.Close())
}

// A released snapshot says so; releasing it again does nothing.
func TestP181_ReleasedSnapshot(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	db := openMem(t, small())
	must(t, db.Put([]byte("k"), []byte("v"), nil))
	s := db.NewSnapshot()
	must(t, s.Close(), s.Close())
	_, err := s.Get([]byte("k"))
	wantError(t, "Get", err, sift.ErrReleased)
	_, err = s.AppendGet(nil, []byte("k"))
	wantError(t, "AppendGet", err, sift.ErrReleased)
	_, err = s.Has([]byte("k"))
	wantError(t, "Has", err, sift.ErrReleased)
	_, err = s.NewIter(nil)
	wantError(t, "NewIter", err, sift.ErrReleased)
	must(t, s.Close(), db.Close())
}

// A failed Open, at whichever of its calls, leaves no handle, lock or goroutine,
// and the next one finds all data.
func TestP013_P175_FailedOpenLetsGo(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := makeSpecimen(t, false)
	for n := int64(1); ; n++ {
		mem := image(t, "db", s.files)
		plan := &faultPlan{mode: faultModes[0], at: n, err: faultErrors[n%4]}
		o := manual()
		o.FS = vfs.NewFault(mem, plan.hook)
		db, err := sift.Open("db", &o)
		if err == nil {
			must(t, ignoreInjected(db.Close(), plan))
		}
		if open := mem.OpenFiles(); open != 0 {
			t.Errorf("call %d fails (%s): %d files open after Open: %v", n, plan, open, err)
		}
		o.FS = mem
		healthy := open(t, "db", &o)
		must(t, s.model.head().checkScans(healthy, nil, nil), healthy.Close())
		if !plan.struck() {
			return
		}
	}
}

func ignoreInjected(err error, plan *faultPlan) error {
	if errors.Is(err, plan.err) {
		return nil
	}
	return err
}

// Close waits for slow removals and running jobs, and leaves no file that nobody
// needs.
func TestP173_CloseBesideSlowRemovals(t *testing.T) {
	defer watchdog(time60, t.Name)()
	for _, job := range []func(*sift.DB) error{(*sift.DB).Flush, func(db *sift.DB) error { return db.Compact(nil, nil) }} {
		synctest.Test(t, func(t *testing.T) {
			mem := vfs.NewMem()
			mem.SetLatency(func(op vfs.Op) time.Duration {
				if op.Kind == vfs.OpRemove {
					return 50 * time.Millisecond
				}
				return 0
			})
			o := small()
			o.FS = mem
			db, err := sift.Open("db", &o)
			must(t, err)
			for i := range 1000 {
				must(t, db.Put(fmt.Append(nil, i%100), []byte(strings.Repeat("v", 200)), sift.NoSync))
			}
			ended := make(chan error, 1)
			go func() { ended <- job(db) }()
			must(t, db.Close(), ignoreClosed(<-ended))
			db, err = sift.Open("db", &o)
			must(t, err, db.Compact(nil, nil), db.Close())
			if tables := named(mustFiles(t, mem, "db"), ".sst"); len(tables) > 20 {
				t.Errorf("%d tables on disk for 100 keys: %v", len(tables), tables)
			}
		})
	}
}
