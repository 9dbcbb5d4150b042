package bloom

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
)

var (
	fullGrid = flag.Bool("bloom.grid", false, "test every n to 10,000 for every kind and bits (about 20 minutes), not a sample")
	ledger   = flag.String("bloom.ledger", "", "file that keeps which shards of -bloom.grid passed, to go on after an interruption")
	largeSet = flag.Int("bloom.large", 0, "keys of a set that is built and asked for every kind; 100 million take 5 GB and some minutes")
	gridSeed = flag.Uint64("bloom.seed", 1, "seed of the random cells and keys of the grid")
)

const gridMax = 10_000 // keys

// No filter ever denies a key: as built, after a fold and after a merge, for
// every kind, number of keys and bits. The sample has all small sets, where
// sizes are special, and some large ones.
func TestNoFalseNegatives(t *testing.T) {
	if *fullGrid {
		t.Skip("-bloom.grid covers it")
	}
	t.Logf("-bloom.seed=%d", *gridSeed)
	hs := randomHashes(*gridSeed, gridMax+1)
	rng := rand.New(rand.NewPCG(*gridSeed, 1))
	for kind := range numKinds {
		for n := range 301 {
			for bits := 1 + n%16; bits <= 32; bits += 16 {
				checkCell(t, kind, bits, hs[:n+1])
			}
		}
		for range 50 {
			checkCell(t, kind, 1+rng.IntN(32), hs[:300+rng.IntN(gridMax-300)])
		}
	}
}

// The whole grid, in shards of one kind and number of bits.
func TestNoFalseNegativesFullGrid(t *testing.T) {
	if !*fullGrid {
		t.Skip("takes minutes; run with -bloom.grid")
	}
	done := readLedger(t)
	hs := randomHashes(*gridSeed, gridMax+1)
	for kind := range numKinds {
		for bits := 1; bits <= 32; bits++ {
			shard := fmt.Sprintf("seed %d: %v, %d bits, 0 to %d keys", *gridSeed, kind, bits, gridMax)
			if done[shard] {
				continue
			}
			for n := range gridMax + 1 {
				checkCell(t, kind, bits, hs[:n+1])
			}
			t.Log(shard)
			writeLedger(t, shard)
		}
	}
}

// A set so large that an overflow of 32 bits somewhere would show.
func TestNoFalseNegativesLargeSet(t *testing.T) {
	if *largeSet == 0 {
		t.Skip("takes gigabytes; run with -bloom.large=100000000")
	}
	done := readLedger(t)
	for _, kind := range allKinds {
		shard := fmt.Sprintf("seed %d: %v, 10 bits, %d keys", *gridSeed, kind, *largeSet)
		if done[shard] {
			continue
		}
		b, err := NewBuilder(kind, 10)
		if err != nil {
			t.Fatal(err)
		}
		hash := func(i int) uint64 { return splitmix(*gridSeed + uint64(i)*golden64) }
		for i := range *largeSet {
			b.Add(hash(i))
		}
		data, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		f := open(t, data)
		for i := range *largeSet {
			if h := hash(i); !f.MayContain(h) {
				t.Fatalf("%s: false negative for key %d, hash %#x", shard, i, h)
			}
		}
		m := Measure(f, 1<<22, *gridSeed+1)
		t.Logf("%s: %v", shard, m)
		if m.Verdict != Agrees {
			t.Errorf("%s: %v", shard, m)
		}
		writeLedger(t, shard)
	}
}

// checkCell checks a filter of all hashes but the last, which joins by a merge.
func checkCell(t *testing.T, kind Kind, bits int, hs []uint64) {
	t.Helper()
	keys, extra := hs[:len(hs)-1], hs[len(hs)-1:]
	f := open(t, build(t, kind, float64(bits), keys))
	assertBatch(t, f, keys)
	if h, _ := shape(kind, uint64(len(keys)), float64(bits)); f.kind != kind && h.probes > 0 {
		assertBatch(t, open(t, buildExactly(t, kind, float64(bits), keys)), keys)
	}
	if f.kind > Classic {
		return
	}
	for _, factor := range []uint64{2, 3, 8} {
		if f.foldable()%factor == 0 {
			data, err := f.Fold(factor)
			if err != nil {
				t.Fatal(err)
			}
			assertBatch(t, open(t, data), keys)
		}
	}
	g := &Filter{body: make([]byte, len(f.body)), header: f.header}
	if f.kind == Blocked {
		addBlocked(g.body, g.probes, extra)
	} else {
		addClassic(g.body, g.units, g.probes, extra)
	}
	data, err := f.Merge(g)
	if err != nil {
		t.Fatal(err)
	}
	assertBatch(t, open(t, data), hs)
}

// assertBatch is assertAll by the path that is fastest.
func assertBatch(t *testing.T, f *Filter, hs []uint64) {
	t.Helper()
	out := make([]bool, len(hs))
	f.MayContainBatch(hs, out)
	for i, maybe := range out {
		if !maybe {
			t.Fatalf("false negative: %v filter of %d keys, %.3g bits a key, denies key %d, hash %#x",
				f.kind, f.n, f.BitsPerKey(), i, hs[i])
		}
	}
}

func readLedger(t *testing.T) map[string]bool {
	done := map[string]bool{}
	if *ledger == "" {
		return done
	}
	file, err := os.Open(*ledger)
	if os.IsNotExist(err) {
		return done
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		done[lines.Text()] = true
	}
	return done
}

func writeLedger(t *testing.T, shard string) {
	if *ledger == "" {
		return
	}
	file, err := os.OpenFile(*ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(file, shard); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
