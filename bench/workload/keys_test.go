package workload

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/golang/snappy"
	"github.com/siftkv/sift/bench"
)

// Each key set keeps the promises of Keys: present keys are distinct, those that
// are added too; Ordered has the loaded ones in order; absent keys are absent,
// and inside the range of what each eighth of the load spans.
func TestKeys(t *testing.T) {
	for _, name := range KeyNames() {
		for _, n := range []int{bench.MinKeys, 1000, 50_000} {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				k, err := NewKeys(name, n, 7)
				if err != nil {
					t.Fatal(err)
				}
				present := make(map[string]bool)
				var order []string
				for i := range 2 * n {
					key := string(k.Present(nil, i))
					if present[key] {
						t.Fatalf("the present key %q comes twice", key)
					}
					present[key] = true
					order = append(order, key)
				}
				order = order[:n]
				checkAbsent(t, k, order, present)
				slices.Sort(order)
				for r, want := range order {
					if got := string(k.Ordered(nil, r)); got != want {
						t.Fatalf("key %d in order is %q; want %q", r, got, want)
					}
				}
			})
		}
	}
}

func checkAbsent(t *testing.T, k Keys, order []string, present map[string]bool) {
	t.Helper()
	const promised = 1000 // keys from which on each eighth spans the absent ones
	part := len(order)
	if part >= promised {
		part /= 8
	}
	low, high := slices.Min(order), slices.Max(order)
	for rest := order; len(rest) >= part; rest = rest[part:] {
		low, high = max(low, slices.Min(rest[:part])), min(high, slices.Max(rest[:part]))
	}
	for i := range order {
		key := string(k.Absent(nil, i))
		if present[key] {
			t.Fatalf("the absent key %q is present", key)
		}
		if key < low || key > high {
			t.Fatalf("the absent key %q is outside of a table's range, %q to %q", key, low, high)
		}
	}
}

// Equal arguments give equal keys; another seed another order.
func TestKeysSeed(t *testing.T) {
	for _, name := range KeyNames() {
		var sets [3]Keys
		for i, seed := range []uint64{1, 1, 2} {
			var err error
			if sets[i], err = NewKeys(name, 1000, seed); err != nil {
				t.Fatal(err)
			}
		}
		same := 0
		for i := range 1000 {
			a, b, c := sets[0].Present(nil, i), sets[1].Present(nil, i), sets[2].Present(nil, i)
			if !bytes.Equal(a, b) || !bytes.Equal(sets[0].Absent(nil, i), sets[1].Absent(nil, i)) {
				t.Fatalf("%s: key %d differs between equal sets", name, i)
			}
			if bytes.Equal(a, c) {
				same++
			}
		}
		if same > 10 {
			t.Errorf("%s: %d of 1000 keys are in the same place for another seed", name, same)
		}
	}
	if _, err := NewKeys("uuid", 1000, 1); err == nil {
		t.Error("keys of an unknown name are made")
	}
}

// Paths are what they are there for: long, several levels deep, and alike for
// most of their length.
func TestPaths(t *testing.T) {
	k, err := NewKeys("paths", 100_000, 1)
	if err != nil {
		t.Fatal(err)
	}
	size, shared, levels := 0, 0, make(map[int]int)
	var last string
	for r := range k.Len() {
		key := string(k.Ordered(nil, r))
		size += len(key)
		levels[strings.Count(key, "/")]++
		for i := 0; i < min(len(key), len(last)) && key[i] == last[i]; i++ {
			shared++
		}
		last = key
	}
	mean, common := float64(size)/float64(k.Len()), float64(shared)/float64(size)
	t.Logf("%.1f bytes, of which %.2f are shared with the key before; levels %v", mean, common, levels)
	if mean < 45 || mean > 90 || common < 0.7 || len(levels) < 4 {
		t.Errorf("paths have %.1f bytes on average, share %.2f, and levels %v", mean, common, levels)
	}
}

// A permutation of n numbers is one, for n around powers of two, and does not
// keep numbers near each other.
func TestPermutation(t *testing.T) {
	for _, n := range []int{2, 3, 100, 255, 256, 257, 1000, 4095, 4097} {
		p := newPermutation(n, 3)
		seen := make([]bool, n)
		near := 0
		for x := range uint64(n) {
			y := p.at(x)
			if seen[y] {
				t.Fatalf("n = %d: %d comes twice", n, y)
			}
			seen[y] = true
			if z := p.at((x + 1) % uint64(n)); y+1 == z {
				near++
			}
		}
		if n >= 100 && near > 10 {
			t.Errorf("n = %d: %d neighbours stay neighbours", n, near)
		}
	}
}

// Values have their size, follow from key and version, and compress to about
// half.
func TestValues(t *testing.T) {
	var all []byte
	for i := range 200 {
		key := fmt.Appendf(nil, "key%05d", i)
		v := appendValue(nil, key, 100, loaded)
		if len(v) != 100 {
			t.Fatalf("%d bytes; want 100", len(v))
		}
		if _, ok := rightValue(nil, key, v, 100, loaded); !ok {
			t.Fatalf("the value of %s is not right", key)
		}
		if _, ok := rightValue(nil, key, v, 100, updated); ok {
			t.Fatalf("the value of %s is right for another version", key)
		}
		if _, ok := rightValue(nil, append(key, 'x'), v, 100, loaded, updated); ok {
			t.Fatalf("the value of %s is right for another key", key)
		}
		all = append(all, v...)
	}
	if share := float64(len(snappy.Encode(nil, all))) / float64(len(all)); share < 0.45 || share > 0.6 {
		t.Errorf("values compress to %.2f of their size; want about half", share)
	}
}
