package vfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/siftkv/sift/internal/vfs"
)

// "/", "." and detours name the same directory, and system separators work.
func TestMemPaths(t *testing.T) {
	m := vfs.NewMem()
	must(t, m.MkdirAll("db"))
	for i, name := range []string{"db/0", "/db/1", "./db/2", "db//3", "x/../db/4", "../db/5", filepath.Join("db", "6")} {
		f, err := m.Create(name)
		must(t, err)
		must(t, f.Close())
		if _, err := m.Stat(fmt.Sprintf("/db/%d", i)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, root := range []string{"/", ".", "db/.."} {
		if names, err := m.List(root); err != nil || !slices.Equal(names, []string{"db"}) {
			t.Errorf("List(%q) = %q %v", root, names, err)
		}
		must(t, m.SyncDir(root))
		must(t, m.MkdirAll(root))
		if m.Remove(root) == nil || m.Rename(root, "a") == nil {
			t.Errorf("%q was removed or renamed", root)
		}
	}
	if _, err := m.Stat(""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat of an empty path: %v", err)
	}
	for _, empty := range []error{m.MkdirAll(""), m.Remove(""), m.SyncDir(""), m.Rename("db", "")} {
		(&system{T: t}).want(empty, fs.ErrNotExist)
	}
}

// One seed is one image, and seeds differ.
func TestCrashIsDeterministic(t *testing.T) {
	build := func() *vfs.Mem {
		m := vfs.NewMem()
		for i := range 8 {
			f, err := m.Create(fmt.Sprint(i))
			must(t, err)
			must(t, m.SyncDir("/"))
			must(t, f.Append(bytes.Repeat([]byte{byte('a' + i)}, 3000)))
			must(t, f.Close())
			must(t, m.Rename(fmt.Sprint(i), fmt.Sprint("new", i)))
		}
		return m
	}
	a, b := build(), build()
	images := map[string]bool{}
	for seed := range uint64(20) {
		one, two := image(t, a.Crash(50, seed)), image(t, b.Crash(50, seed))
		if one != two {
			t.Fatalf("seed %d gives two images", seed)
		}
		if one != image(t, a.Kill().Crash(50, seed)) {
			t.Fatalf("seed %d gives another image after a kill", seed)
		}
		images[one] = true
	}
	if len(images) != 20 {
		t.Errorf("20 seeds gave %d images", len(images))
	}
}

func image(t *testing.T, m *vfs.Mem) string {
	t.Helper()
	names, err := m.List("/")
	must(t, err)
	var all strings.Builder
	for _, name := range names {
		fmt.Fprintf(&all, "%s=%q\n", name, bytesOf(t, m, name))
	}
	return all.String()
}

// Clones share bytes inside, and never show each other's changes.
func TestClonesAreIndependent(t *testing.T) {
	original := vfs.NewMem()
	f, err := original.Create("a")
	must(t, err)
	must(t, f.Append([]byte("0123456789")))
	must(t, f.Sync())
	must(t, original.SyncDir("/"))

	clones := []*vfs.Mem{original.Kill(), original.Crash(0, 1), original.Crash(50, 1), original.Kill().Kill()}
	must(t, f.Append([]byte("original")))
	for i, c := range clones {
		g, err := c.Reuse("a", "b")
		must(t, err)
		must(t, g.Append([]byte{'A' + byte(i)}))
		must(t, g.Skip(10))
		must(t, g.Append([]byte("clone")))
		must(t, g.Close())
	}
	untouched := original.Kill()
	must(t, f.Truncate(4))
	must(t, f.Append([]byte("!")))
	must(t, f.Close())
	if got := string(bytesOf(t, untouched, "a")); got != "0123456789original" {
		t.Errorf("a clone of the moment before has %q", got)
	}

	if got := string(bytesOf(t, original, "a")); got != "0123"+strings.Repeat("\x00", 14)+"!" {
		t.Errorf("the original has %q", got)
	}
	for i, c := range clones {
		want := string(rune('A'+i)) + "123456789clone"
		if got := string(bytesOf(t, c, "b")); got != want {
			t.Errorf("clone %d has %q, want %q", i, got, want)
		}
	}
}

// A clone appends to bytes that it shares, as the original does, and neither
// sees the other's; what one syncs stays pending in the other.
func TestClonesAppendApart(t *testing.T) {
	original := vfs.NewMem()
	f, err := original.Create("a")
	must(t, err)
	must(t, f.Allocate(6))
	must(t, f.Sync())
	must(t, original.SyncDir("/"))
	must(t, f.Append([]byte("01"))) // the slice has room for both appends below

	clone := original.Kill()
	g, err := clone.Reuse("a", "a")
	must(t, err)
	must(t, g.Skip(2))
	must(t, g.Append([]byte("clon")))
	must(t, f.Append([]byte("orig")))
	must(t, g.Sync())
	for want, m := range map[string]*vfs.Mem{"01orig": original, "01clon": clone, "\x00\x00\x00\x00\x00\x00": original.Crash(0, 1)} {
		if got := string(bytesOf(t, m, "a")); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Bytes beyond a size that was lost do not come back when the file grows.
func TestLostBytesStayLost(t *testing.T) {
	m := vfs.NewMem()
	f, err := m.Create("a")
	must(t, err)
	must(t, m.SyncDir("/"))
	must(t, f.Append([]byte("lost")))
	must(t, f.Close())
	for seed := range uint64(10) {
		after := m.Crash(50, seed)
		g, err := after.Reuse("a", "a")
		must(t, err)
		size, err := g.Size()
		must(t, err)
		must(t, g.Allocate(100))
		if got := string(bytesOf(t, after, "a"))[size:]; strings.Trim(got, "\x00") != "" {
			t.Errorf("seed %d: behind %d bytes the file grew by %q", seed, size, got)
		}
		must(t, g.Close())
	}
}

// Two names of one file stay that in a clone.
func TestClonesKeepLinks(t *testing.T) {
	m := vfs.NewMem()
	f, err := m.Create("a")
	must(t, err)
	must(t, f.Close())
	must(t, m.Link("a", "b"))
	for i, c := range []*vfs.Mem{m.Kill(), m.Crash(100, 1)} {
		g, err := c.Create("a")
		must(t, err)
		must(t, g.Append([]byte("x")))
		must(t, g.Close())
		if got := string(bytesOf(t, c, "b")); got != "x" {
			t.Errorf("clone %d: the other name has %q", i, got)
		}
	}
}

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

// Used counts each file once, while it has a name or a handle.
func TestMemUsed(t *testing.T) {
	m := vfs.NewMem()
	want := func(n int64) {
		t.Helper()
		if got := m.Used(); got != n {
			t.Errorf("used %d, want %d", got, n)
		}
	}
	f, err := m.Create("a")
	must(t, err)
	want(0)
	must(t, f.Append([]byte("x")))
	want(512)
	must(t, f.Allocate(5000))
	want(5120)
	g, err := m.Reuse("a", "a")
	must(t, err)
	must(t, g.Append([]byte("y"))) // inside: takes no more
	must(t, g.Close())
	want(5120)
	must(t, m.Link("a", "b"))
	must(t, m.Remove("a"))
	want(5120)
	for _, c := range []*vfs.Mem{m.Kill(), m.Crash(100, 1)} {
		must(t, c.Link("b", "c"))
		must(t, c.Remove("b"))
		if got := c.Used(); got != 5120 {
			t.Errorf("a clone uses %d", got)
		}
		must(t, c.Remove("c"))
		if got := c.Used(); got != 0 {
			t.Errorf("an empty clone uses %d", got)
		}
	}
	must(t, m.Remove("b"))
	want(5120)
	if got := m.Kill().Used(); got != 0 {
		t.Errorf("a clone keeps %d for a file that only the dead process had open", got)
	}
	must(t, f.Truncate(513))
	want(1024)
	must(t, f.Close())
	want(0)
	g, err = m.Create("c")
	must(t, err)
	must(t, g.Append(make([]byte, 100)))
	must(t, g.Close())
	h, err := m.Create("d")
	must(t, err)
	must(t, h.Append(make([]byte, 1000)))
	must(t, h.Close())
	want(512 + 1024)
	must(t, m.Rename("c", "d"))
	want(512)
	must(t, m.Remove("d"))
	want(0)
}

// Zeros that were only allocated take no memory, and offsets that cannot be
// held are errors.
func TestMemLargeOffsets(t *testing.T) {
	m := vfs.NewMem()
	f, err := m.Create("a")
	must(t, err)
	must(t, f.Allocate(1<<30-1))
	must(t, f.Append([]byte("x")))
	b := [2]byte{'?', '?'}
	if n, err := f.ReadAt(b[:], 1<<30-3); n != 2 || err != nil || b != [2]byte{} {
		t.Errorf("read %d %v %v", n, err, b)
	}
	if err := f.Allocate(math.MaxInt64); !vfs.IsNoSpace(err) {
		t.Errorf("an allocation of all there can be: %v", err)
	}
	must(t, f.Skip(math.MaxInt64-1))
	if err := f.Append([]byte("xy")); !vfs.IsNoSpace(err) {
		t.Errorf("an append past the largest offset: %v", err)
	}
	must(t, f.Close())
}
