package sift_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// A stall holds up the creation of files of a type until it is released.
type stall struct {
	disk *vfs.Mem
	fs   vfs.FS
	open chan struct{}
	once sync.Once
}

func newStall(disk *vfs.Mem, ending string) *stall {
	s := &stall{disk: disk, open: make(chan struct{})}
	s.fs = vfs.NewFault(disk, func(op vfs.Op) error {
		if op.Kind == vfs.OpCreate && strings.HasSuffix(op.Name, ending) {
			<-s.open
		}
		return nil
	})
	return s
}

func (s *stall) release() { s.once.Do(func() { close(s.open) }) }

// inTime runs work in a bubble and fails if it takes more than limit of the
// bubble's clock: then nothing runs that could end a writer's wait.
func inTime(t *testing.T, limit time.Duration, work func(t *testing.T)) {
	t.Helper()
	defer watchdog(2*time.Minute, t.Name)()
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			work(t)
		}()
		select {
		case <-done:
		case <-time.After(limit):
			panic(fmt.Sprintf("%s: not done after %v", t.Name(), limit))
		}
	})
}

// writers run n goroutines that each put count values.
func writers(t *testing.T, db *sift.DB, n, count, size int) {
	t.Helper()
	var wg sync.WaitGroup
	for w := range n {
		wg.Go(func() {
			for i := range count {
				if err := db.Put(fmt.Appendf(nil, "%02d/%05d", w, i%500), []byte(strings.Repeat("v", size)), sift.NoSync); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// Memtables that Open restores are flushed, so that writers are not stuck behind
// them.
func TestP034_RestoredMemtablesAreFlushed(t *testing.T) {
	o := small()
	o.MemTableSize = 1 << 20
	base, v := crashedDisk(t, o, 40, 10_000)
	o.MemTableSize, o.MaxMemTables = 16<<10, 2
	inTime(t, time.Minute, func(t *testing.T) {
		o.FS = base
		before := named(mustFiles(t, base, "db"), ".log")
		db, err := sift.Open("db", &o)
		must(t, err, v.check(db, rand.New(rand.NewPCG(34, 0))))
		writers(t, db, 1, 2000, 200)
		must(t, db.Flush())
		synctest.Wait() // until what removes files is idle
		after := mustFiles(t, base, "db")
		for _, log := range before {
			if _, there := after[log]; there {
				t.Errorf("the old log %s is still there", log)
			}
		}
		must(t, db.Close())
	})
}

// Writers wait while a slow disk compacts, and go on when it is fast again. The
// clock is the real one here and below: a writer that sleeps under the commit
// lock, with others waiting for it, stops the clock of a bubble.
func TestP182_StallEnds(t *testing.T) {
	defer watchdog(time60, t.Name)()
	disk := vfs.NewMem()
	slow := atomic.Bool{}
	slow.Store(true)
	defer time.AfterFunc(300*time.Millisecond, func() { slow.Store(false) }).Stop()
	disk.SetLatency(func(op vfs.Op) time.Duration {
		if op.Kind == vfs.OpAppend && vfs.FileType(op.Name) == "sst" && slow.Load() {
			return 20 * time.Millisecond
		}
		return 0
	})
	o := small()
	o.FS, o.MemTableSize, o.MaxMemTables = disk, 16<<10, 2
	o.Compaction.L0Compact, o.Compaction.L0Slow, o.Compaction.L0Stop = 2, 3, 4
	db := open(t, "db", &o)
	writers(t, db, 8, 1000, 100)
}

// The same with errors instead of latency: each write returns, with or without
// one, and the database is well again when the disk is.
func TestP182_StallByErrors(t *testing.T) {
	inTime(t, 10*time.Minute, func(t *testing.T) {
		start := time.Now()
		o := small()
		o.FS = vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
			if op.Kind == vfs.OpCreate && vfs.FileType(op.Name) == "sst" && time.Since(start) < 5*time.Second {
				return errInjected
			}
			return nil
		})
		o.MemTableSize, o.MaxMemTables = 16<<10, 2
		db, err := sift.Open("db", &o)
		must(t, err)
		for i := range 2000 {
			// It may fail while the disk does; it must return.
			_ = db.Put(fmt.Append(nil, i), make([]byte, 100), sift.NoSync)
		}
		<-time.After(time.Minute)
		writers(t, db, 1, 1000, 100)
		must(t, db.Flush(), db.Close())
	})
}

// The tightest limits let everything through.
func TestP184_TightestLimits(t *testing.T) {
	inTime(t, time.Hour, func(t *testing.T) {
		o := small()
		o.FS, o.Workers, o.MemTableSize, o.TableSize = sift.NewMemFS(), 1, 4<<10, 2<<10
		o.Compaction = sift.CompactionOptions{L0Compact: 1, L0Slow: 1, L0Stop: 2, BaseLevelSize: 2 << 10, Multiplier: 2}
		db, err := sift.Open("db", &o)
		must(t, err)
		writers(t, db, 1, pick2(*longForm, 100_000, 4_000), 100)
		must(t, db.Close())
	})
}

// Many writers on a slow disk are held back instead of filling the memory.
func TestP185_MemoryBesideSlowDisk(t *testing.T) {
	defer watchdog(time60, t.Name)()
	disk := vfs.NewMem()
	disk.SetLatency(func(op vfs.Op) time.Duration {
		if op.Kind == vfs.OpAppend && vfs.FileType(op.Name) == "sst" {
			return time.Duration(op.Len) * 200 * time.Nanosecond
		}
		return 0
	})
	o := small()
	o.FS, o.MemTableSize, o.MaxMemTables = disk, 64<<10, 2
	db := open(t, "db", &o)
	var wg sync.WaitGroup
	limit := int64(o.MaxMemTables+2) * o.MemTableSize * 3 / 2
	for w := range 16 {
		wg.Go(func() {
			for i := range 100 {
				if err := db.Put(fmt.Appendf(nil, "%d/%d", w, i), make([]byte, 1<<10), sift.NoSync); err != nil {
					t.Error(err)
					return
				}
				if m := db.Metrics(); m.MemTableMemory > limit {
					t.Errorf("%d memtables hold %d bytes, want at most %d", m.MemTables, m.MemTableMemory, limit)
					return
				}
			}
		})
	}
	wg.Wait()
}

// A snapshot that is never released keeps versions, which shows in the metrics,
// and lets go of them when it is.
func TestP187_OldSnapshot(t *testing.T) {
	db := openMem(t, small())
	must(t, db.Put([]byte("k"), []byte("first"), sift.NoSync))
	s := db.NewSnapshot()
	for i := range 20_000 {
		must(t, db.Put(fmt.Append(nil, i%10), fmt.Append(nil, i), sift.NoSync))
	}
	if m := db.Metrics(); m.Snapshots != 1 || m.OldestSnapshot < 20_000 {
		t.Errorf("metrics: %d snapshots, the oldest %d writes ago; want 1 and 20,000", m.Snapshots, m.OldestSnapshot)
	}
	must(t, s.Close(), db.Compact(nil, nil))
	var entries uint64
	for _, l := range db.Metrics().Levels {
		entries += l.Entries
	}
	if entries != 11 {
		t.Errorf("%d entries are left for 11 keys", entries)
	}
}
