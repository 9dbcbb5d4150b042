package memtable

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/key"
)

// TestModel: a memtable equals a sorted slice in every lookup and every walk, for
// every shape of keys, good and bad hashes, all kinds, and any number of versions.
func TestModel(t *testing.T) {
	for _, ks := range keyspaces {
		for _, h := range hashers {
			t.Run(ks.name+"/"+h.name, func(t *testing.T) {
				eachSeed(t, few(8), func(t *testing.T, rng *rand.Rand) { testModel(t, rng, ks, h) })
			})
		}
	}
}

func testModel(t *testing.T, rng *rand.Rand, ks keyspace, h hasher) {
	m := newModel(int64(1)<<rng.IntN(24), h)
	for range 1 << rng.IntN(12) {
		var user []byte
		if len(m.entries) > 0 && rng.IntN(3) == 0 {
			user = m.entries[rng.IntN(len(m.entries))].Key.User
		} else {
			user = ks.key(rng)
		}
		m.put(user, key.Kind(rng.IntN(6)), make([]byte, rng.IntN(20)))
	}
	if m.Len() != len(m.entries) || m.Empty() {
		t.Fatalf("Len %d, want %d", m.Len(), len(m.entries))
	}
	for range 500 {
		m.checkGet(t, ks.key(rng), rng.Uint64N(m.seq+2))
		m.checkGet(t, m.entries[rng.IntN(len(m.entries))].Key.User, rng.Uint64N(m.seq+2))
	}
	m.checkScan(t)
	m.checkRandomWalk(t, rng, ks)
}

// checkRandomWalk makes random steps on the memtable and on the slice.
func (m *model) checkRandomWalk(t *testing.T, rng *rand.Rand, ks keyspace) {
	t.Helper()
	got, want := m.NewIter(), iterator.Slice(m.entries)
	for range 500 {
		k := key.Make(ks.key(rng), rng.Uint64N(m.seq+2), key.Kind(rng.IntN(6)))
		if rng.IntN(2) == 0 {
			k = m.entries[rng.IntN(len(m.entries))].Key
		}
		var op string
		if op = "Next"; !want.Valid() {
			op = []string{"First", "Last", "SeekGE", "SeekLT"}[rng.IntN(4)]
		} else if rng.IntN(2) == 0 {
			op = "Prev"
		}
		for range 1 + rng.IntN(1+rng.IntN(100)) {
			if op != "First" && op != "Last" && op != "SeekGE" && op != "SeekLT" && !want.Valid() {
				break
			}
			if g, w := move(got, op, k), move(want, op, k); g != w || g != got.Valid() {
				t.Fatalf("%s(%v): %v, Valid %v, want %v", op, k, g, got.Valid(), w)
			}
			if want.Valid() && key.Compare(got.Key(), want.Key()) != 0 {
				t.Fatalf("%s(%v): at %v, want %v", op, k, got.Key(), want.Key())
			}
		}
	}
}

func move(it iterator.Iterator, op string, k key.Internal) bool {
	switch op {
	case "First":
		return it.First()
	case "Last":
		return it.Last()
	case "SeekGE":
		return it.SeekGE(k)
	case "SeekLT":
		return it.SeekLT(k)
	case "Next":
		return it.Next()
	}
	return it.Prev()
}

// TestOrders: keys that come in order, in reverse, in bursts and shuffled, enough
// of them to pass every checkpoint of the common prefix.
func TestOrders(t *testing.T) {
	const n = 20_000
	for _, o := range []struct {
		name string
		at   func(i int) int
	}{
		{"ascending", func(i int) int { return i }},
		{"descending", func(i int) int { return n - i }},
		{"streams", func(i int) int { return i%4*n + i }},
		{"largest first", func(i int) int { return (i + n - 1) % n }},
		{"jitter", func(i int) int { return i ^ 3 }},
		{"shuffled", func(i int) int { return i * 7919 % n }},
	} {
		t.Run(o.name, func(t *testing.T) {
			m := New(1 << 20)
			h := hashers[0].hash
			var entries []iterator.Entry
			for i := range n {
				k := key.Make(fmt.Appendf(nil, "a/common/prefix/%09d", o.at(i)), uint64(i), key.Set)
				m.Add(k, k.User, h(k.User))
				entries = append(entries, iterator.Entry{Key: k, Value: k.User})
			}
			slices.SortFunc(entries, func(a, b iterator.Entry) int { return key.Compare(a.Key, b.Key) })
			(&model{MemTable: m, hash: h, entries: entries}).checkScan(t)
		})
	}
}

// TestManyVersions: a lookup at every sequence number of a key that was written
// 10,000 times, beyond what the chain is walked for.
func TestManyVersions(t *testing.T) {
	m := newModel(1<<20, hashers[0])
	for i := range 10_000 {
		m.put([]byte("hot"), key.Set, fmt.Append(nil, i))
		if i%100 == 0 {
			m.put([]byte("cold"), key.Set, fmt.Append(nil, i))
		}
	}
	for seq := range m.seq + 2 {
		m.checkGet(t, []byte("hot"), seq)
		m.checkGet(t, []byte("cold"), seq)
	}
	m.checkScan(t)
}

// TestLimits: the longest key, the empty one, nil, and values around the sizes at
// which an entry gets a chunk of its own.
func TestLimits(t *testing.T) {
	m := newModel(2048, hashers[0])
	longest := make([]byte, key.MaxKeyLen)
	m.put(longest, key.Set, nil)
	m.put(nil, key.Delete, nil)
	for _, n := range []int{0, 1, minChunk, largeEntry - 64, largeEntry - 1, largeEntry, maxChunk - 20, maxChunk, 3*maxChunk + 5} {
		value := make([]byte, n)
		for i := range value {
			value[i] = byte(i * 7)
		}
		m.put(fmt.Append(nil, n), key.Set, value)
		m.put(longest[:n%1000], key.Set, value[n/2:])
	}
	for _, e := range m.entries {
		m.checkGet(t, e.Key.User, e.Key.Trailer.Seq())
		m.checkGet(t, e.Key.User, key.MaxSeq)
	}
	m.checkScan(t)
}

// The length of a value and the flag beside it must not meet.
const _ = uint(hasOlder - 1 - key.MaxValueLen)

// TestSlicesAreCopied: the caller may change its slices after Add, and cannot
// write past what it gets.
func TestSlicesAreCopied(t *testing.T) {
	m := newModel(2048, hashers[0])
	user, value := []byte("key"), []byte("value")
	m.put(user, key.Set, value)
	m.put([]byte("kez"), key.Set, []byte("other"))
	user[0], value[0] = 'x', 'x'
	got, _, _ := m.Get([]byte("key"), m.hash([]byte("key")), 9)
	if string(got) != "value" || cap(got) != len(got) {
		t.Fatalf("value %q, cap %d", got, cap(got))
	}
	it := m.NewIter()
	it.First()
	if k := it.Key().User; string(k) != "key" || cap(k) != len(k) || cap(it.Value()) != len(it.Value()) {
		t.Fatalf("key %q, cap %d, value's cap %d", k, cap(k), cap(it.Value()))
	}
}

// TestOlderVersionIsABug: versions of a key must come oldest first.
func TestOlderVersionIsABug(t *testing.T) {
	for _, trailer := range []key.Trailer{key.MakeTrailer(5, key.Set), key.MakeTrailer(4, key.Set), key.MakeTrailer(5, key.Delete)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v was accepted after 5", trailer)
				}
			}()
			m := New(2048)
			m.Add(key.Make([]byte("k"), 5, key.Set), nil, 1)
			m.Add(key.Internal{User: []byte("k"), Trailer: trailer}, nil, 1)
		}()
	}
}

// TestP115: seeks between any two neighbours, at every edge of a node or block.
func TestP115(t *testing.T) {
	const n = 10_000
	be := func(i int) []byte { return []byte{0, 0, 0, 0, 0, 0, byte(i >> 8), byte(i)} }
	for _, order := range []string{"ascending", "shuffled"} {
		m := newModel(1<<20, hashers[0])
		for i := range n {
			at := i
			if order == "shuffled" {
				at = i * 7919 % n
			}
			m.MemTable.Add(key.Make(be(2*at), 1, key.Set), nil, m.hash(be(2*at)))
		}
		it := m.NewIter()
		for i := range n {
			if ok := it.SeekGE(key.Seek(be(2*i+1), key.MaxSeq)); ok != (i < n-1) || ok && string(it.Key().User) != string(be(2*i+2)) {
				t.Fatalf("%s: SeekGE(%d) = %v", order, 2*i+1, ok)
			}
			if ok := it.SeekLT(key.Seek(be(2*i+1), key.MaxSeq)); !ok || string(it.Key().User) != string(be(2*i)) {
				t.Fatalf("%s: SeekLT(%d) = %v", order, 2*i+1, ok)
			}
		}
	}
}
