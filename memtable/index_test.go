package memtable

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/siftkv/sift/internal/key"
)

// TestCollisionsAreBounded: however many keys have one hash, a lookup looks at
// maxProbe slots at the most, and the index says that it does not know the rest.
func TestCollisionsAreBounded(t *testing.T) {
	m := newModel(1<<20, hashers[1])
	for i := range 10 * maxProbe {
		m.put(fmt.Append(nil, i), key.Set, nil)
	}
	s := m.index.segment(m.hash(nil))
	if s.used > maxProbe || !s.partial.Load() {
		t.Errorf("%d slots for one hash, partial %v", s.used, s.partial.Load())
	}
	if _, complete := m.index.find([]byte("absent"), m.hash(nil)); complete {
		t.Error("the index claims to know all keys")
	}
}

// TestIndexLoad: with a fair hash every key is in the index, which is between a
// third and two thirds full after it has grown many times.
func TestIndexLoad(t *testing.T) {
	const n = 50_000
	m := New(4 << 20)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range uint64(n) {
		m.Add(key.Make(fmt.Append(nil, i), i, key.Set), nil, rng.Uint64())
	}
	used, slots := 0, 0
	for i := range m.index.segments {
		s := &m.index.segments[i]
		used += s.used
		slots += len(s.table.Load().tags)
		if s.partial.Load() {
			t.Error("a key has found no slot")
		}
	}
	if used != n || used*3 < slots-used/10 || used*3 > slots*2 {
		t.Errorf("%d keys take %d of %d slots", n, used, slots)
	}
}

// TestLargeEntriesWasteLittle: entries that fill a good part of a chunk do not
// leave the rest of it unused.
func TestLargeEntriesWasteLittle(t *testing.T) {
	for _, size := range []int{100, maxChunk / 5, maxChunk/2 + 1, maxChunk + 1} {
		var a arena
		a.init(64 << 20)
		total := int64(0)
		for total < 40<<20 {
			a.alloc(size)
			total += int64(size)
		}
		if got := a.bytes.Load(); got > total+total/4+maxChunk {
			t.Errorf("entries of %d bytes: %d bytes taken for %d", size, got, total)
		}
	}
}

// TestCommonPrefixIsMonotone: whatever the prefix, a greater key never gets a
// smaller value, so the order of keys inside and outside of it is right.
func TestCommonPrefixIsMonotone(t *testing.T) {
	eachSeed(t, 5, func(t *testing.T, rng *rand.Rand) {
		for _, ks := range keyspaces {
			keys := make([][]byte, 2000)
			for i := range keys {
				keys[i] = ks.key(rng)
			}
			slices.SortFunc(keys, bytes.Compare)
			for range 50 {
				c := commonPrefix(keys[rng.IntN(len(keys))])
				c = c[:rng.IntN(len(c)+1)]
				for i := 1; i < len(keys); i++ {
					if c.of(keys[i-1]) > c.of(keys[i]) {
						t.Fatalf("prefix %q: %q before %q", c, keys[i-1], keys[i])
					}
				}
			}
		}
	})
}

// TestOutsiders: keys on both sides of a prefix that was chosen without them.
func TestOutsiders(t *testing.T) {
	m := newModel(1<<20, hashers[0])
	for i := range checkpoints[0] {
		m.put(fmt.Appendf(nil, "tenant-1/object-%04d", i*7919%10_000), key.Set, nil)
	}
	if len(m.order.common) < 8 {
		t.Fatalf("the prefix is %q", m.order.common)
	}
	for i := range 300 {
		m.put(fmt.Appendf(nil, "tenant-%d/object-%04d", i*7%3, i), key.Set, nil)
	}
	m.put(m.order.common[:3], key.Set, nil)
	m.checkScan(t)
}
