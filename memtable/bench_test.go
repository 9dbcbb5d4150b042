package memtable

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/siftkv/sift/internal/key"
)

const benchKeys = 500_000

func randomKeys(n int) [][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = binary.BigEndian.AppendUint64(nil, rng.Uint64())
		keys[i] = binary.BigEndian.AppendUint64(keys[i], rng.Uint64())
	}
	return keys
}

func ascendingKeys(n int) [][]byte {
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = binary.BigEndian.AppendUint64([]byte("user0000"), uint64(i))
	}
	return keys
}

func hashes(keys [][]byte) []uint64 {
	hs := make([]uint64, len(keys))
	for i, k := range keys {
		hs[i] = xxhash.Sum64(k)
	}
	return hs
}

func fill(keys [][]byte, hs []uint64, value []byte) *MemTable {
	m := New(64 << 20)
	for i, k := range keys {
		m.Add(key.Make(k, uint64(i+1), key.Set), value, hs[i])
	}
	return m
}

func benchAdd(b *testing.B, keys [][]byte) {
	hs, value := hashes(keys), make([]byte, 100)
	var m *MemTable
	b.ReportAllocs()
	i := len(keys)
	for b.Loop() {
		if i == len(keys) {
			m, i = New(64<<20), 0
		}
		m.Add(key.Make(keys[i], uint64(i+1), key.Set), value, hs[i])
		i++
	}
}

func BenchmarkAddRandom(b *testing.B)    { benchAdd(b, randomKeys(benchKeys)) }
func BenchmarkAddAscending(b *testing.B) { benchAdd(b, ascendingKeys(benchKeys)) }

// benchGet looks up keys, all of which are in m or none. The keys are random, so
// walking through them in turn meets the memtable at random places.
func benchGet(b *testing.B, m *MemTable, keys [][]byte, hs []uint64, present bool) {
	b.Helper()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, _, ok := m.Get(keys[i], hs[i], key.MaxSeq); ok != present {
			b.Fatal("found ", ok)
		}
		if i++; i == len(keys) {
			i = 0
		}
	}
}

func BenchmarkGetHit(b *testing.B) {
	keys := randomKeys(benchKeys)
	hs := hashes(keys)
	benchGet(b, fill(keys, hs, make([]byte, 100)), keys, hs, true)
}

func BenchmarkGetAbsent(b *testing.B) {
	keys := randomKeys(2 * benchKeys)
	hs := hashes(keys)
	m := fill(keys[:benchKeys], hs, make([]byte, 100))
	benchGet(b, m, keys[benchKeys:], hs[benchKeys:], false)
}

func BenchmarkIterate(b *testing.B) {
	keys := randomKeys(benchKeys)
	m := fill(keys, hashes(keys), make([]byte, 100))
	it := m.NewIter()
	b.ReportAllocs()
	ok := it.First()
	for b.Loop() {
		if !ok {
			ok = it.First()
			continue
		}
		_ = it.Key()
		ok = it.Next()
	}
}

func BenchmarkSeekAnd50(b *testing.B) {
	keys := randomKeys(benchKeys)
	m := fill(keys, hashes(keys), make([]byte, 100))
	it := m.NewIter()
	rng := rand.New(rand.NewPCG(3, 4))
	b.ReportAllocs()
	for b.Loop() {
		ok := it.SeekGE(key.Seek(keys[rng.IntN(len(keys))], key.MaxSeq))
		for n := 0; ok && n < 50; n++ {
			_ = it.Key()
			ok = it.Next()
		}
	}
}
