package main

import "testing"

// A subject that forgets keys, or whose formula is not that of its shape, would
// make the comparison worthless.
func TestSubjects(t *testing.T) {
	w := newWorkload(20_000)
	for _, s := range subjects {
		f := s.build(w.present)
		if found := f.count(w.present); found != w.present.len() {
			t.Errorf("%s: found %d of %d keys", s.name, found, w.present.len())
		}
		rate := float64(f.count(w.absent)) / float64(w.absent.len())
		if rate > 0.04 || f.formula > 0 && (rate < f.formula*0.8 || rate > f.formula*1.6) {
			t.Errorf("%s: rate %v, formula %v", s.name, rate, f.formula)
		}
		if f.bytes < 20_000 || f.bytes > 60_000 {
			t.Errorf("%s: %d bytes", s.name, f.bytes)
		}
	}
}

// Present and absent keys have nothing in common.
func TestKeysAreDistinct(t *testing.T) {
	w := newWorkload(10_000)
	seen := map[string]bool{}
	for i := range w.present.len() {
		seen[string(w.present.at(i))] = true
	}
	for i := range 100_000 {
		if seen[string(w.absent.at(i))] {
			t.Fatalf("absent key %d is present", i)
		}
	}
	if len(seen) != 10_000 {
		t.Errorf("%d distinct keys", len(seen))
	}
}
