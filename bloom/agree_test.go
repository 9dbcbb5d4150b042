package bloom

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

// A path is one way to ask a filter.
type path struct {
	name string
	ask  func(f *Filter, hs []uint64, out []bool)
}

// commonPaths are those that every build has.
var commonPaths = []path{
	{"single", func(f *Filter, hs []uint64, out []bool) {
		for i, h := range hs {
			out[i] = f.MayContain(h)
		}
	}},
	{"batch", (*Filter).MayContainBatch},
	{"batch in Go", batchGo},
	{"many", func(f *Filter, hs []uint64, out []bool) {
		filters := []*Filter{f, nil, f, {}, f}
		answers := make([]bool, len(filters))
		for i, h := range hs {
			MayContainMany(filters, h, answers)
			if !answers[1] || !answers[3] || answers[0] != answers[2] || answers[0] != answers[4] {
				panic(fmt.Sprint("answers for f, nil, f, zero, f: ", answers))
			}
			out[i] = answers[0]
		}
	}},
}

// assertPathsAgree fails the test if a path differs from the reference in Go.
func assertPathsAgree(t *testing.T, f *Filter, hs []uint64) {
	t.Helper()
	for _, p := range append(commonPaths, machinePaths(f)...) {
		out := make([]bool, len(hs)+1)
		out[len(hs)] = true // a canary: nothing may be written past the end
		p.ask(f, hs, out[:len(hs)])
		for i, h := range hs {
			if want := mayContainGo(f, h); out[i] != want {
				t.Fatalf("%v filter of %d keys, %d probes: %s says %v of hash %#x, want %v",
					f.kind, f.n, f.probes, p.name, out[i], h, want)
			}
		}
		if !out[len(hs)] {
			t.Fatalf("%s wrote past the end of out", p.name)
		}
	}
}

// Every path, number of probes and length of a batch gives what the Go
// reference gives.
func TestPathsAgree(t *testing.T) {
	for kind := range numKinds {
		for _, bits := range []float64{1, 3, 5, 7, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 36, 40, 64} {
			for _, n := range []int{0, 1, 2, 17, 100, 3000} {
				f := open(t, build(t, kind, bits, randomHashes(uint64(n), n)))
				hs := append(randomHashes(uint64(n), n), randomHashes(99, effort(800))...)
				assertPathsAgree(t, f, hs)
			}
		}
	}
	for _, bits := range []float64{9.5, 10, 12} { // fingerprints of 8 bits among them
		f := open(t, buildExactly(t, Fuse, bits, randomHashes(1, 30_000)))
		assertPathsAgree(t, f, append(randomHashes(1, 30_000), randomHashes(2, effort(100_000))...))
	}
	for _, bits := range []float64{10, 24} { // up to eight probes, and more
		f := open(t, build(t, Blocked, bits, randomHashes(1, 1000)))
		for n := range 70 {
			assertPathsAgree(t, f, append(randomHashes(uint64(n), n), randomHashes(1, n)...))
		}
	}
}

// Whatever bytes a header without keys comes with, the answer is "no".
func TestPathsAgreeWithoutKeys(t *testing.T) {
	for _, kind := range allKinds {
		data := buildExactly(t, kind, 10, randomHashes(1, 30_000))
		clear(data[24:32]) // n
		if kind < Fuse {
			clear(data[headerSize:])
		}
		binary.LittleEndian.PutUint32(data[crcOffset:], checksum(data))
		f := open(t, data)
		assertPathsAgree(t, f, randomHashes(1, 1000))
		for _, h := range randomHashes(1, 1000) {
			if f.MayContain(h) {
				t.Fatalf("%v filter without keys knows %#x", kind, h)
			}
		}
	}
}

// One hash against every number of filters of different kinds, sizes and
// probes, some of them missing.
func TestManyAgrees(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	var filters []*Filter
	for i := range 80 {
		switch i % 7 {
		case 3:
			filters = append(filters, nil)
		case 5:
			filters = append(filters, &Filter{})
		default:
			kind := Kind(rng.UintN(uint(numKinds)))
			if i%2 == 0 {
				kind = Blocked
			}
			n := rng.IntN(2000)
			filters = append(filters, open(t, build(t, kind, 1+20*rng.Float64(), randomHashes(uint64(i), n))))
		}
	}
	for n := range len(filters) + 1 {
		for range 50 {
			h := rng.Uint64()
			if n > 0 && rng.IntN(3) == 0 { // a key of one of them
				h = randomHashes(uint64(rng.IntN(n)), 1)[0]
			}
			out := make([]bool, n)
			MayContainMany(filters[:n], h, out)
			for i, f := range filters[:n] {
				if want := f == nil || mayContainGo(f, h); out[i] != want {
					t.Fatalf("filter %d of %d says %v of %#x, want %v", i, n, out[i], h, want)
				}
			}
		}
	}
}

// A key of any length, at any place, is asked for as its hash is.
func TestKeysAgree(t *testing.T) {
	text := make([]byte, 200)
	for i, h := range randomHashes(5, len(text)) {
		text[i] = byte(h)
	}
	octets := false // a fuse filter of 8 bits was asked, which assembly probes
	for _, kind := range allKinds {
		for _, bits := range []float64{3, 10, 11, 24} { // so few keys that each length meets both answers
			hs := randomHashes(1, 5000)
			var keys [][]byte
			for length := range 100 {
				for at := range 100 {
					keys = append(keys, text[at:at+length:at+length])
				}
			}
			for i := 0; i < len(keys); i += 3 {
				hs = append(hs, Hash(keys[i]))
			}
			f := open(t, build(t, kind, bits, hs))
			octets = octets || f.span > 0
			for _, f := range machines(f) {
				for i, key := range keys {
					got, want := f.MayContainKey(key), mayContainGo(f, Hash(key))
					if got != want || mayContainKeyGo(f, key) != want || i%3 == 0 && !got {
						t.Fatalf("%v, %v bits: %v for a key of %d bytes, its hash %v", kind, bits, got, len(key), want)
					}
				}
			}
		}
	}
	if !octets {
		t.Error("no fuse filter of 8 bits")
	}
	if !(*Filter)(nil).MayContainKey(text) || !(&Filter{}).MayContainKey(text[:16]) {
		t.Error("no filter denies a key")
	}
}

// FuzzPathsAgree builds a filter from the fuzzer's hashes.
func FuzzPathsAgree(f *testing.F) {
	f.Add(uint8(0), uint8(10), uint16(100), uint64(1), uint64(2))
	f.Add(uint8(0), uint8(24), uint16(0), uint64(0), uint64(0))
	f.Add(uint8(2), uint8(9), uint16(500), uint64(1<<63), uint64(1<<32))
	f.Add(uint8(3), uint8(11), uint16(300), uint64(3), uint64(1<<31))
	f.Fuzz(func(t *testing.T, kind, bits uint8, n uint16, seed, mask uint64) {
		hs := randomHashes(seed, int(n%2048))
		for i := range hs {
			hs[i] &= ^mask // hashes with little entropy
		}
		filter := open(t, build(t, Kind(kind)%numKinds, 1+float64(bits%64), hs))
		probes := append(hs, randomHashes(seed+1, 200)...)
		for i := range 200 {
			probes = append(probes, probes[len(hs)+i]&^mask)
		}
		assertAll(t, filter, hs)
		assertPathsAgree(t, filter, probes)
	})
}
