package bloom

import (
	"encoding/binary"
	"fmt"
	"testing"
)

// benchSizes are a filter in the processor's second cache and one outside it.
var benchSizes = []int{10_000, 1_000_000}

// benchHashes is how many keys a round asks for: few enough to be in the cache.
const benchHashes = 1 << 14

// BenchmarkMayContain asks for absent keys one by one.
func BenchmarkMayContain(b *testing.B) {
	for _, kind := range allKinds {
		for _, n := range benchSizes {
			b.Run(fmt.Sprintf("%v/%d", kind, n), func(b *testing.B) {
				f, hs := open(b, build(b, kind, 10, randomHashes(1, n))), randomHashes(2, benchHashes)
				found := 0
				for i := 0; b.Loop(); i++ {
					found += oneIf(f.MayContain(hs[i%benchHashes]))
				}
				b.ReportMetric(float64(found)/float64(b.N), "rate")
			})
		}
	}
}

// BenchmarkMayContainKey asks for absent keys of 16 bytes, hash and all.
func BenchmarkMayContainKey(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := open(b, build(b, Blocked, 10, randomHashes(1, n)))
			keys := make([]byte, 16*benchHashes)
			for i, h := range randomHashes(2, 2*benchHashes) {
				binary.LittleEndian.PutUint64(keys[8*i:], h)
			}
			for i := 0; b.Loop(); i++ {
				f.MayContainKey(keys[i%benchHashes*16:][:16])
			}
		})
	}
}

// BenchmarkMayContainBatch asks for absent keys 64 at a time.
func BenchmarkMayContainBatch(b *testing.B) {
	const batch = 64
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f, hs := open(b, build(b, Blocked, 10, randomHashes(1, n))), randomHashes(2, benchHashes)
			out := make([]bool, batch)
			for i := 0; b.Loop(); i += batch {
				f.MayContainBatch(hs[i%benchHashes:][:batch], out)
			}
			perKey(b, batch)
		})
	}
}

// BenchmarkMayContainMany asks eight filters for one key.
func BenchmarkMayContainMany(b *testing.B) {
	const tables = 8
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			filters, hs := make([]*Filter, tables), randomHashes(99, benchHashes)
			for i := range filters {
				filters[i] = open(b, build(b, Blocked, 10, randomHashes(uint64(i), n)))
			}
			out := make([]bool, tables)
			for i := 0; b.Loop(); i++ {
				MayContainMany(filters, hs[i%benchHashes], out)
			}
		})
	}
}

// BenchmarkBuild builds a filter of hashes.
func BenchmarkBuild(b *testing.B) {
	for _, kind := range allKinds {
		for _, n := range benchSizes {
			b.Run(fmt.Sprintf("%v/%d", kind, n), func(b *testing.B) {
				hs := randomHashes(1, n)
				for b.Loop() {
					build(b, kind, 10, hs)
				}
				perKey(b, n)
			})
		}
	}
}

// perKey reports what each of the n keys of an iteration costs.
func perKey(b *testing.B, n int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/key")
}
