package wal

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

const syncTime = time.Millisecond

// slowSync returns a file system whose syncs of files take syncTime, and a
// counter of them.
func slowSync() (*vfs.Mem, *syncCount) {
	m, c := vfs.NewMem(), &syncCount{}
	m.SetLatency(func(op vfs.Op) time.Duration {
		if op.Kind != vfs.OpSync {
			return 0
		}
		c.add(op.Name)
		return syncTime
	})
	return m, c
}

// pass lets time pass in a synctest bubble.
func pass(d time.Duration) { <-time.After(d) }

type syncCount struct {
	mu    sync.Mutex
	names []string
}

func (c *syncCount) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names = append(c.names, name)
}

// Callers that arrive during a sync are all served by the next one, which
// starts at once; an append during a sync does not wait.
func TestSyncTimetable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, count := slowSync()
		w := mustCreate(t, m, logPath, 7, Options{})
		start := time.Now()
		var wg sync.WaitGroup
		call := func(at, want time.Duration) {
			pass(at - time.Since(start))
			end := mustAppend(t, w, payload(1, 100))
			if d := time.Since(start); d != at {
				t.Errorf("append at %v ended at %v", at, d)
			}
			wg.Go(func() {
				if err := w.Sync(end); err != nil {
					t.Error(err)
				}
				if d := time.Since(start); d != want {
					t.Errorf("sync called at %v returned at %v, want %v", at, d, want)
				}
			})
			synctest.Wait()
		}
		call(0, syncTime)
		for i := range 9 {
			call(time.Duration(i+1)*syncTime/10, 2*syncTime)
		}
		call(3*syncTime/2, 3*syncTime)
		wg.Wait()
		if len(count.names) != 3 {
			t.Errorf("%d syncs, want 3", len(count.names))
		}
	})
}

// Many callers share syncs, and none waits for more than the one that runs and
// the next.
func TestGroupCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, count := slowSync()
		w := mustCreate(t, m, logPath, 7, Options{})
		const callers, rounds = 16, 50
		var commit sync.Mutex
		var wg sync.WaitGroup
		for c := range callers {
			wg.Go(func() {
				for range rounds {
					commit.Lock()
					end := mustAppend(t, w, payload(c, 100))
					commit.Unlock()
					called := time.Now()
					if err := w.Sync(end); err != nil {
						t.Error(err)
					}
					if d := time.Since(called); d > 2*syncTime {
						t.Errorf("a sync took %v", d)
					}
					if w.Synced() < end {
						t.Errorf("Synced() = %d after Sync(%d)", w.Synced(), end)
					}
				}
			})
		}
		wg.Wait()
		if n := len(count.names); n > 2*rounds+1 {
			t.Errorf("%d syncs for %d calls", n, callers*rounds)
		}
	})
}

// When every sync starts the moment that the one before ends, the marks still
// lag by no more than one sync, thanks to mark records.
func TestMarksOfPipelinedSyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := slowSync()
		w := mustCreate(t, m, logPath, 7, Options{})
		var wg sync.WaitGroup
		for i := range 20 {
			end := mustAppend(t, w, payload(i, 100))
			wg.Go(func() {
				if err := w.Sync(end); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			pass(syncTime * 2 / 3)
		}
		wg.Wait()
		recs := dissect(t, readFile(t, m, logPath), 7)
		var groupStart, mark int64
		for _, r := range recs {
			if r.start%sectorSize == 0 {
				if groupStart > 0 && mark < lastEndBefore(recs, groupStart) {
					t.Errorf("group at %d: mark %d, but the groups before it end at %d", groupStart, mark, lastEndBefore(recs, groupStart))
				}
				groupStart = r.start
			}
			mark = max(mark, r.mark)
		}
	})
}

func lastEndBefore(recs []placed, off int64) int64 {
	var end int64
	for _, r := range recs {
		if r.end <= off {
			end = r.end
		}
	}
	return end
}

// failing is a file system whose calls fail when hook says so. A hook may also
// let part of an append through first.
type failing struct {
	*vfs.Mem
	hook func(kind vfs.OpKind, name string) error
}

type failingFile struct {
	vfs.File
	name string
	hook func(kind vfs.OpKind, name string) error
}

// errPartial is an error after part of an append was done; errDone one after
// all of it was.
var (
	errPartial = fmt.Errorf("half done: %w", syscall.EIO)
	errDone    = fmt.Errorf("done all the same: %w", syscall.EIO)
)

func (f failing) Create(name string) (vfs.File, error) {
	if err := f.hook(vfs.OpCreate, name); err != nil {
		return nil, err
	}
	inner, err := f.Mem.Create(name)
	return failingFile{inner, name, f.hook}, err
}

func (f failingFile) Append(p []byte) error {
	err := f.hook(vfs.OpAppend, f.name)
	switch {
	case err == nil || errors.Is(err, errDone):
		return errors.Join(err, f.File.Append(p))
	case errors.Is(err, errPartial):
		return errors.Join(err, f.File.Append(p[:len(p)/2]))
	}
	return err
}

func (f failingFile) Sync() error {
	err := f.hook(vfs.OpSync, f.name)
	if err == nil || errors.Is(err, errDone) {
		err = errors.Join(err, f.File.Sync())
	}
	return err
}

func (f failingFile) Skip(off int64) error {
	if err := f.hook(vfs.OpSkip, f.name); err != nil {
		return err
	}
	return f.File.Skip(off)
}

func (f failingFile) Allocate(n int64) error {
	if err := f.hook(vfs.OpAllocate, f.name); err != nil {
		return err
	}
	return f.File.Allocate(n)
}

func (f failingFile) Close() error {
	return errors.Join(f.hook(vfs.OpClose, f.name), f.File.Close())
}

// failAt makes the n-th call of a kind fail.
func failAt(kind vfs.OpKind, n int, err error) func(vfs.OpKind, string) error {
	var mu sync.Mutex
	return func(k vfs.OpKind, _ string) error {
		mu.Lock()
		defer mu.Unlock()
		if k != kind {
			return nil
		}
		if n--; n == 0 {
			return err
		}
		return nil
	}
}

// Whatever call fails, and however much of it was done: the failure is
// reported, it stays, nothing after it is acknowledged, and everything
// acknowledged before is read again.
func TestFailures(t *testing.T) {
	for _, kind := range []vfs.OpKind{vfs.OpCreate, vfs.OpAppend, vfs.OpSync, vfs.OpSkip, vfs.OpClose} {
		for _, cause := range []error{syscall.EIO, syscall.ENOSPC, errPartial, errDone} {
			failed := false
			for n := 1; n == 1 || failed; n++ {
				failed = failOnce(t, kind, n, cause)
			}
		}
	}
}

// failOnce runs a small load whose n-th call of a kind fails, and reports
// whether there was such a call.
func failOnce(t *testing.T, kind vfs.OpKind, n int, cause error) bool {
	t.Helper()
	what := fmt.Sprintf("%v %d fails with %v", kind, n, cause)
	m := vfs.NewMem()
	w, failure := Create(failing{m, failAt(kind, n, cause)}, logPath, 7, Options{})
	if failure != nil {
		if _, err := m.Stat(logPath); err == nil || m.OpenFiles() != 0 {
			t.Fatalf("%s: Create failed and left a file or a handle", what)
		}
		return true
	}
	var want [][]byte
	acked, durable := 0, 0
	for i := range 20 {
		p := payload(i, 20000>>i)
		want = append(want, p)
		end, err := w.Append(p)
		if err == nil {
			acked++
		}
		if err == nil && i%3 == 0 {
			if err = w.Sync(end); err == nil {
				durable = acked
			}
		}
		if failure == nil {
			failure = err
		}
		if failure != nil && !errors.Is(err, cause) {
			t.Fatalf("%s: later call returned %v", what, err)
		}
	}
	// What was appended before a failed append can still be made durable; after a
	// failed sync nothing can.
	switch err := w.SyncAll(); {
	case failure == nil:
		failure = err
	case kind == vfs.OpSync && !errors.Is(err, cause), kind != vfs.OpSync && err != nil:
		t.Fatalf("%s: SyncAll returned %v", what, err)
	}
	if err := w.Close(); failure == nil {
		failure = err
	} else if !errors.Is(err, cause) {
		t.Fatalf("%s: Close returned %v", what, err)
	}
	if failure != nil && !errors.Is(failure, cause) || m.OpenFiles() != 0 {
		t.Fatalf("%s: %v, %d files open", what, failure, m.OpenFiles())
	}
	recovered(t, what+", then kill", m.Kill(), want, acked)
	if durable > 0 {
		recovered(t, what+", then power cut", m.Crash(0, 1), want, durable)
	}
	return failure != nil
}

// recovered fails unless the log yields a prefix of want with at least so many
// records.
func recovered(t *testing.T, what string, fsys vfs.FS, want [][]byte, atLeast int) {
	t.Helper()
	got, _, err := read(t, fsys, logPath, 7)
	if err != nil || len(got) < atLeast {
		t.Fatalf("%s: %d records, %v; want at least %d", what, len(got), err, atLeast)
	}
	wantPrefix(t, what, got, want, len(got))
}

// A refused reservation is no failure.
func TestAllocateFails(t *testing.T) {
	m := vfs.NewMem()
	hook := func(k vfs.OpKind, _ string) error {
		if k == vfs.OpAllocate {
			return syscall.ENOSPC
		}
		return nil
	}
	w, err := Create(failing{m, hook}, logPath, 7, Options{Preallocate: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, w, payload(0, 100))
	mustClose(t, w)
}

// When a sync fails, all who wait for it or for the next one get the error, and
// nobody hangs.
func TestSyncFailureReachesAllWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := slowSync()
		w, err := Create(failing{m, func(k vfs.OpKind, _ string) error {
			if k == vfs.OpSync {
				pass(syncTime)
				return syscall.EIO
			}
			return nil
		}}, logPath, 7, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for i := range 10 {
			end := mustAppend(t, w, payload(i, 10))
			wg.Go(func() {
				if err := w.Sync(end); !errors.Is(err, syscall.EIO) {
					t.Errorf("caller %d: %v", i, err)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		if w.Synced() != 0 || !errors.Is(w.Err(), syscall.EIO) {
			t.Errorf("Synced() = %d, Err() = %v", w.Synced(), w.Err())
		}
	})
}

// An append that fails while a sync runs takes nothing away from those who wait for
// what was appended before it, and leaves no room for another.
func TestAppendFailsDuringSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := slowSync()
		w, err := Create(failing{m, failAt(vfs.OpAppend, 4, syscall.EIO)}, logPath, 7, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		call := func(what string, upTo int64, want error) {
			wg.Go(func() {
				if err := w.Sync(upTo); !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", what, err, want)
				}
			})
			synctest.Wait()
		}
		first := mustAppend(t, w, payload(0, 10))
		call("the leader of the sync that runs", first, nil)
		call("one who waits for it", first, nil)
		second := mustAppend(t, w, payload(1, 10))
		call("one who waits for the next", second, nil)
		if _, err := w.Append(payload(2, 10)); !errors.Is(err, syscall.EIO) {
			t.Errorf("append: %v", err)
		}
		wg.Wait()
	})
}

// Abandon and Close during a sync wait for it, and leave nobody waiting.
func TestAbandonDuringSync(t *testing.T) {
	for _, end := range []func(*Writer) error{(*Writer).Abandon, (*Writer).Close} {
		synctest.Test(t, func(t *testing.T) {
			m := vfs.NewMem()
			var syncing atomic.Bool
			w, err := Create(failing{m, func(k vfs.OpKind, _ string) error {
				switch {
				case k == vfs.OpSync:
					syncing.Store(true)
					pass(syncTime)
					syncing.Store(false)
				case k == vfs.OpClose && syncing.Load():
					t.Error("closed during a sync")
				}
				return nil
			}}, logPath, 7, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for i := range 6 {
				upTo := mustAppend(t, w, payload(i, 10))
				wg.Go(func() {
					if err := w.Sync(upTo); err != nil && !errors.Is(err, key.ErrClosed) {
						t.Error(err)
					}
				})
				synctest.Wait()
			}
			if err := end(w); err != nil {
				t.Error(err)
			}
			wg.Wait()
			if m.OpenFiles() != 0 {
				t.Error("the file is still open")
			}
		})
	}
}

// A sync of a log makes the log before it durable first.
func TestSyncAfterOlderLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, count := slowSync()
		old := mustCreate(t, m, "000006.log", 6, Options{})
		mustAppend(t, old, payload(0, 10))
		w := mustCreate(t, m, logPath, 7, Options{After: old})
		mustAppend(t, w, payload(1, 10))
		mustSync(t, w)
		mustAppend(t, w, payload(2, 10))
		mustSync(t, w)
		if got := strings.Join(count.names, " "); got != "000006.log 000007.log 000007.log" {
			t.Errorf("synced %s", got)
		}
		if _, err := old.Append(payload(3, 10)); !errors.Is(err, key.ErrClosed) {
			t.Errorf("append to a log that another one follows: %v", err)
		}
	})
}

// An older log that takes no more records is made durable before the newer one
// promises anything; if that fails the newer one promises nothing.
func TestOlderLogFailed(t *testing.T) {
	for _, synced := range []bool{false, true} {
		m := vfs.NewMem()
		old, err := Create(failing{m, failAt(vfs.OpAppend, 3, syscall.ENOSPC)}, "000006.log", 6, Options{})
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, old, payload(0, 10))
		if synced {
			mustSync(t, old)
		}
		if _, err := old.Append(payload(1, 10)); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		w := mustCreate(t, m, logPath, 7, Options{After: old})
		mustAppend(t, w, payload(2, 10))
		if err := w.SyncAll(); err != nil || old.Synced() != old.Size() {
			t.Errorf("older log synced %v: %v; durable up to %d of %d", synced, err, old.Synced(), old.Size())
		}
	}
}

// A log whose contents are durable elsewhere is not waited for: neither by those
// who sync it nor by the log that follows, even if it failed.
func TestSupersede(t *testing.T) {
	for _, fail := range []int{0, 3} {
		synctest.Test(t, func(t *testing.T) {
			m, count := slowSync()
			old, err := Create(failing{m, failAt(vfs.OpAppend, fail, syscall.EIO)}, "000006.log", 6, Options{})
			if err != nil {
				t.Fatal(err)
			}
			end := mustAppend(t, old, payload(0, 10))
			if _, err := old.Append(payload(1, 10)); (err != nil) != (fail > 0) {
				t.Fatal(err)
			}
			w := mustCreate(t, m, logPath, 7, Options{After: old})
			old.Supersede()
			if err := old.Sync(end); err != nil && fail == 0 {
				t.Error(err)
			}
			mustSync(t, w)
			if got := strings.Join(count.names, " "); got != "000007.log" {
				t.Errorf("synced %s", got)
			}
		})
	}
}
