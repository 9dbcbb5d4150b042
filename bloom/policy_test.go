package bloom

import (
	"math"
	"testing"
)

// levels returns runs that grow by a factor, the last one with n keys.
func levels(kind Kind, n uint64, count, factor int) []Run {
	runs := make([]Run, count)
	for i := count - 1; i >= 0; i-- {
		runs[i] = Run{Keys: n, Kind: kind, Weight: 1}
		n /= uint64(factor)
	}
	return runs
}

// The example of the Monkey paper's setting: five levels, tenfold growth, 10
// bits on average. Uniform bits waste 3.4 times as many reads.
func TestAllotIsMonkey(t *testing.T) {
	runs := levels(Classic, 1e8, 5, 10)
	a, err := Allot(runs, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{20, 20, 19.1, 14.3, 9.5} // 28.6 and 23.8 without the cap
	for i, b := range a.Bits {
		if math.Abs(b-want[i]) > 0.35 {
			t.Errorf("level %d: %v bits, want %v", i, b, want[i])
		}
	}
	uniform, err := RateForBits(Classic, 10)
	if err != nil {
		t.Fatal(err)
	}
	if ratio := 5 * uniform / a.Wasted; ratio < 3.2 || ratio > 3.6 {
		t.Errorf("uniform bits waste %v times as many reads", ratio)
	}
	if share := float64(a.Bytes) * 8 / (10 * 1.1111e8); share > 1.0001 || share < 0.99 {
		t.Errorf("allotment uses %v of the memory", share)
	}
}

// No other division of the memory wastes fewer reads: moving a bit's worth of
// memory from any level to any other makes it worse.
func TestAllotIsOptimal(t *testing.T) {
	for _, kind := range []Kind{Blocked, Classic} {
		runs := levels(kind, 5e6, 4, 7)
		runs[1].Weight, runs[2].Weight = 0.5, 2
		a, err := Allot(runs, 8)
		if err != nil {
			t.Fatal(err)
		}
		for from := range runs {
			for to := range runs {
				memory := float64(min(runs[from].Keys, runs[to].Keys)) / 2 // bits
				less := a.Bits[from] - memory/float64(runs[from].Keys)
				more := a.Bits[to] + memory/float64(runs[to].Keys)
				if from == to || more > MaxPolicyBits {
					continue
				}
				change := runs[from].Weight*(overfilled(kind, less, 1)-a.Rates[from]) +
					runs[to].Weight*(overfilled(kind, more, 1)-a.Rates[to])
				if change < -0.02*a.Wasted {
					t.Errorf("%v: half a bit from level %d to %d wastes %v reads less of %v", kind, from, to, -change, a.Wasted)
				}
			}
		}
	}
}

func TestAllot(t *testing.T) {
	none := []Run{{Keys: 1000, Weight: 1}}
	for _, c := range []struct {
		name  string
		runs  []Run
		bits  float64
		check func(a Allotment) bool
	}{
		{"no runs", nil, 10, func(a Allotment) bool { return len(a.Bits) == 0 && a.Bytes == 0 }},
		{"no memory", none, 0, func(a Allotment) bool { return a.Bits[0] == 0 && a.Wasted == 1 }},
		{"too little for a filter", none, 1, func(a Allotment) bool { return a.Bits[0] == 0 && a.Rates[0] == 1 }},
		{"one run gets all", none, 10, func(a Allotment) bool { return math.Abs(a.Bits[0]-10) < 0.01 }},
		{"capped", none, 60, func(a Allotment) bool { return a.Bits[0] == MaxPolicyBits }},
		{"empty run costs nothing", []Run{{Weight: 1}, none[0]}, 10, func(a Allotment) bool { return a.Bits[0] == MaxPolicyBits && a.Bits[1] > 9.9 }},
		{"every key exists", []Run{{Keys: 100, Weight: 1}, {Keys: 1000}}, 1, func(a Allotment) bool { return a.Bits[0] > 10 && a.Bits[1] == 0 }},
		{"equal runs", []Run{none[0], none[0]}, 8, func(a Allotment) bool { return math.Abs(a.Bits[0]-8) < 0.2 && math.Abs(a.Bits[1]-8) < 0.2 }},
		{"heavy weights", []Run{{Keys: 1000, Weight: 1e12}, {Keys: 1000, Weight: 1e12}}, 8, func(a Allotment) bool { return a.Bits[0] > 7 && a.Bits[1] > 7 }},
		{"fuse below", []Run{{Keys: 1e5, Weight: 1}, {Keys: 1e6, Kind: Fuse, Weight: 1}}, 9.6, func(a Allotment) bool { return a.Bits[1] > 9 && a.Rates[1] == 1./256 }},
	} {
		a, err := Allot(c.runs, c.bits)
		if err != nil || !c.check(a) {
			t.Errorf("%s: %+v, %v", c.name, a, err)
		}
		var keys, used float64
		for i, r := range c.runs {
			keys += float64(r.Keys)
			used += a.Bits[i] * float64(r.Keys)
		}
		if used > keys*c.bits*(1+1e-9) {
			t.Errorf("%s: %v bits used of %v", c.name, used, keys*c.bits)
		}
	}
}

func TestAllotMemory(t *testing.T) {
	runs := levels(Blocked, 1e6, 3, 10)
	byBits, err := Allot(runs, 10)
	if err != nil {
		t.Fatal(err)
	}
	byBytes, err := AllotMemory(runs, 1_387_500)
	if err != nil {
		t.Fatal(err)
	}
	for i := range runs {
		if math.Abs(byBits.Bits[i]-byBytes.Bits[i]) > 1e-3 {
			t.Errorf("level %d: %v bits by average, %v by memory", i, byBits.Bits[i], byBytes.Bits[i])
		}
	}
}

func TestAllotRefuses(t *testing.T) {
	for _, bits := range []float64{math.NaN(), -1, math.Inf(1), MaxBitsPerKey + 1} {
		if _, err := Allot(nil, bits); err == nil {
			t.Errorf("%v bits accepted", bits)
		}
	}
	for _, run := range []Run{
		{Keys: 1, Weight: math.NaN()},
		{Keys: 1, Weight: -1},
		{Keys: 1, Weight: math.Inf(1)},
		{Keys: 1, Kind: numKinds, Weight: 1},
		{Keys: maxKeys + 1, Weight: 1},
	} {
		if _, err := Allot([]Run{run}, 10); err == nil {
			t.Errorf("%+v accepted", run)
		}
	}
}
