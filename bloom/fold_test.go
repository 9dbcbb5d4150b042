package bloom

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

// Folding a filter gives the very bits that building the smaller one gives.
func TestFoldIsExact(t *testing.T) {
	hs := randomHashes(1, 20_000)
	for _, kind := range []Kind{Blocked, Classic} {
		f := open(t, build(t, kind, 12, hs))
		for _, factor := range []uint64{1, 2, 4, 8} {
			if f.foldable()%factor != 0 {
				continue
			}
			data, err := f.Fold(factor)
			if err != nil {
				t.Fatal(err)
			}
			h := f.header
			h.units /= factor
			want := make([]byte, len(f.body)/int(factor))
			b := Builder{cur: hs}
			if err := b.fill(&h, want); err != nil {
				t.Fatal(err)
			}
			g := open(t, data)
			if !bytes.Equal(g.body, want) {
				t.Errorf("%v folded by %d differs from one built at that size", kind, factor)
			}
			if g.Len() != f.Len() || g.designN != f.designN/factor {
				t.Errorf("%v folded by %d: %d keys, designed for %d", kind, factor, g.n, g.designN)
			}
			if math.Abs(g.designRate/f.designRate-1) > 0.05 {
				t.Errorf("%v folded by %d: design rate %v, was %v", kind, factor, g.designRate, f.designRate)
			}
			if m := Measure(g, 1<<17, 1); m.Verdict != Agrees {
				t.Errorf("%v folded by %d: %v", kind, factor, m)
			}
		}
	}
}

// Filters that are large enough to matter can be folded by eight.
func TestBuildersMakeFoldableFilters(t *testing.T) {
	for n := 60_000; n < 60_100; n++ {
		if h, _ := design(Blocked, uint64(n), 10); h.units%8 != 0 {
			t.Fatalf("%d keys: %d lines", n, h.units)
		}
	}
}

func TestFoldRefuses(t *testing.T) {
	hs := randomHashes(1, 2000)
	for _, kind := range []Kind{Fuse, Ribbon} {
		if _, err := open(t, buildExactly(t, kind, 12, hs)).Fold(2); !errors.Is(err, ErrShape) {
			t.Errorf("%v folded: %v", kind, err)
		}
	}
	f := open(t, build(t, Blocked, 12, hs))
	for _, factor := range []uint64{0, f.units + 1, math.MaxUint64} {
		if _, err := f.Fold(factor); !errors.Is(err, ErrShape) {
			t.Errorf("folded %d lines by %d: %v", f.units, factor, err)
		}
	}
	for _, none := range []*Filter{nil, {}} {
		if _, err := none.Fold(2); !errors.Is(err, ErrShape) {
			t.Errorf("no filter folded: %v", err)
		}
	}
}

// A merged filter knows the keys of both, and says what that costs.
func TestMerge(t *testing.T) {
	for _, kind := range []Kind{Blocked, Classic} {
		a, b := randomHashes(1, 10_000), randomHashes(2, 10_000)
		f, g := open(t, build(t, kind, 12, a)), open(t, build(t, kind, 12, b))
		data, err := f.Merge(g)
		if err != nil {
			t.Fatal(err)
		}
		m := open(t, data)
		assertAll(t, m, append(a, b...))
		if s := m.Stats(); s.Keys != 20_000 || s.DesignKeys != 10_000 || s.Rate < 10*s.DesignRate {
			t.Errorf("%v: %v", kind, s)
		}
		if got := Measure(m, 1<<17, 1); got.Verdict != Agrees {
			t.Errorf("%v: %v", kind, got)
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	f := open(t, build(t, Blocked, 12, randomHashes(1, 1000)))
	for name, g := range map[string]*Filter{
		"nil":         nil,
		"zero":        {},
		"other size":  open(t, build(t, Blocked, 12, randomHashes(1, 2000))),
		"other kind":  open(t, build(t, Classic, 12, randomHashes(1, 1000))),
		"other bits":  open(t, build(t, Blocked, 20, randomHashes(1, 600))),
		"static kind": open(t, buildExactly(t, Fuse, 12, randomHashes(1, 1000))),
	} {
		if _, err := f.Merge(g); !errors.Is(err, ErrShape) {
			t.Errorf("merged with %s: %v", name, err)
		}
		if _, err := g.Merge(f); !errors.Is(err, ErrShape) {
			t.Errorf("%s merged: %v", name, err)
		}
	}
}
