package memtable

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/siftkv/sift/internal/invariants"
	"github.com/siftkv/sift/internal/key"
)

// TestReadsDoNotAllocate: hits, misses, old versions behind a long chain, keys
// that the index does not hold, and every iterator call.
func TestReadsDoNotAllocate(t *testing.T) {
	m := New(1 << 20)
	for i := range uint64(2000) {
		m.Add(key.Make([]byte("hot"), i, key.Set), nil, 1)
		k := binary.BigEndian.AppendUint64([]byte("key"), i*0x9e3779b97f4a7c15)
		m.Add(key.Make(k, i, key.Set), nil, 7) // one hash: most are only in the tree
	}
	it := m.NewIter()
	seek := key.Seek([]byte("key\x80"), key.MaxSeq)
	for name, f := range map[string]func(){
		"hit":         func() { m.Get([]byte("hot"), 1, key.MaxSeq) },
		"old version": func() { m.Get([]byte("hot"), 1, 3) },
		"absent":      func() { m.Get([]byte("none"), 2, key.MaxSeq) },
		"by the tree": func() { m.Get([]byte("keyNONE"), 7, key.MaxSeq) },
		"First":       func() { it.First() },
		"Last":        func() { it.Last() },
		"SeekGE":      func() { it.SeekGE(seek) },
		"SeekLT":      func() { it.SeekLT(seek) },
		"Next":        func() { it.Next() },
		"Prev":        func() { it.Prev() },
	} {
		it.SeekGE(seek)
		if n := testing.AllocsPerRun(200, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// heap returns the bytes of live objects.
func heap() int64 {
	runtime.GC()
	runtime.GC() // finishes the sweep of the first
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// TestSizeIsTheMemoryTaken compares Size with the runtime's own count. Arena and
// index are exact; for the tree Size takes the usual fill of its nodes.
func TestSizeIsTheMemoryTaken(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the race detector and the extra checks take memory of their own")
	}
	for _, c := range []struct {
		n, value int
		hint     int64
	}{{0, 0, 64 << 20}, {20_000, 8, 1 << 20}, {20_000, 100, 2048}, {100_000, 100, 64 << 20}, {100, 500_000, 1 << 20}} {
		for _, random := range []bool{true, false} {
			name := fmt.Sprintf("n=%d,value=%d,hint=%d,random=%v", c.n, c.value, c.hint, random)
			rng := rand.New(rand.NewPCG(1, 2))
			value, user := make([]byte, c.value), make([]byte, 16)
			before := heap()
			m := New(c.hint)
			for i := range c.n {
				binary.BigEndian.PutUint64(user, uint64(i))
				if random {
					binary.BigEndian.PutUint64(user, rng.Uint64())
				}
				m.Add(key.Make(user, uint64(i), key.Set), value, rng.Uint64())
			}
			got, want := m.Size(), heap()-before
			if d := got - want; d > want/20+4096 || d < -want/20-4096 {
				t.Errorf("%s: Size is %d, the heap grew by %d", name, got, want)
			}
			runtime.KeepAlive(m)
		}
	}
}

// TestSmallMemTable: 2 KiB is a legal size, most of it for entries, and Size grows
// with what is added.
func TestSmallMemTable(t *testing.T) {
	m := New(2048)
	if m.Size() > 1024 || !m.Empty() {
		t.Fatalf("an empty memtable takes %d bytes", m.Size())
	}
	for i := 0; m.Size() < 2048; i++ {
		before := m.Size()
		m.Add(key.Make(fmt.Append(nil, i), uint64(i), key.Set), make([]byte, 20), uint64(i))
		if m.Size() < before {
			t.Fatal("Size went down")
		}
	}
	if m.Len() < 8 {
		t.Errorf("2 KiB hold %d entries", m.Len())
	}
}

// TestP116: memtables that are filled, emptied by tombstones and dropped leave no
// memory behind.
func TestP116(t *testing.T) {
	base := heap()
	for _, n := range []int{1, 1000} {
		for range few(100) {
			m := newModel(2048, hashers[0])
			for i := range n {
				m.put(fmt.Append(nil, i), key.Set, make([]byte, 10))
			}
			for i := range n {
				m.put(fmt.Append(nil, n-1-i), key.Delete, nil)
			}
			m.checkGet(t, []byte("0"), key.MaxSeq)
		}
	}
	if grown := heap() - base; grown > 1<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}
