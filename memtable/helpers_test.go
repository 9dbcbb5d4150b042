package memtable

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/siftkv/sift/internal/invariants"
	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/key"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests, 0 for the fixed ones")

// eachSeed runs f as a subtest for several seeds, or for the one of the flag. The
// subtest's name has the seed: -seed with that number replays it. Different tests
// draw different numbers from the same seed.
func eachSeed(t *testing.T, n uint64, f func(t *testing.T, rng *rand.Rand)) {
	t.Helper()
	first, last, name := uint64(1), n, xxhash.Sum64String(t.Name())
	if *seedFlag != 0 {
		first, last = *seedFlag, *seedFlag
	}
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			f(t, rand.New(rand.NewPCG(seed, name)))
		})
	}
}

// few returns n, or a quarter of it in builds that check everything and are slow.
func few(n uint64) uint64 {
	if invariants.Enabled {
		return (n + 3) / 4
	}
	return n
}

// A keyspace makes random keys of one shape.
type keyspace struct {
	name string
	key  func(rng *rand.Rand) []byte
}

var keyspaces = []keyspace{
	{"short", func(rng *rand.Rand) []byte {
		var k []byte
		for range rng.IntN(5) {
			k = append(k, "\x00\x01a\xff"[rng.IntN(4)])
		}
		return k
	}},
	{"path", func(rng *rand.Rand) []byte {
		k := []byte("/usr/share/doc")
		for range rng.IntN(3) {
			k = fmt.Appendf(k, "/package-%d", rng.IntN(12))
		}
		return k[rng.IntN(2)*rng.IntN(2)*rng.IntN(len(k)):]
	}},
	{"random", func(rng *rand.Rand) []byte {
		k := binary.BigEndian.AppendUint64(nil, rng.Uint64())
		return binary.BigEndian.AppendUint64(k, rng.Uint64())
	}},
	{"counter", func(rng *rand.Rand) []byte {
		return fmt.Appendf(nil, "user%012d", rng.IntN(100_000))
	}},
	{"outsiders", func(rng *rand.Rand) []byte { // a common prefix until late
		k := fmt.Appendf(nil, "tenant-00000001/object-%04d", rng.IntN(5000))
		if rng.IntN(400) == 0 {
			k[rng.IntN(15)] ^= byte(1 + rng.IntN(3))
		}
		return k
	}},
}

// A hasher stands for the engine's hash.
type hasher struct {
	name string
	hash func(key []byte) uint64
}

var hashers = []hasher{
	{"xxhash", xxhash.Sum64},
	{"constant", func([]byte) uint64 { return 0x1234_0000_0000 }}, // also a tag of zero
	{"two", func(k []byte) uint64 { return uint64(len(k)) & 1 }},
	{"clustered", func(k []byte) uint64 { return xxhash.Sum64(k) &^ 0xffff }},
}

// model is a memtable beside the sorted slice that it must equal.
type model struct {
	*MemTable
	hash    func([]byte) uint64
	entries []iterator.Entry
	seq     uint64
}

func newModel(sizeHint int64, h hasher) *model {
	return &model{MemTable: New(sizeHint), hash: h.hash}
}

// put adds the next version of a key.
func (m *model) put(user []byte, kind key.Kind, value []byte) {
	m.seq++
	k := key.Make(user, m.seq, kind)
	m.Add(k, value, m.hash(user))
	at, _ := m.search(k)
	m.entries = slices.Insert(m.entries, at, iterator.Entry{Key: k.Clone(), Value: slices.Clone(value)})
}

func (m *model) search(k key.Internal) (int, bool) {
	return slices.BinarySearchFunc(m.entries, k, func(e iterator.Entry, k key.Internal) int {
		return key.Compare(e.Key, k)
	})
}

// checkGet looks a key up and compares with the slice.
func (m *model) checkGet(t *testing.T, user []byte, seq uint64) {
	t.Helper()
	var want iterator.Entry
	at, _ := m.search(key.Seek(user, seq))
	found := at < len(m.entries) && string(m.entries[at].Key.User) == string(user)
	if found {
		want = m.entries[at]
	}
	value, trailer, ok := m.Get(user, m.hash(user), seq)
	if ok != found || trailer != want.Key.Trailer || string(value) != string(want.Value) {
		t.Fatalf("Get(%q, %d) = %q %v %v, want %q %v %v", user, seq, value, trailer, ok, want.Value, want.Key.Trailer, found)
	}
}

// checkScan compares a full walk in each direction.
func (m *model) checkScan(t *testing.T) {
	t.Helper()
	it := m.NewIter()
	i := 0
	for ok := it.First(); ok; ok = it.Next() {
		if i >= len(m.entries) {
			t.Fatalf("%v is beyond the last entry", it.Key())
		}
		m.checkAt(t, it, i)
		i++
	}
	if i != len(m.entries) {
		t.Fatalf("forward: %d entries, want %d", i, len(m.entries))
	}
	for ok := it.Last(); ok; ok = it.Prev() {
		i--
		if i < 0 {
			t.Fatalf("%v is before the first entry", it.Key())
		}
		m.checkAt(t, it, i)
	}
	if i != 0 {
		t.Fatalf("backward: %d entries are missing", i)
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
}

func (m *model) checkAt(t *testing.T, it iterator.Iterator, i int) {
	t.Helper()
	want := m.entries[i]
	if key.Compare(it.Key(), want.Key) != 0 || string(it.Value()) != string(want.Value) {
		t.Fatalf("entry %d is %v=%q, want %v=%q", i, it.Key(), it.Value(), want.Key, want.Value)
	}
}
