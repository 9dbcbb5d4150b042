package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/siftkv/sift/bench"
)

// Keys is a set of keys. It is immutable, and safe for use by several goroutines.
//
//  1. Present keys are distinct, those past Len included.
//  2. No absent key is present.
//  3. Every absent key lies well inside the range of the first Len present keys,
//     so that no table's bounds alone can rule it out.
type Keys interface {
	// Len returns how many keys are loaded.
	Len() int

	// Present appends the i-th key to dst, in the order of the load, which is
	// random. From Len on they are keys that a workload adds.
	Present(dst []byte, i int) []byte

	// Ordered appends the r-th of the first Len keys in key order.
	Ordered(dst []byte, r int) []byte

	// Absent appends the i-th absent key, for any i >= 0. A set that has only so
	// many starts again from the first.
	Absent(dst []byte, i int) []byte
}

// KeyNames returns the names of the key sets: hex are random digits; decimal are
// numbers as db_bench writes them; paths are long and share their beginnings.
func KeyNames() []string { return []string{"hex", "decimal", "paths"} }

// NewKeys returns a key set by its name. Equal arguments give equal sets.
func NewKeys(name string, n int, seed uint64) (Keys, error) {
	switch name {
	case "hex":
		return &hexKeys{Generated: bench.NewGenerated(n, 0, seed)}, nil
	case "decimal":
		return &decimalKeys{newNumbers(n, seed)}, nil
	case "paths":
		return newPathKeys(n, seed), nil
	}
	return nil, fmt.Errorf("there are no keys %q; there are %s", name, strings.Join(KeyNames(), ", "))
}

// hexKeys are 16 random hexadecimal digits each.
type hexKeys struct {
	*bench.Generated
	sort   sync.Once
	sorted []uint64
}

func (k *hexKeys) Ordered(dst []byte, r int) []byte {
	k.sort.Do(func() {
		k.sorted = make([]uint64, k.Len())
		var key []byte
		for i := range k.sorted {
			key = k.Present(key[:0], i)
			k.sorted[i], _ = strconv.ParseUint(string(key), 16, 64) // it is made of 16 digits
		}
		slices.Sort(k.sorted)
	})
	start := len(dst)
	dst = append(dst, "0000000000000000"...)
	for i, x := len(dst)-1, k.sorted[r]; i >= start; i, x = i-1, x>>4 {
		dst[i] = "0123456789abcdef"[x&15]
	}
	return dst
}

// numbers are what keys that are made of numbers are made of: twice a number
// below n for a present key, and one more than that for an absent one.
type numbers struct {
	n              int
	edge           int // so many keys at either end have no absent key among them
	load, absences permutation
}

func newNumbers(n int, seed uint64) numbers {
	// With an edge as wide as this, a table that holds a random eighth of the keys
	// has them all inside its bounds, but for once in 10^11 times.
	edge := max(n/100, min(n/4, 200))
	return numbers{n: n, edge: edge, load: newPermutation(n, seed), absences: newPermutation(n-2*edge, seed+1)}
}

func (k *numbers) Len() int { return k.n }

func (k *numbers) present(i int) uint64 {
	if i >= k.n {
		return 2 * uint64(i) // what is added comes at the end, in order
	}
	return 2 * k.load.at(uint64(i))
}

func (k *numbers) absent(i int) uint64 {
	return 2*(uint64(k.edge)+k.absences.at(uint64(i)%k.absences.n)) + 1
}

// decimalKeys are numbers of 16 digits, as db_bench writes them.
type decimalKeys struct{ numbers }

func (k *decimalKeys) Present(dst []byte, i int) []byte { return appendDecimal(dst, k.present(i), 16) }

func (k *decimalKeys) Ordered(dst []byte, r int) []byte { return appendDecimal(dst, 2*uint64(r), 16) }

func (k *decimalKeys) Absent(dst []byte, i int) []byte { return appendDecimal(dst, k.absent(i), 16) }

// appendDecimal appends x in at least so many digits.
func appendDecimal(dst []byte, x uint64, digits int) []byte {
	var buf [20]byte
	i := len(buf)
	for ; x > 0 || len(buf)-i < digits; x /= 10 {
		i--
		buf[i] = byte('0' + x%10)
	}
	return append(dst, buf[i:]...)
}
