package vfs_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/siftkv/sift/internal/vfs"
)

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
