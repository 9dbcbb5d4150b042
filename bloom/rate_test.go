package bloom

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"testing"
)

// A cell is a point of the grid on which theory and practice are compared.
type cell struct {
	kind Kind
	n    int
	bits float64
}

func (c cell) String() string { return fmt.Sprintf("%v, %d keys, %v bits", c.kind, c.n, c.bits) }

// filters returns how many filters of n keys are measured together, so that the
// luck of small sets evens out.
func (c cell) filters() int { return max(1, effort(min(200_000/c.n, 4000))) }

func rateGrid() (cells []cell) {
	for _, kind := range allKinds {
		// 1020 and 8188 keys of 16 bits make sizes that are powers of two.
		for _, n := range []int{10, 100, 1020, 8188, 100_000} {
			for _, bits := range []float64{5, 10, 16, 20, 24} {
				if h, _ := design(kind, uint64(n), bits); h.kind == kind {
					cells = append(cells, cell{kind, n, bits})
				}
			}
		}
	}
	return cells
}

// rateProbes is the number of probes of a cell.
var rateProbes = effort(1 << 19)

// What the package promises: the rate that a filter states is the rate that
// absent keys meet, at every size.
func TestRateAgreesWithTheory(t *testing.T) {
	for _, c := range rateGrid() {
		var tally Tally
		filters := c.filters()
		for i := range filters {
			f := open(t, build(t, c.kind, c.bits, randomHashes(uint64(i), c.n)))
			probes := rateProbes / filters
			tally.Add(f, uint64(probes), countRandomHits(f, probes, uint64(i)))
		}
		m := tally.Measurement()
		t.Logf("%v: %v", c, m)
		if m.Verdict == Differs {
			t.Errorf("%v: %v", c, m)
		}
	}
}

// Keys that people have: counters, decimal numbers, few bits that differ.
func TestRateOfLowEntropyKeys(t *testing.T) {
	for name, key := range map[string]func(i uint64) []byte{
		"big-endian counters":    func(i uint64) []byte { return binary.BigEndian.AppendUint64(nil, i) },
		"little-endian counters": func(i uint64) []byte { return binary.LittleEndian.AppendUint64(nil, i) },
		"numbered users":         func(i uint64) []byte { return fmt.Appendf(nil, "user%012d", i) },
		"high bits":              func(i uint64) []byte { return binary.BigEndian.AppendUint64(nil, bits.Reverse64(i)) },
		"zeros":                  func(i uint64) []byte { return make([]byte, i) },
	} {
		for _, kind := range allKinds {
			n, probes := uint64(1<<14), uint64(effort(1<<18))
			if name == "zeros" { // each key is longer than the one before
				n, probes = 500, 5000
			}
			b, err := NewBuilder(kind, 10)
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				b.AddKey(key(i))
			}
			data, err := b.Finish()
			if err != nil {
				t.Fatal(err)
			}
			f, hits := open(t, data), uint64(0)
			for i := range probes {
				hits += uint64(oneIf(f.MayContainKey(key(n + i))))
			}
			var tally Tally
			tally.Add(f, probes, hits)
			if m := tally.Measurement(); m.Verdict != Agrees {
				t.Errorf("%v of %s: %v", kind, name, m)
			}
		}
	}
}

// A mutant is a filter with a worse index scheme.
type mutant struct {
	name      string
	kind      Kind
	positions func(h uint64, m uint64, k int, visit func(bit uint64))
}

// mutants are schemes that well-known libraries use. Each has cells of the grid
// in which the test above must find it out.
var mutants = []mutant{
	{"a chain that rotates by 15 in a line", Blocked, func(h, m uint64, k int, visit func(uint64)) {
		line := lineOf(h, m/lineBits) * lineBits
		x, d := uint32(h), bits.RotateLeft32(uint32(h), -17)
		for range k {
			visit(line + uint64(x%lineBits))
			x += d
		}
	}},
	{"h + i*d modulo m with d = h*C", Classic, func(h, m uint64, k int, visit func(uint64)) {
		d := h*golden64 | 1
		for range k {
			visit(h % m)
			h += d
		}
	}},
}

// measure judges the mutant by the same rule as TestRateAgreesWithTheory, with
// the theory of a sound filter of the same shape.
func (mu mutant) measure(c cell) Measurement {
	h, size := shape(c.kind, uint64(c.n), c.bits)
	m := 8 * size
	rate := h.rate(h.n)
	deviation := h.deviation(h.n, rate)
	high := slackHigh
	if h.kind == Blocked && h.probes >= 12 {
		high = slackHighMany
	}
	var tally Tally
	for i := range c.filters() {
		body := make([]byte, size)
		for _, hash := range randomHashes(uint64(i), c.n) {
			mu.positions(hash, m, int(h.probes), func(bit uint64) { body[bit/8] |= 1 << (bit % 8) })
		}
		probes, hits := rateProbes/c.filters(), uint64(0)
		for _, hash := range randomHashes(uint64(i)+1<<32, probes) {
			all := true
			mu.positions(hash, m, int(h.probes), func(bit uint64) { all = all && body[bit/8]>>(bit%8)&1 == 1 })
			hits += uint64(oneIf(all))
		}
		tally.add(uint64(probes), hits, rate, deviation, high)
	}
	return tally.Measurement()
}

// The test of rates is worth something only if it fails where it should.
func TestRateTestFindsBadSchemes(t *testing.T) {
	for _, mu := range mutants {
		for _, c := range []cell{
			{mu.kind, 1020, 16}, {mu.kind, 8188, 16}, {mu.kind, 65_532, 16},
		} {
			m := mu.measure(c)
			t.Logf("%s, %v: %.1f times the formula: %v", mu.name, c, m.Rate/m.Theory, m)
			if m.Verdict != Differs {
				t.Errorf("%s passes for %v: %v", mu.name, c, m)
			}
		}
	}
}

// Theory itself: the rate computed from recurrences is the mean over all sets
// of keys, here counted one by one where that is possible.
func TestRateOfTinyFilters(t *testing.T) {
	// One key with one probe: the filter has one bit set.
	for _, lines := range []uint64{1, 2, 7} {
		want := 1 / float64(512*lines)
		if got, err := BlockedRate(1, lines, 1); err != nil || math.Abs(got/want-1) > 1e-12 {
			t.Errorf("1 key in %d lines: rate %v, %v, want %v", lines, got, err, want)
		}
	}
	// Two keys of two probes into m bits, by counting all m^4 cases.
	const m = 6
	var sum float64
	for a := range m * m * m * m {
		set := 1<<(a%m) | 1<<(a/m%m) | 1<<(a/m/m%m) | 1<<(a/m/m/m)
		fill := float64(bits.OnesCount(uint(set))) / m
		sum += fill * fill
	}
	want := sum / (m * m * m * m)
	if got, err := ClassicRate(2, m, 2); err != nil || math.Abs(got/want-1) > 1e-12 {
		t.Errorf("2 keys in %d bits: rate %v, %v, want %v", m, got, err, want)
	}
}

// The exact rates tend to the formulas of the textbooks.
func TestRateLimits(t *testing.T) {
	const n = 50_000_000
	got, err := ClassicRate(n, 10*n, 7)
	want := math.Pow(1-math.Exp(-0.7), 7)
	if err != nil || math.Abs(got/want-1) > 1e-5 {
		t.Errorf("classic: %v, %v, want %v", got, err, want)
	}
	got, err = BlockedRate(n, 10*n/512, 6)
	want = 0 // Putze, Sanders, Singler, equation 3
	lambda := 51.2
	for i, p := 0, math.Exp(-lambda); i < 400; i++ {
		want += p * math.Pow(1-math.Pow(1-1./512, float64(6*i)), 6)
		p *= lambda / float64(i+1)
	}
	if err != nil || got < want || got > want*1.02 {
		t.Errorf("blocked: %v, %v, want %v to 2 %% above", got, err, want)
	}
}
