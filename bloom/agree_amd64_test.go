//go:build !purego

package bloom

import "testing"

// machines returns f as each kind of processor opens it.
func machines(f *Filter) []*Filter {
	narrow := *f
	narrow.mask = 0
	return []*Filter{f, &narrow}
}

// machinePaths returns the assembly for f that this processor can run, chosen
// here and not by the processor.
func machinePaths(f *Filter) (paths []path) {
	if f.lines == 0 {
		return nil
	}
	for _, p := range commonPaths {
		paths = append(paths, path{p.name + ", AVX2", func(f *Filter, hs []uint64, out []bool) {
			defer func(was bool) { hasAVX512 = was }(hasAVX512)
			hasAVX512 = false
			narrow := *f
			narrow.mask = 0
			p.ask(&narrow, hs, out)
		}})
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
