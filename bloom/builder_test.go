package bloom

import (
	"errors"
	"runtime"
	"testing"
	"unsafe"
)

// Versions of one key are neighbours in a table and count once; a hash that
// comes again later is legal and found.
func TestBuilderDropsAdjacentDuplicates(t *testing.T) {
	b, err := NewBuilder(Blocked, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []uint64{0, 0, 7, 7, 7, 0} {
		b.Add(h)
	}
	if b.Len() != 3 {
		t.Errorf("length %d, want 3", b.Len())
	}
}

// The first key of a set is added even if it equals the last of the set before.
func TestBuilderResets(t *testing.T) {
	for kind := range numKinds {
		b, err := NewBuilder(kind, 12)
		if err != nil {
			t.Fatal(err)
		}
		first := randomHashes(1, chunkLen+5)
		for _, h := range first {
			b.Add(h)
		}
		if _, err := b.Finish(); err != nil {
			t.Fatal(err)
		}
		b.Add(first[len(first)-1])
		data, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		f := open(t, data)
		if f.Len() != 1 || !f.MayContain(first[len(first)-1]) {
			t.Errorf("%v: %d keys after reset", kind, f.Len())
		}
	}
}

// A set of one key many times over, in an order that defeats the check for
// neighbours, must not defeat the kinds that solve equations.
func TestBuilderTakesScatteredDuplicates(t *testing.T) {
	for kind := range numKinds {
		hs := randomHashes(1, 3000)
		for range 300 {
			hs = append(hs, hs[0], hs[1])
		}
		f := open(t, build(t, kind, 12, hs))
		if f.Kind() != kind {
			t.Errorf("built %v instead of %v", f.Kind(), kind)
		}
		assertAll(t, f, hs)
	}
}

// assertAll fails the test if f denies one of the hashes.
func assertAll(t testing.TB, f *Filter, hashes []uint64) {
	t.Helper()
	for i, h := range hashes {
		if !f.MayContain(h) {
			t.Fatalf("false negative: %v filter of %d keys and %.3g bits a key denies key %d, hash %#x",
				f.Kind(), f.Len(), f.BitsPerKey(), i, h)
		}
	}
}

func TestEmptySetSaysNo(t *testing.T) {
	for kind := range numKinds {
		f := open(t, build(t, kind, 10, nil))
		for _, h := range append(randomHashes(1, 1000), 0, 1) {
			if f.MayContain(h) {
				t.Fatalf("%v: empty filter knows %#x", kind, h)
			}
		}
		if f.Rate() != 0 || f.Len() != 0 {
			t.Errorf("%v: rate %v, length %d", kind, f.Rate(), f.Len())
		}
	}
}

// Lines that straddle two cache lines would double the misses.
func TestFiltersAreAligned(t *testing.T) {
	for n := range 200 {
		buf := Alloc(n)
		if len(buf) != n || cap(buf) != n {
			t.Fatalf("Alloc(%d): length %d, capacity %d", n, len(buf), cap(buf))
		}
		if n > 0 && uintptr(unsafe.Pointer(&buf[0]))%lineBytes != 0 {
			t.Fatalf("Alloc(%d) is not aligned", n)
		}
	}
	f := open(t, build(t, Blocked, 10, randomHashes(1, 100)))
	if uintptr(unsafe.Pointer(&f.body[0]))%lineBytes != 0 {
		t.Error("lines of a finished filter are not aligned")
	}
}

// The limit makes a large kind fall back to a small one, then fail; it fails
// early, so that nothing is collected in vain.
func TestBuilderMemoryLimit(t *testing.T) {
	const n = 3*chunkLen + 100
	hs := randomHashes(1, n)
	for _, c := range []struct {
		name  string
		limit uint64
		want  Kind
		err   error
	}{
		{"none", 0, Fuse, nil},
		{"exact", PeakMemory(Fuse, n, 10), Fuse, nil},
		{"too little for fuse", PeakMemory(Fuse, n, 10) - 1, Blocked, nil},
		{"exact for blocked", PeakMemory(Blocked, n, 10), Blocked, nil},
		{"too little for blocked", PeakMemory(Blocked, n, 10) - 1, 0, ErrMemoryLimit},
		{"too little for the hashes", 16 * chunkLen, 0, ErrMemoryLimit},
	} {
		b, err := NewBuilder(Fuse, 10)
		if err != nil {
			t.Fatal(err)
		}
		b.SetMemoryLimit(c.limit)
		for _, h := range hs {
			b.Add(h)
			if c.limit > 0 && 8*uint64(b.Len()) > c.limit {
				t.Fatalf("%s: %d hashes are over the limit", c.name, b.Len())
			}
		}
		data, err := b.Finish()
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.err)
		}
		if err == nil {
			f := open(t, data)
			assertAll(t, f, hs)
			if f.Kind() != c.want {
				t.Errorf("%s: built %v, want %v", c.name, f.Kind(), c.want)
			}
		}
		b.Add(1) // after a failure the builder starts afresh
		if b.Len() != 1 && c.limit != 16*chunkLen {
			t.Errorf("%s: %d keys after reset", c.name, b.Len())
		}
	}
}

// What PeakMemory says is what a build allocates, but for a few small things.
func TestPeakMemoryIsTrue(t *testing.T) {
	for _, kind := range allKinds {
		for _, n := range []int{100, firstChunk + 1, chunkLen, 100_000} {
			hs := randomHashes(1, n)
			h, size := shape(kind, uint64(n), 12)
			var before, after runtime.MemStats
			runtime.GC() // twice, for the chunks that other builders left
			runtime.GC()
			runtime.ReadMemStats(&before)
			buildExactly(t, kind, 12, hs)
			runtime.ReadMemStats(&after)
			got, want := after.TotalAlloc-before.TotalAlloc, h.peakMemory(size)
			if float64(got) > 1.05*float64(want)+32<<10 || float64(got) < 0.6*float64(want)-16<<10 {
				t.Errorf("%v of %d keys: allocated %d bytes, PeakMemory says %d", kind, n, got, want)
			}
		}
	}
}

// A design beyond any machine is an error, not an overflow.
func TestHugeDesigns(t *testing.T) {
	for kind := range numKinds {
		for _, n := range []uint64{1 << 52, 1<<52 + 1, 1 << 62, 1<<64 - 1} {
			for _, bits := range []float64{1e-300, 1, 64} {
				size, err := FilterSize(kind, n, bits)
				if err == nil && float64(size) < float64(n)*bits/8/100 {
					t.Errorf("%v of %d keys at %v bits: %d bytes", kind, n, bits, size)
				}
				if peak := PeakMemory(kind, n, bits); peak < n && peak < 1<<40 {
					t.Errorf("%v of %d keys at %v bits: peak memory %d", kind, n, bits, peak)
				}
			}
		}
	}
}

func TestLookupsAndAddsDoNotAllocate(t *testing.T) {
	hs := randomHashes(1, 1000)
	out := make([]bool, len(hs))
	for kind := range numKinds {
		f := open(t, build(t, kind, 10, hs))
		filters := []*Filter{f, nil, f}
		if n := testing.AllocsPerRun(100, func() {
			f.MayContain(hs[0])
			f.MayContainKey([]byte("key"))
			f.MayContainBatch(hs, out)
			MayContainMany(filters, hs[0], out)
		}); n != 0 {
			t.Errorf("%v: %v allocations a lookup", kind, n)
		}
	}
	b, err := NewBuilder(Blocked, 10)
	if err != nil {
		t.Fatal(err)
	}
	b.Add(1)
	if n := testing.AllocsPerRun(chunkLen/2, func() { b.Add(hs[b.Len()%len(hs)]) }); n != 0 {
		t.Errorf("%v allocations an Add", n)
	}
}
