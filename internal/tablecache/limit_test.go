package tablecache

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
	"github.com/siftkv/sift/internal/vfs"
)

// TestLimit: idle tables stay open up to the limit, and one that is used between
// all others is not among those that are closed.
func TestLimit(t *testing.T) {
	for _, limit := range []int{0, 1, 2, 10} {
		d, metas := newDisk(t, 50)
		c := d.cache(limit)
		for _, m := range metas[1:] {
			mustRead(t, c, metas[0])
			tab := mustAcquire(t, c, m)
			during := d.Handles()
			tab.Release()
			if n := d.Handles(); n > int64(limit) || during > int64(max(limit, 1)) {
				t.Fatalf("limit %d: %d files are open, with one in use %d", limit, n, during)
			}
		}
		if limit == 10 && d.opens() != int64(len(metas)) {
			t.Errorf("the table in constant use was opened %d times", d.opens()-int64(len(metas))+1)
		}
		mustClose(t, c)
		d.checkHandles(t, 0)
	}
}

// TestTablesInUseExceedTheLimit: they stay open, and are closed once released.
func TestTablesInUseExceedTheLimit(t *testing.T) {
	d, metas := newDisk(t, 20)
	c := d.cache(3)
	var used []*Table
	for _, m := range metas {
		used = append(used, mustAcquire(t, c, m))
	}
	d.checkHandles(t, 20)
	for i, tab := range used {
		must(t, checkValue(tab, metas[i]))
		tab.Release()
	}
	d.checkHandles(t, 3)
	mustClose(t, c)
}

// limitDescriptors makes opening fail with EMFILE while n files are open, as the
// system does, and returns the most that were open at a time.
func (d *disk) limitDescriptors(n int64) (most *atomic.Int64) {
	most = new(atomic.Int64)
	d.fault = func(op vfs.Op) error {
		h := d.Handles()
		for m := most.Load(); h > m && !most.CompareAndSwap(m, h); m = most.Load() {
		}
		if op.Kind == vfs.OpOpen && h >= n {
			return syscall.EMFILE
		}
		return nil
	}
	return most
}

// TestEMFILE: with fewer descriptors than the limit says, idle tables give theirs.
func TestEMFILE(t *testing.T) {
	d, metas := newDisk(t, 100)
	d.limitDescriptors(24)
	c := d.cache(1000)
	for range 2 {
		for _, m := range metas {
			mustRead(t, c, m)
		}
	}
	if c.Metrics().Evicted == 0 {
		t.Error("no table was closed")
	}
	mustClose(t, c)
	d.checkHandles(t, 0)
}

// TestEMFILEInARow (P064): the n-th to the n+5-th open fail, for all n. Each call
// gives the right answer or says EMFILE, and afterwards all is well.
func TestEMFILEInARow(t *testing.T) {
	for n := int64(1); n <= 45; n++ {
		d, metas := newDisk(t, 40)
		d.fault = func(op vfs.Op) error {
			if op.Kind == vfs.OpOpen && d.opens() >= n && d.opens() < n+6 {
				return syscall.EMFILE
			}
			return nil
		}
		c := d.cache(8)
		failed := 0
		for _, m := range metas {
			if err := checkRead(c, m); errors.Is(err, syscall.EMFILE) {
				failed++
			} else if err != nil {
				t.Fatal(err)
			}
		}
		// n tables are idle by then. A call fails once it has closed them; from then
		// on each try is a call's only one.
		if want := max(0, 6-int(n)); failed != want {
			t.Errorf("n=%d: %d calls failed, want %d", n, failed, want)
		}
		d.fault = nil
		for _, m := range metas {
			mustRead(t, c, m)
		}
		mustClose(t, c)
		d.checkHandles(t, 0)
	}
}

// TestErrorsInTheMiddleOfOpening (P188): whichever call of opening fails, nothing
// stays open and the next use succeeds.
func TestErrorsInTheMiddleOfOpening(t *testing.T) {
	for n := int64(1); ; n++ {
		d, metas := newDisk(t, 2)
		var calls atomic.Int64
		d.fault = func(vfs.Op) error {
			if calls.Add(1) == n {
				return syscall.EIO
			}
			return nil
		}
		c := d.cache(10)
		err := checkRead(c, metas[0])
		if err != nil && !errors.Is(err, syscall.EIO) {
			t.Fatalf("n=%d: %v", n, err)
		}
		open := c.Metrics().Open
		if d.Handles() != open || open > 1 {
			t.Errorf("n=%d: %d files are open, counted %d", n, d.Handles(), open)
		}
		d.fault = nil
		mustRead(t, c, metas[0])
		mustClose(t, c)
		d.checkHandles(t, 0)
		if calls.Load() < n {
			return
		}
	}
}

// blockReads makes reads wait until the returned function is called.
func (d *disk) blockReads() (release func()) {
	gate := make(chan struct{})
	d.fault = func(op vfs.Op) error {
		if op.Kind == vfs.OpRead {
			<-gate
		}
		return nil
	}
	return func() { close(gate) }
}

// TestOneOpens: of several goroutines that want a table at once one opens it, and
// all get it.
func TestOneOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, metas := newDisk(t, 1)
		c := d.cache(10)
		release := d.blockReads()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if err := checkRead(c, metas[0]); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		release()
		wg.Wait()
		if d.opens() != 1 {
			t.Errorf("opened %d times", d.opens())
		}
		mustClose(t, c)
	})
}

// TestAllHearOfTheError: waiting for a table that cannot be opened ends too.
func TestAllHearOfTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, metas := newDisk(t, 1)
		metas[0].ID++
		c := d.cache(10)
		release := d.blockReads()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if err := checkRead(c, metas[0]); !errors.Is(err, key.ErrCorrupt) {
					t.Errorf("error %v", err)
				}
			})
		}
		synctest.Wait()
		release()
		wg.Wait()
		d.checkHandles(t, 0)
		mustClose(t, c)
	})
}

// TestEvictAndCloseWhileOpening: the table serves those who asked for it, or not
// at all, and does not stay.
func TestEvictAndCloseWhileOpening(t *testing.T) {
	for _, closing := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d, metas := newDisk(t, 1)
			c := d.cache(10)
			release := d.blockReads()
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					if err := checkRead(c, metas[0]); errors.Is(err, key.ErrClosed) != closing || err != nil && !closing {
						t.Errorf("closing %v: error %v", closing, err)
					}
				})
			}
			synctest.Wait()
			if closing {
				mustClose(t, c)
			} else {
				c.Evict(1)
			}
			release()
			wg.Wait()
			d.checkHandles(t, 0)
			mustClose(t, c)
		})
	}
}

// TestCrowd (P146, P188): 500 tables, 16 readers, 20 iterators and one that makes
// tables obsolete, with small limits and few descriptors. Answers are right, the
// number of open files is bounded, and none is left.
func TestCrowd(t *testing.T) {
	const readers, iters, descriptors = 16, 20, 64
	d, metas := newDisk(t, 500)
	for _, limit := range []int{0, 1, 2, 10, 50} {
		t.Run(fmt.Sprint("limit=", limit), func(t *testing.T) {
			closed := d.Count(vfs.OpClose, "sst").Calls
			most := d.limitDescriptors(descriptors)
			c := d.cache(limit)
			var wg sync.WaitGroup
			for i := range readers {
				rng := rand.New(rand.NewPCG(uint64(i), uint64(limit)))
				wg.Go(func() { readAtRandom(t, c, metas, rng) })
			}
			for i := range iters {
				wg.Go(func() { walkSome(t, c, metas[i*25:]) })
			}
			wg.Go(func() {
				for _, m := range metas {
					c.Evict(m.Num)
				}
			})
			wg.Wait()
			if n := most.Load(); n > int64(max(limit+readers+iters, descriptors)) {
				t.Errorf("%d files were open at a time", n)
			}
			if n := d.Handles(); n > int64(limit) {
				t.Errorf("%d idle files are open", n)
			}
			mustClose(t, c)
			d.checkHandles(t, 0)
			closed = d.Count(vfs.OpClose, "sst").Calls - closed
			if m := c.Metrics(); m.Open != 0 || int64(m.Opens) != closed {
				t.Errorf("%+v, %d closes", m, closed)
			}
		})
	}
}

func readAtRandom(t *testing.T, c *Cache, metas []*manifest.TableMeta, rng *rand.Rand) {
	for range 300 {
		err := checkRead(c, metas[rng.IntN(1+rng.IntN(len(metas)))])
		if err != nil && !errors.Is(err, syscall.EMFILE) {
			t.Error(err)
			return
		}
	}
}

func walkSome(t *testing.T, c *Cache, metas []*manifest.TableMeta) {
	for _, m := range metas[:20] {
		it, err := c.NewIter(m)
		if errors.Is(err, syscall.EMFILE) {
			continue
		}
		if err != nil {
			t.Error(err)
			return
		}
		if !it.First() || string(it.Value()) != valueOf(m.Num) {
			t.Errorf("table %d: wrong value", m.Num)
		}
		if err := it.Close(); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkAcquire(b *testing.B) {
	d, metas := newDisk(b, 1000)
	c := d.cache(1000)
	for _, m := range metas {
		mustRead(b, c, m)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		tab, err := c.Acquire(metas[i])
		if err != nil {
			b.Fatal(err)
		}
		tab.Release()
		if i += 7; i >= len(metas) {
			i -= len(metas)
		}
	}
}
