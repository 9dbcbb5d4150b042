package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/memtable"
)

// A memtable is full after as many puts as the real one, whatever its size, that of
// the entries and their order, and with keys that come again.
func TestMemTablePuts(t *testing.T) {
	for _, c := range []struct {
		memTable           int64
		keySize, valueSize int
		keys               float64
		sequential         bool
	}{
		{1 << 10, 16, 100, 0, false},
		{64 << 10, 16, 100, 0, false},
		{300_000, 16, 100, 0, false},
		{1 << 20, 16, 0, 0, false},
		{1 << 20, 16, 100, 0, false},
		{1 << 20, 16, 100, 0, true},
		{1 << 20, 16, 100, 5000, false},
		{128 << 10, 16, 100, 60_000, false},
		{5 << 20, 40, 1000, 0, false},
		{16 << 20, 16, 100, 0, false},
		{16 << 20, 16, 100, 20_000, false},
		{4 << 20, 16, 100, 0, false},
		{16 << 20, 16, 300_000, 0, false},
		{2 << 20, 16, 1_000_000, 0, false},
		{64 << 20, 16, 100, 0, false},
	} {
		t.Run(fmt.Sprintf("%d/%d+%d/keys=%g/sequential=%v", c.memTable, c.keySize, c.valueSize, c.keys, c.sequential), func(t *testing.T) {
			config := Default()
			config.MemTableSize, config.KeySize, config.ValueSize = c.memTable, c.keySize, c.valueSize
			got := config.memTablePuts(c.keys, c.sequential)
			want := realPuts(&config, c.keys, c.sequential)
			t.Logf("model %.1f, real %.1f", got, want)
			if math.Abs(got-want) > max(1, 0.002*want) {
				t.Errorf("the model says full after %.1f puts, the real one is after %.1f", got, want)
			}
		})
	}
}

// realPuts fills some real memtables and returns after how many puts they are full.
func realPuts(c *Config, keys float64, sequential bool) float64 {
	const most = 60_000 // puts in all, more or less
	rng := rand.New(rand.NewPCG(3, 4))
	sum, tables := 0.0, 0.0
	for sum < most && tables < 30 {
		sum += float64(fill(c, keys, sequential, rng))
		tables++
	}
	return sum / tables
}

func fill(c *Config, keys float64, sequential bool, rng *rand.Rand) int {
	m := memtable.New(c.MemTableSize)
	value := make([]byte, c.ValueSize)
	need := c.batchBytes() + memTableTax
	for n := 0; ; n++ {
		if n > 0 && (m.Size()+need > c.MemTableSize || need > c.MemTableSize/2) {
			return n
		}
		x := rng.Uint64()
		switch {
		case sequential:
			x = uint64(n)
		case keys > 0:
			x = rng.Uint64N(uint64(keys))
		}
		k := c.appendKey(nil, x, rand.New(rand.NewPCG(x, 0)))
		m.Add(key.Make(k, uint64(n)+1, key.Set), value, bloom.Hash(k))
	}
}
