package bloom

import (
	"math"
	"strings"
	"testing"
)

// The share of set bits is what the theory of the filter expects.
func TestStatsFill(t *testing.T) {
	for _, kind := range []Kind{Blocked, Classic} {
		for _, bits := range []float64{2, 10, 20} {
			s := open(t, build(t, kind, bits, randomHashes(1, 50_000))).Stats()
			if math.Abs(s.Fill/s.DesignFill-1) > 0.01 || s.Fill < 0.2 || s.Fill > 0.6 {
				t.Errorf("%v at %v bits: fill %v, expected %v", kind, bits, s.Fill, s.DesignFill)
			}
		}
	}
}

func TestStats(t *testing.T) {
	for _, kind := range allKinds {
		s := open(t, buildExactly(t, kind, 12, randomHashes(1, 5000))).Stats()
		if s.Kind != kind || s.Keys != 5000 || s.DesignKeys != 5000 || math.Abs(s.Rate/s.DesignRate-1) > 1e-6 {
			t.Errorf("%+v", s)
		}
		if math.Abs(s.BitsPerKey-12) > 1.5 || s.Bytes < 5000 || s.Probes < 5 {
			t.Errorf("%+v", s)
		}
		if line := s.String(); !strings.Contains(line, kind.String()) || strings.Contains(line, "NaN") {
			t.Error(line)
		}
	}
	if s := (*Filter)(nil).Stats(); s.Rate != 1 || s.Keys != 0 {
		t.Errorf("no filter: %+v", s)
	}
}

// What a later version may add has a name, too.
func TestUnknownNames(t *testing.T) {
	if s := (Differs + 1).String(); s != "verdict(3)" {
		t.Error(s)
	}
	if s := numKinds.String(); s != "kind(4)" {
		t.Error(s)
	}
}

// Measure finds a filter whose keys were added with another hash than the one
// that is asked with, and the same filter sound.
func TestMeasure(t *testing.T) {
	f := open(t, build(t, Blocked, 10, randomHashes(1, 10_000)))
	if m := Measure(f, 1<<18, 7); m.Verdict != Agrees || m.Low > m.Rate || m.High < m.Rate {
		t.Error(m)
	}
	overfull := *f
	overfull.n /= 2
	if m := Measure(&overfull, 1<<18, 7); m.Verdict != Differs {
		t.Errorf("twice the stated keys: %v", m)
	}
	sparse := *f
	sparse.n *= 2
	if m := Measure(&sparse, 1<<18, 7); m.Verdict != Differs {
		t.Errorf("half the stated keys: %v", m)
	}
	if m := Measure(nil, 1000, 7); m.Rate != 1 || m.Theory != 1 || m.Verdict != Agrees {
		t.Errorf("no filter: %v", m)
	}
	for _, probes := range []int{0, -1} {
		if m := Measure(f, probes, 7); m.Verdict != Unjudged || m.Probes != 0 || math.IsNaN(m.Rate) {
			t.Errorf("%d probes: %v", probes, m)
		}
	}
	if m := Measure(open(t, build(t, Blocked, 10, nil)), 1000, 7); m.Verdict != Unjudged || m.Hits != 0 {
		t.Errorf("no keys: %v", m)
	}
	if a, b := Measure(f, 10_000, 3), Measure(f, 10_000, 3); a != b {
		t.Errorf("one seed, two results: %v, %v", a, b)
	}
}

// The deviation between filters that theory predicts is the one there is.
func TestDeviation(t *testing.T) {
	for _, kind := range []Kind{Blocked, Classic} {
		for _, n := range []int{10, 200} {
			const filters, probes = 400, 20_000
			var sum, squares float64
			var f *Filter
			for i := range filters {
				f = open(t, build(t, kind, 5, randomHashes(uint64(i), n)))
				rate := Measure(f, probes, uint64(i)).Rate
				sum += rate
				squares += rate * rate
			}
			mean := sum / filters
			between := squares/filters - mean*mean - mean*(1-mean)/probes
			got, want := math.Sqrt(max(0, between)), f.deviation(f.n, f.Rate())
			if got > want*1.2 || got < want*0.8 {
				t.Errorf("%v, %d keys: deviation %v, theory %v", kind, n, got, want)
			}
		}
	}
}

// The interval holds the true rate as often as it says.
func TestWilson(t *testing.T) {
	if low, high := wilson(0, 1000); low != 0 || high < 0.005 || high > 0.02 {
		t.Errorf("no hits in 1000: %v to %v", low, high)
	}
	if low, high := wilson(1000, 1000); low > 0.995 || high < 0.999999 {
		t.Errorf("1000 hits in 1000: %v to %v", low, high)
	}
	if low, high := wilson(5000, 10_000); math.Abs(low-0.4836) > 1e-3 || math.Abs(high-0.5164) > 1e-3 {
		t.Errorf("half of 10,000: %v to %v", low, high)
	}
}
