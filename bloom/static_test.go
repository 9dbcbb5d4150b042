package bloom

import (
	"errors"
	"testing"
)

// buildIn builds a static filter with a number of units other than the design's
// and returns its header.
func buildIn(kind Kind, units uint64, hs []uint64) (header, []byte, error) {
	h, _ := shape(kind, uint64(len(hs)), 12)
	h.units = units
	size := h.ribbonBytes()
	if kind == Fuse {
		size = fuseBytes(units, h.probes)
	}
	b := Builder{kind: kind, bitsPerKey: 12, cur: hs}
	body := make([]byte, size)
	err := b.fill(&h, body)
	return h, body, err
}

// With so little room that some seeds lead nowhere another is found, and the
// filter is right.
func TestStaticFiltersTrySeeds(t *testing.T) {
	h, _ := shape(Fuse, 1000, 12)
	for _, c := range []struct {
		kind  Kind
		n     int
		units uint64
	}{{Fuse, 1000, h.units - 1<<h.param}, {Ribbon, 5000, 40}} {
		retried := false
		for set := range uint64(20) {
			hs := randomHashes(set, c.n)
			h, body, err := buildIn(c.kind, c.units, hs)
			if errors.Is(err, errUnsolvable) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			retried = retried || h.seed != seed(0)
			assertAll(t, &Filter{body: body, header: h}, hs)
		}
		if !retried {
			t.Errorf("%v: no set in %d units needed a second seed", c.kind, c.units)
		}
	}
}

// Without a solution the builder ends, and says so.
func TestStaticFiltersGiveUp(t *testing.T) {
	hs := randomHashes(1, 5000)
	h, _ := shape(Fuse, 5000, 12)
	for kind, units := range map[Kind]uint64{Fuse: 3 << h.param, Ribbon: 30} {
		if _, _, err := buildIn(kind, units, hs); !errors.Is(err, errUnsolvable) {
			t.Errorf("%v: 5000 keys in %d units: %v", kind, units, err)
		}
	}
}

// Keys that are chosen to defeat every seed get a blocked filter: they must not
// stop the flush that writes them. Here there are two keys for each seed that it
// sends to the same slots, with different fingerprints.
func TestBuilderSurvivesChosenKeys(t *testing.T) {
	const n = 1000
	h, _ := shape(Fuse, n, 13)
	hs := randomHashes(1, n)
	if f := open(t, build(t, Fuse, 13, hs)); f.kind != Fuse {
		t.Fatalf("built %v for keys that nobody chose", f.kind)
	}
	var at int
	for attempt := range seedAttempts {
		h.seed = seed(attempt)
		hs[at], hs[at+1] = collide(&h, uint64(attempt))
		at += 2
	}
	f := open(t, build(t, Fuse, 13, hs))
	assertAll(t, f, hs)
	if f.kind != Blocked {
		t.Errorf("built %v for keys that no seed separates", f.kind)
	}
}

// collide returns two hashes that differ and have the same three slots with the
// seed of h, and different fingerprints.
func collide(h *header, salt uint64) (a, b uint64) {
	seen := map[[3]uint64]uint64{}
	for i := salt << 40; ; i++ {
		hash := splitmix(i)
		k := h.fuseKey(hash)
		slots := [3]uint64{k.a, k.b, k.c}
		if other, ok := seen[slots]; ok && h.fuseKey(other).print != k.print {
			return other, hash
		}
		seen[slots] = hash
	}
}
