//go:build !purego

package bloom

import "testing"

// machines returns ways to run something, one for each assembly there is.
func machines() (ways []func(func())) {
	for _, avx512 := range []bool{hasAVX512, false} {
		ways = append(ways, func(run func()) {
			defer func(was bool) { hasAVX512 = was }(hasAVX512)
			hasAVX512 = avx512
			run()
		})
	}
	return ways
}

// machinePaths returns the assembly for f that this processor can run, chosen
// here and not by the processor.
func machinePaths(f *Filter) (paths []path) {
	if f.lines == 0 {
		return nil
	}
	with := func(avx512 bool, ask func(f *Filter, hs []uint64, out []bool)) func(f *Filter, hs []uint64, out []bool) {
		return func(f *Filter, hs []uint64, out []bool) {
			defer func(was bool) { hasAVX512 = was }(hasAVX512)
			hasAVX512 = avx512
			ask(f, hs, out)
		}
	}
	for _, p := range commonPaths {
		paths = append(paths, path{p.name + ", AVX2", with(false, p.ask)})
	}
	return paths
}

// A run on a processor without the instructions tests less than it seems to.
func TestProcessor(t *testing.T) {
	t.Logf("AVX2 %v, AVX-512 %v", hasAVX2, hasAVX512)
	if hasAVX512 && !hasAVX2 {
		t.Error("AVX-512 without AVX2")
	}
}

// An amd64 processor without AVX2 uses the reference everywhere.
func TestProcessorWithoutAVX2(t *testing.T) {
	defer func(a, b bool) { hasAVX2, hasAVX512 = a, b }(hasAVX2, hasAVX512)
	hasAVX2, hasAVX512 = false, false
	hs := randomHashes(1, 1000)
	f := open(t, build(t, Blocked, 10, hs))
	if f.lines != 0 {
		t.Fatal("filter is set up for assembly")
	}
	assertAll(t, f, hs)
	assertPathsAgree(t, f, randomHashes(2, 1000))
}
