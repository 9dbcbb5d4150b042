package bench

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/golang/snappy"
)

// wellFormed checks the promises of Keys, for the first n absent keys.
func wellFormed(t *testing.T, k Keys, n int) {
	t.Helper()
	present := make(map[string]bool, k.Len())
	var order []string
	var size int64
	for i := range k.Len() {
		key := string(k.Present(nil, i))
		if present[key] {
			t.Fatalf("the present key %q comes twice", key)
		}
		present[key] = true
		order = append(order, key)
		size += int64(len(key) + len(k.Value(nil, i)))
	}
	if size != k.Bytes() {
		t.Errorf("Bytes() = %d; the pairs have %d", k.Bytes(), size)
	}
	low, high := commonRange(order)
	for i := range n {
		key := string(k.Absent(nil, i))
		if present[key] {
			t.Fatalf("the absent key %q is present", key)
		}
		if key < low || key > high {
			t.Fatalf("the absent key %q is outside of a table's range", key)
		}
	}
}

// commonRange returns the range that each eighth of a load spans, which is about
// what a table holds. Where an eighth is too small to promise that absent keys
// are inside, it is the range of all.
func commonRange(order []string) (low, high string) {
	const promised = 1000
	part := len(order)
	if part >= promised {
		part /= freshTables
	}
	low, high = slices.Min(order), slices.Max(order)
	for ; len(order) >= part; order = order[part:] {
		low, high = max(low, slices.Min(order[:part])), min(high, slices.Max(order[:part]))
	}
	return low, high
}

// Generated keys keep the promises of Keys for small and large sets.
func TestGenerated(t *testing.T) {
	for _, n := range []int{MinKeys, 1000, 20_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) { wellFormed(t, NewGenerated(n, 10, 7), min(n, 300)) })
	}
}

// Absent keys are distinct: each lookup of one is a new question.
func TestGeneratedAbsentDistinct(t *testing.T) {
	k := NewGenerated(1000, 0, 1)
	seen := make(map[string]bool)
	for i := range 200_000 {
		key := string(k.Absent(nil, i))
		if seen[key] {
			t.Fatalf("the absent key %q comes twice", key)
		}
		seen[key] = true
	}
}

// Equal arguments give equal sets; another seed gives another set.
func TestGeneratedSeed(t *testing.T) {
	a, b, c := NewGenerated(100, 20, 1), NewGenerated(100, 20, 1), NewGenerated(100, 20, 2)
	for i := range 100 {
		if !bytes.Equal(a.Present(nil, i), b.Present(nil, i)) || !bytes.Equal(a.Value(nil, i), b.Value(nil, i)) ||
			!bytes.Equal(a.Absent(nil, i), b.Absent(nil, i)) {
			t.Fatalf("pair %d differs between equal sets", i)
		}
		if bytes.Equal(a.Present(nil, i), c.Present(nil, i)) || bytes.Equal(a.Value(nil, i), c.Value(nil, i)) {
			t.Fatalf("pair %d is equal for two seeds", i)
		}
	}
}

// Values have the size asked for, and compress to about half.
func TestAppendValue(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 8, 100, 1001, 4096} {
		v := AppendValue([]byte("before"), n, 42)
		if len(v) != 6+n || string(v[:6]) != "before" {
			t.Errorf("AppendValue of %d bytes made %d", n, len(v)-6)
		}
	}
	var all []byte
	for i := range 100 {
		all = AppendValue(all, 100, mix(uint64(i)))
	}
	if share := float64(len(snappy.Encode(nil, all))) / float64(len(all)); share < 0.45 || share > 0.6 {
		t.Errorf("values compress to %.2f of their size; want about half", share)
	}
}
