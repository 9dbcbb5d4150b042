package sift_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

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
