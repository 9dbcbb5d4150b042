package bloom

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The hash is part of the format. Values from the xxHash specification and its
// reference implementation.
func TestHashIsXX64(t *testing.T) {
	for key, want := range map[string]uint64{
		"":    0xef46db3751d8e999,
		"a":   0xd24ec4f1a98c6e5b,
		"abc": 0x44bc2cf5ad770999,
	} {
		if got := Hash([]byte(key)); got != want {
			t.Errorf("Hash(%q) = %#x, want %#x", key, got, want)
		}
	}
}

// Filters that were written once must be readable for ever, and builders write
// the same bytes on every machine.
func TestGoldenBytes(t *testing.T) {
	hs := make([]uint64, 40)
	for i := range hs {
		hs[i] = Hash(binary.BigEndian.AppendUint64(nil, uint64(i)))
	}
	for kind := range numKinds {
		data := buildExactly(t, kind, 12, hs)
		name := filepath.Join("testdata", kind.String()+".hex")
		if *update {
			if err := os.WriteFile(name, []byte(hex.Dump(data)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.Dump(data); got != string(want) {
			t.Errorf("%v: got\n%swant\n%s", kind, got, want)
		}
		assertAll(t, open(t, data), hs)
	}
}

// Each case changes one field of a sound filter and renews the checksum, so
// that the field itself must be refused.
func TestOpenRefuses(t *testing.T) {
	le := binary.LittleEndian
	for _, c := range []struct {
		name   string
		kinds  []Kind
		change func(data []byte) []byte
		want   error
	}{
		{"nothing", allKinds, func([]byte) []byte { return nil }, ErrCorrupt},
		{"a cut header", allKinds, func(d []byte) []byte { return d[:headerSize-1] }, ErrCorrupt},
		{"a cut body", allKinds, func(d []byte) []byte { return d[:len(d)-1] }, ErrCorrupt},
		{"a body cut with its length", allKinds, func(d []byte) []byte { d = d[:len(d)-8]; le.PutUint64(d[48:], uint64(len(d))); return d }, ErrCorrupt},
		{"a longer body", allKinds, func(d []byte) []byte {
			d = append(d, make([]byte, 8)...)
			le.PutUint64(d[48:], uint64(len(d)))
			return d
		}, ErrCorrupt},
		{"no body", allKinds, func(d []byte) []byte { d = d[:headerSize]; le.PutUint64(d[48:], headerSize); return d }, ErrCorrupt},
		{"another magic", allKinds, func(d []byte) []byte { d[0]++; return d }, ErrCorrupt},
		{"a later version", allKinds, func(d []byte) []byte { d[4]++; return d }, ErrUnknown},
		{"family 0", allKinds, func(d []byte) []byte { d[5] = 0; return d }, ErrUnknown},
		{"a later family", allKinds, func(d []byte) []byte { d[5] = uint8(numKinds) + 1; return d }, ErrUnknown},
		{"another hash", allKinds, func(d []byte) []byte { d[6]++; return d }, ErrUnknown},
		{"another index scheme", allKinds, func(d []byte) []byte { d[7]++; return d }, ErrUnknown},
		{"a seed", []Kind{Blocked, Classic}, func(d []byte) []byte { d[8]++; return d }, ErrUnknown},
		{"no units", allKinds, func(d []byte) []byte { le.PutUint64(d[16:], 0); return d }, ErrCorrupt},
		{"one unit more", allKinds, func(d []byte) []byte { d[16]++; return d }, ErrCorrupt},
		{"units that overflow", allKinds, func(d []byte) []byte { le.PutUint64(d[16:], 1<<58+le.Uint64(d[16:])); return d }, ErrCorrupt},
		{"all units", allKinds, func(d []byte) []byte { le.PutUint64(d[16:], math.MaxUint64); return d }, ErrCorrupt},
		{"too many keys", allKinds, func(d []byte) []byte { le.PutUint64(d[24:], maxKeys+1); return d }, ErrCorrupt},
		{"too many designed keys", allKinds, func(d []byte) []byte { le.PutUint64(d[32:], maxKeys+1); return d }, ErrCorrupt},
		{"a rate that is no number", allKinds, func(d []byte) []byte { le.PutUint64(d[40:], math.Float64bits(math.NaN())); return d }, ErrCorrupt},
		{"a negative rate", allKinds, func(d []byte) []byte { le.PutUint64(d[40:], math.Float64bits(-1)); return d }, ErrCorrupt},
		{"a rate above 1", allKinds, func(d []byte) []byte { le.PutUint64(d[40:], math.Float64bits(1.1)); return d }, ErrCorrupt},
		{"another length", allKinds, func(d []byte) []byte { d[48]++; return d }, ErrCorrupt},
		{"no probes", allKinds, func(d []byte) []byte { d[56] = 0; return d }, ErrCorrupt},
		{"too many probes", allKinds, func(d []byte) []byte { d[56] = 255; return d }, ErrCorrupt},
		{"17 probes in a line", []Kind{Blocked}, func(d []byte) []byte { d[56] = 17; return d }, ErrCorrupt},
		{"a parameter", []Kind{Blocked, Classic}, func(d []byte) []byte { d[57] = 1; return d }, ErrUnknown},
		{"segments of one slot more than there are", []Kind{Fuse}, func(d []byte) []byte { d[57] = 18; return d }, ErrCorrupt},
		{"segments beyond a word", []Kind{Fuse}, func(d []byte) []byte { d[57] = 200; return d }, ErrCorrupt},
		{"more narrow blocks", []Kind{Ribbon}, func(d []byte) []byte { d[57] = 255; return d }, ErrCorrupt},
		{"reserved byte 58", allKinds, func(d []byte) []byte { d[58] = 1; return d }, ErrUnknown},
		{"reserved byte 59", allKinds, func(d []byte) []byte { d[59] = 1; return d }, ErrUnknown},
	} {
		for _, kind := range c.kinds {
			data := c.change(buildExactly(t, kind, 12, randomHashes(1, 1000)))
			if len(data) >= headerSize {
				le.PutUint32(data[crcOffset:], checksum(data))
			}
			f, err := Open(data)
			if !errors.Is(err, c.want) || f != nil {
				t.Errorf("%v with %s: error %v, want %v", kind, c.name, err, c.want)
			}
		}
	}
}

var allKinds = []Kind{Blocked, Classic, Fuse, Ribbon}

// The filter does not copy: a table's filter block is the filter.
func TestOpenAliases(t *testing.T) {
	data := build(t, Blocked, 10, randomHashes(1, 100))
	f := open(t, data)
	if &f.body[0] != &data[headerSize] || f.Size() != len(data) {
		t.Error("Open copied the filter")
	}
}

// FuzzOpen hands arbitrary bytes to Open, as they are and with a header that
// passes the checksum, and uses whatever filter comes out. It must not panic or
// hang, and a filter must not use memory beyond its input.
func FuzzOpen(f *testing.F) {
	for _, kind := range allKinds {
		f.Add(buildExactly(f, kind, 10, randomHashes(1, 50)), uint64(1))
		f.Add(build(f, kind, 30, nil), uint64(1))
	}
	f.Add([]byte{}, uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, h uint64) {
		probe := func() {
			filter, err := Open(data)
			if err != nil {
				if filter != nil {
					t.Fatal("a filter and an error")
				}
				return
			}
			probes := []uint64{h, ^h, 0, math.MaxUint64, h << 32}
			out := make([]bool, len(probes))
			filter.MayContainBatch(probes, out)
			MayContainMany([]*Filter{filter}, h, out)
			assertPathsAgree(t, filter, probes)
			if r := filter.Rate(); !(r >= 0 && r <= 1) {
				t.Fatalf("rate %v", r)
			}
			_ = filter.Stats().String()
			if folded, err := filter.Fold(2); err == nil && len(folded) > len(data) {
				t.Fatal("folding grew the filter")
			}
			_, _ = filter.Merge(filter)
		}
		allocates(t, maxRateMemory+16*uint64(len(data)), probe)
		if len(data) >= headerSize {
			data = bytes.Clone(data)
			le := binary.LittleEndian
			le.PutUint32(data, magic)
			data[4], data[6] = formatVersion, hashXX64
			le.PutUint64(data[48:], uint64(len(data)))
			le.PutUint32(data[crcOffset:], checksum(data))
			allocates(t, maxRateMemory+16*uint64(len(data)), probe)
		}
	})
}

// maxRateMemory bounds what Rate takes meanwhile: it multiplies some 64 pairs of
// matrices whose side is the number of probes, however small the filter.
const maxRateMemory = 32 << 20

// allocates fails the test if f allocates more than limit bytes in all.
func allocates(t *testing.T, limit uint64, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > limit {
		t.Fatalf("%d bytes allocated, the limit is %d", n, limit)
	}
}
