package sift_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/siftkv/sift"
)

// beside runs background work in a loop until the returned function is called,
// which waits for its end and reports its error.
func beside(t testing.TB, work ...func() error) (stop func()) {
	t.Helper()
	var wg sync.WaitGroup
	var stopped atomic.Bool
	for _, w := range work {
		wg.Go(func() {
			for !stopped.Load() {
				if err := w(); err != nil {
					t.Errorf("beside the test: %v", err)
					return
				}
			}
		})
	}
	return func() {
		stopped.Store(true)
		wg.Wait()
	}
}

// A reader sees a counter that never falls and never vanishes, while memtables
// are switched under it.
func TestP094_CounterNeverFalls(t *testing.T) {
	o := small()
	o.MemTableSize = 4 << 10
	risingCounter(t, o, 8_000, func(*sift.DB) error { return nil }, 0)
}

// The same while every few writes are flushed and compacted away under readers.
func TestP100_CounterBesideCompactions(t *testing.T) {
	risingCounter(t, small(), 5_000, func(db *sift.DB) error {
		return errors.Join(db.Flush(), db.Compact(nil, nil))
	}, 100)
}

func risingCounter(t *testing.T, o sift.Options, writes int, every func(*sift.DB) error, period int) {
	defer watchdog(time60, t.Name)()
	db := openMem(t, o)
	must(t, db.Put([]byte("c"), []byte("0"), sift.NoSync))
	readers := make([]func() error, 4)
	for i := range readers {
		last := 0
		readers[i] = func() error {
			v, err := db.Get([]byte("c"))
			if err != nil {
				return fmt.Errorf("get: %w", err)
			}
			n, err := strconv.Atoi(string(v))
			if err != nil || n < last {
				return fmt.Errorf("counter %q after %d (%v)", v, last, err)
			}
			last = n
			return nil
		}
	}
	stop := beside(t, readers...)
	defer stop()
	for i := range writes {
		must(t, db.Put([]byte("c"), fmt.Append(nil, i+1), sift.NoSync))
		if period > 0 && i%period == 0 {
			must(t, every(db))
		}
	}
}

// A scan beside flushes returns each key exactly once.
func TestP095_ScansBesideFlushes(t *testing.T) {
	defer watchdog(time60, t.Name)()
	db := openMem(t, small())
	const keys = 300
	put := func(i int, n int) error {
		return db.Put(fmt.Appendf(nil, "%04d", i), fmt.Append(nil, n), sift.NoSync)
	}
	for i := range keys {
		must(t, put(i, 0))
	}
	n := 0
	stop := beside(t, func() error {
		n++
		return errors.Join(put(n%keys, n), put(n*7%keys, n), db.Flush())
	})
	defer stop()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				if err := allKeysOnce(db, keys); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func allKeysOnce(db *sift.DB, keys int) error {
	v, err := scan(db, nil, nil)
	if err != nil {
		return err
	}
	if len(v) != keys {
		return fmt.Errorf("a scan found %d keys, want %d", len(v), keys)
	}
	for i, p := range v {
		if want := fmt.Sprintf("%04d", i); p.key != want {
			return fmt.Errorf("entry %d of a scan is %s, want %s", i, p.key, want)
		}
	}
	return nil
}

// A read finds what was acknowledged before it began, and nothing that was not
// begun when it ended, by every way of reading and beside flushes and
// compactions.
func TestReadsAreLinear(t *testing.T) {
	defer watchdog(time60, t.Name)()
	const keys = 4
	db := openMem(t, small())
	var begun, acked [keys]atomic.Int64
	key := func(k int) []byte { return fmt.Appendf(nil, "key%d", k) }
	check := func(how string, r reader, read func(r reader, k int) (int64, error)) error {
		var least [keys]int64
		for k := range least {
			least[k] = acked[k].Load()
		}
		if r == nil {
			s := db.NewSnapshot()
			defer s.Close() // it cannot fail here
			r = s
		}
		for k := range keys {
			n, err := read(r, k)
			if most := begun[k].Load(); err != nil || n < least[k] || n > most {
				return fmt.Errorf("%s of key %d: %d (%v), want %d to %d", how, k, n, err, least[k], most)
			}
		}
		return nil
	}
	get := func(r reader, k int) (int64, error) {
		v, err := r.Get(key(k))
		if errors.Is(err, sift.ErrNotFound) {
			return 0, nil
		}
		n, _ := strconv.ParseInt(string(v), 10, 64)
		return n, err
	}
	walk := func(r reader, k int) (int64, error) {
		v, err := scan(r, key(k), key(k+1))
		if err != nil || len(v) == 0 {
			return 0, err
		}
		return strconv.ParseInt(v[0].value, 10, 64)
	}
	stop := beside(t,
		func() error { return check("Get", db, get) },
		func() error { return check("a scan", db, walk) },
		func() error { return check("Get of a new snapshot", nil, get) },
		func() error { return check("a scan of a new snapshot", nil, walk) },
		func() error { return errors.Join(db.Flush(), db.Compact(nil, nil)) },
	)
	defer stop()
	var wg sync.WaitGroup
	for k := range keys {
		wg.Go(func() {
			for n := range int64(4_000) {
				begun[k].Store(n + 1)
				if err := db.Put(key(k), fmt.Append(nil, n+1), sift.NoSync); err != nil {
					t.Error(err)
					return
				}
				acked[k].Store(n + 1)
			}
		})
	}
	wg.Wait()
}

// Close beside writers and memtable switches neither hangs nor loses a durable
// write.
func TestP172_CloseBesideWriters(t *testing.T) {
	rounds := 60
	if *longForm {
		rounds = 500
	}
	for round := range rounds {
		closeBesideWriters(t, rand.New(rand.NewPCG(172, uint64(round))))
	}
}

func closeBesideWriters(t *testing.T, rnd *rand.Rand) {
	defer watchdog(time60, t.Name)()
	o := small()
	o.MemTableSize, o.FS = 2<<10, sift.NewMemFS()
	db, err := sift.Open("db", &o)
	must(t, err)
	var wg sync.WaitGroup
	var acked [4]int
	var total atomic.Int64
	closeAt := int64(rnd.IntN(400))
	closing := make(chan struct{})
	for w := range acked {
		wg.Go(func() {
			for i := 1; ; i++ {
				err := db.Put(fmt.Appendf(nil, "w%d", w), fmt.Append(nil, i), pick2(i%2 == 0, sift.Sync, sift.NoSync))
				if err != nil {
					if !errors.Is(err, sift.ErrClosed) {
						t.Errorf("put beside Close: %v", err)
					}
					return
				}
				acked[w] = i
				if total.Add(1) == closeAt+1 {
					close(closing)
				}
			}
		})
	}
	<-closing
	must(t, db.Close())
	wg.Wait()
	db = open(t, "db", &o)
	for w, n := range acked {
		v, err := db.Get(fmt.Appendf(nil, "w%d", w))
		if got, _ := strconv.Atoi(string(v)); got != n && n > 0 {
			t.Errorf("writer %d: %d after reopening (%v), want %d", w, got, err, n)
		}
	}
	must(t, db.Close())
}

func pick2[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}
