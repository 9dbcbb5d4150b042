package vfs_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/siftkv/sift/internal/vfs"
)

// A crash while a sync runs may find each of: what was durable, what the sync
// is writing, and what was appended meanwhile.
func TestCrashInsideSync(t *testing.T) {
	m := vfs.NewMem()
	f, err := m.Create("a")
	must(t, err)
	must(t, f.Allocate(512))
	must(t, f.Sync())
	must(t, m.SyncDir("/"))
	must(t, f.Append(bytes.Repeat([]byte("a"), 256)))

	seen := map[string]bool{}
	m.SetLatency(func(op vfs.Op) time.Duration {
		if op.Kind != vfs.OpSync {
			return 0
		}
		must(t, f.Append(bytes.Repeat([]byte("b"), 256)))
		if got := runs(bytesOf(t, m.Crash(0, 1), "a")); got != "5120" {
			t.Errorf("before the sync's end %s is durable", got)
		}
		for seed := range uint64(200) {
			seen[runs(bytesOf(t, m.Crash(50, seed), "a"))] = true
		}
		return 0
	})
	must(t, f.Sync())
	must(t, f.Close())
	for _, want := range []string{"5120", "256a 2560", "256a 256b", "256a 256?", "256? 256b"} {
		if !seen[want] {
			t.Errorf("no crash left %s", want)
		}
		delete(seen, want)
	}
	for more := range seen {
		t.Errorf("a crash left %s", more)
	}
}

// Of two syncs that overlap, the one that began first says less; it must not
// take back what the other made durable.
func TestOverlappingSyncs(t *testing.T) {
	m := vfs.NewMem()
	f, err := m.Create("a")
	must(t, err)
	must(t, m.SyncDir("/"))
	must(t, f.Append([]byte("a")))
	inner := false
	m.SetLatency(func(op vfs.Op) time.Duration {
		if op.Kind == vfs.OpSync && !inner {
			inner = true
			must(t, f.Append([]byte("b")))
			must(t, f.Sync())
			must(t, f.Append([]byte("c")))
		}
		return 0
	})
	must(t, f.Sync())
	must(t, f.Close())
	if got := string(bytesOf(t, m.Crash(0, 1), "a")); got != "ab" {
		t.Errorf("%q is durable, want ab", got)
	}
}

// A sync that ends while one that began later still runs makes durable what was
// there at its own beginning.
func TestStaggeredSyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := vfs.NewMem()
		f, err := m.Create("a")
		must(t, err)
		must(t, f.Allocate(3)) // so that the size hides nothing
		must(t, f.Sync())
		must(t, m.SyncDir("/"))
		m.SetLatency(func(op vfs.Op) time.Duration {
			if op.Kind == vfs.OpSync {
				return 2200 * time.Millisecond // three run at once
			}
			return 0
		})
		var group sync.WaitGroup
		at := func(second float64, call func()) {
			group.Go(func() {
				<-time.After(time.Duration(second * float64(time.Second)))
				call()
			})
		}
		durable := func(want string) func() {
			return func() {
				got := strings.TrimRight(string(bytesOf(t, m.Crash(0, 1), "a")), "\x00")
				if got != want {
					t.Errorf("%q is durable, want %q", got, want)
				}
			}
		}
		for i, text := range []string{"a", "b", "c"} { // synced from second i to i + 2.2
			at(float64(i), func() { must(t, f.Append([]byte(text))); must(t, f.Sync()) })
			at(float64(i)+1.5, durable("abc"[:i]))
		}
		at(4.5, durable("abc"))
		group.Wait()
		must(t, f.Close())
	})
}

// What a sync is writing can be overwritten meanwhile, by a second handle; the
// sync still makes durable what was there when it began.
func TestOverwriteDuringSync(t *testing.T) {
	m := vfs.NewMem()
	f, err := m.Create("a")
	must(t, err)
	must(t, m.SyncDir("/"))
	must(t, f.Append([]byte("old")))
	m.SetLatency(func(op vfs.Op) time.Duration {
		if op.Kind == vfs.OpSync {
			g, err := m.Reuse("a", "a")
			must(t, err)
			must(t, g.Append([]byte("new")))
			must(t, g.Close())
		}
		return 0
	})
	must(t, f.Sync())
	must(t, f.Close())
	for p, want := range map[int]string{0: "old", 100: "new"} {
		if got := string(bytesOf(t, m.Crash(p, 1), "a")); got != want {
			t.Errorf("Crash(%d) leaves %q, want %q", p, got, want)
		}
	}
}

// A SyncDir covers the names from before its beginning.
func TestNamesDuringSyncDir(t *testing.T) {
	m := vfs.NewMem()
	must(t, m.MkdirAll("before"))
	m.SetLatency(func(op vfs.Op) time.Duration {
		if op.Kind == vfs.OpSyncDir {
			must(t, m.MkdirAll("meanwhile"))
		}
		return 0
	})
	must(t, m.SyncDir("/"))
	if got := tree(t, m.Crash(0, 1)); !slices.Equal(got, []string{"before/"}) {
		t.Errorf("durable: %q", got)
	}
	if got := tree(t, m.Crash(100, 1)); !slices.Equal(got, []string{"before/", "meanwhile/"}) {
		t.Errorf("durable and pending: %q", got)
	}
}

// Waits take no real time in a bubble, block nobody else, and each call has one.
func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := vfs.NewMem()
		f, err := m.Create("a")
		must(t, err)
		m.SetLatency(func(op vfs.Op) time.Duration {
			switch op.Kind {
			case vfs.OpSync:
				return time.Second
			case vfs.OpAppend:
				return time.Duration(op.Len) * time.Millisecond
			}
			return time.Hour
		})
		start := time.Now()
		var group sync.WaitGroup
		for range 16 {
			group.Go(func() { must(t, f.Sync()) })
		}
		must(t, f.Append(make([]byte, 10)))
		if d := time.Since(start); d != 10*time.Millisecond {
			t.Errorf("an append beside syncs took %v", d)
		}
		group.Wait()
		if d := time.Since(start); d != time.Second {
			t.Errorf("16 syncs took %v", d)
		}
		_, err = m.Stat("a")
		must(t, err)
		if d := time.Since(start); d != time.Hour+time.Second {
			t.Errorf("Stat took %v", d-time.Second)
		}
		_, err = m.Crash(100, 1).Stat("a")
		must(t, err)
		if d := time.Since(start); d != 2*time.Hour+time.Second {
			t.Errorf("Stat in a clone took %v", d-time.Hour-time.Second)
		}
		m.SetLatency(nil)
		must(t, f.Close())
	})
}

// Whatever runs beside it, a crash finds what a Sync reported before.
func TestCrashBesideWriters(t *testing.T) {
	m := vfs.NewMem()
	var writers sync.WaitGroup
	for w := range 4 {
		name := fmt.Sprint(w)
		f, err := m.Create(name)
		must(t, err)
		must(t, m.SyncDir("/"))
		writers.Go(func() {
			defer func() { must(t, f.Close()) }()
			for size := 700; size < 30*700; size += 700 {
				must(t, f.Append(bytes.Repeat([]byte{byte(size)}, 700)))
				must(t, f.Sync())
				must(t, m.Rename(name, name+"'"))
				must(t, m.Rename(name+"'", name))
				must(t, m.SyncDir("/"))
				after := m.Crash(w*33, uint64(size))
				_ = m.Kill()
				for _, found := range []string{name, name + "'"} {
					if g, err := after.Open(found); err == nil {
						if n, _ := g.Size(); n < int64(size) {
							t.Errorf("%d bytes after a crash, %d were synced", n, size)
						}
						must(t, g.Close())
					}
				}
			}
		})
	}
	writers.Wait()
	if n := m.OpenFiles(); n != 0 {
		t.Errorf("%d files open", n)
	}
}
