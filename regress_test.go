package sift_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// Close waits for a running Get, and is told of its end though an iterator keeps
// the same state pinned.
func TestCloseWithIteratorAndRunningGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var hold atomic.Bool
		o := small()
		o.CacheSize = 1
		o.FS = vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
			if op.Kind == vfs.OpRead && hold.Load() {
				<-release
			}
			return nil
		})
		db := open(t, "db", &o)
		for i := range 100 {
			must(t, db.Put(fmt.Appendf(nil, "k%03d", i), make([]byte, 100), sift.NoSync))
		}
		must(t, db.Flush())
		synctest.Wait()
		it, err := db.NewIter(nil)
		must(t, err)
		hold.Store(true)
		got, closed := make(chan error, 1), make(chan error, 1)
		go func() { _, err := db.Get([]byte("k050")); got <- err }()
		synctest.Wait()
		go func() { closed <- db.Close() }()
		synctest.Wait()
		close(release)
		must(t, <-got)
		if err := <-closed; err == nil {
			t.Error("Close did not tell of the open iterator")
		}
		must(t, it.Close())
	})
}

// A full disk is not a failed sync: what was written before it can still be made
// durable, and writes go on once there is space.
func TestFullDiskThenSyncWAL(t *testing.T) {
	var full atomic.Bool
	disk := vfs.NewMem()
	o := small()
	o.FS = vfs.NewFault(disk, func(op vfs.Op) error {
		if op.Kind == vfs.OpAppend && full.Load() {
			return syscall.ENOSPC
		}
		return nil
	})
	db := open(t, crashDir, &o)
	must(t, db.Put([]byte("before"), []byte("1"), sift.NoSync))
	full.Store(true)
	if err := db.Put([]byte("during"), []byte("1"), nil); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Put on a full disk: %v", err)
	}
	must(t, db.SyncWAL())
	image := disk.Crash(0, 1)
	full.Store(false)
	must(t, db.Put([]byte("after"), []byte("1"), nil))
	must(t, db.Close())

	o.FS = image
	db = open(t, crashDir, &o)
	defer db.Close()
	if _, err := db.Get([]byte("before")); err != nil {
		t.Errorf("a write that SyncWAL made durable: %v", err)
	}
}

// A Compact that fails is its caller's business: what compacts in the background
// goes on, and nobody who writes is refused.
func TestFailedCompactLeavesTheRestRunning(t *testing.T) {
	var fail atomic.Bool
	o := small()
	o.Compaction.Disable = true
	o.FS = vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
		if op.Kind == vfs.OpRead && fail.Load() {
			return syscall.EIO
		}
		return nil
	})
	db := open(t, "db", &o)
	defer db.Close()
	for i := range 4 {
		must(t, db.Put(fmt.Appendf(nil, "k%d", i%2), make([]byte, 500), sift.NoSync))
		must(t, db.Flush())
	}
	fail.Store(true)
	if err := db.Compact(nil, nil); !errors.Is(err, syscall.EIO) {
		t.Fatalf("Compact of tables that cannot be read: %v", err)
	}
	fail.Store(false)
	if err := db.Metrics().BackgroundError; err != nil {
		t.Errorf("trouble in the background: %v", err)
	}
	must(t, db.Compact(nil, nil))
}

// What a Flush did is counted once it returns: a measurement that ends with it
// misses nothing.
func TestFlushIsCounted(t *testing.T) {
	o := small()
	o.Compaction.Disable, o.Compaction.L0Slow, o.Compaction.L0Stop = true, 1<<20, 1<<20
	o.FS = vfs.NewMem()
	db := open(t, "db", &o)
	defer db.Close()
	for i := range 500 {
		must(t, db.Put(fmt.Appendf(nil, "k%d", i), nil, sift.NoSync))
		must(t, db.Flush())
		if m := db.Metrics(); m.Writes.Flushes != uint64(i+1) || m.Writes.FlushedBytes != uint64(m.Levels[0].Size) {
			t.Fatalf("after flush %d: %d flushes of %d bytes, and tables of %d", i+1, m.Writes.Flushes, m.Writes.FlushedBytes, m.Levels[0].Size)
		}
	}
}

// Once what made compactions fail is mended, Flush and Compact have them tried again
// at once, though level 0 is full and they pause.
func TestFlushAndCompactRetryPausedCompaction(t *testing.T) {
	inTime(t, time.Hour, func(t *testing.T) {
		var broken atomic.Bool
		var failures atomic.Int64
		o := small()
		o.Compaction.L0Compact, o.Compaction.L0Slow, o.Compaction.L0Stop = 2, 2, 3
		o.FS = vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
			if op.Kind == vfs.OpRead && strings.HasSuffix(op.Name, ".sst") && broken.Load() {
				return syscall.EIO
			}
			return nil
		})
		o.CacheSize = 0
		o.Events = &sift.Events{Failed: func(string, error) { failures.Add(1) }}
		db := open(t, "db", &o)
		broken.Store(true)
		var err error
		for i := 0; err == nil && i < 100; i++ {
			must(t, db.Put(fmt.Appendf(nil, "k%d", i%3), []byte("v"), sift.NoSync))
			err = db.Flush()
		}
		wantError(t, "Flush with level 0 full and compactions failing", err, syscall.EIO)
		for range 5 {
			before := failures.Load()
			wantError(t, "Flush again", db.Flush(), syscall.EIO)
			synctest.Wait() // the event comes after the error
			if failures.Load() == before {
				t.Error("Flush returned the error of an attempt before it")
			}
		}
		broken.Store(false)
		mended := time.Now()
		must(t, db.Flush(), db.Compact(nil, nil))
		if d := time.Since(mended); d > 100*time.Millisecond {
			t.Errorf("took %v after the disk was mended: waited for a pause", d)
		}
		must(t, db.Close())
	})
}

// The tables of a flush that the manifest could not take stay until the manifest
// has taken another, since they may be in it after all, and no longer.
func TestTablesOfFailedEditsAreRemoved(t *testing.T) {
	disk := vfs.NewMem()
	var full atomic.Bool
	o := manual()
	o.FS = vfs.NewFault(disk, func(op vfs.Op) error {
		if full.Load() && strings.Contains(op.Name, "MANIFEST") && (op.Kind == vfs.OpAppend || op.Kind == vfs.OpCreate) {
			return syscall.ENOSPC
		}
		return nil
	})
	db := open(t, "db", &o)
	tables := func() (n int) {
		names, err := disk.List("db")
		must(t, err)
		for _, name := range names {
			if strings.HasSuffix(name, ".sst") {
				n++
			}
		}
		return n
	}
	full.Store(true)
	must(t, db.Put([]byte("k"), []byte("v"), nil))
	for range 3 {
		wantError(t, "Flush with a full manifest", db.Flush(), syscall.ENOSPC)
	}
	if n, m := tables(), db.Metrics(); n < 1 || m.ObsoleteTables != n {
		t.Errorf("%d tables on disk, %d of them said to be of no version", n, m.ObsoleteTables)
	}
	full.Store(false)
	must(t, db.Flush())
	eventually(t, "one table is left", func() bool { return tables() == 1 && db.Metrics().ObsoleteTables == 0 })
	_, err := db.Get([]byte("k"))
	must(t, err, db.Close())
}
