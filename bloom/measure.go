package bloom

import (
	"fmt"
	"math"
)

// A Verdict compares a measured false-positive rate with theory.
type Verdict uint8

const (
	// Unjudged says that no filter was measured, or that the expected rate is so
	// low, below 10^-7, that a measurement says nothing.
	Unjudged Verdict = iota
	// Agrees says that the measured rate is one that the formula explains.
	Agrees
	// Differs says that it is not. The hash is bad, the keys collide on purpose, or what
	// was measured were not absent keys.
	Differs
)

var verdictNames = [...]string{"unjudged", "agrees", "differs"}

// String returns the verdict in lower case.
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return fmt.Sprintf("verdict(%d)", uint8(v))
}

// A Measurement is a measured false-positive rate and what theory says of it.
type Measurement struct {
	Probes, Hits uint64  // absent keys that were asked for, and those not denied
	Rate         float64 // Hits / Probes
	Low, High    float64 // interval that holds the filters' true rate with 99.9 %
	Theory       float64 // expected rate over all sets of keys of that size
	Deviation    float64 // expected standard deviation between sets of keys
	Verdict      Verdict
}

// String returns a line for a report.
func (m Measurement) String() string {
	return fmt.Sprintf("measured %.4g (%.4g to %.4g, %d of %d), theory %.4g: %v",
		m.Rate, m.Low, m.High, m.Hits, m.Probes, m.Theory, m.Verdict)
}

const (
	// z is the quantile of the normal distribution for a two-sided 99.9 %.
	z = 3.2905

	// A filter agrees with theory if its rate is in this range around the
	// formula, beyond what chance explains. At 12 probes and more the 32 bits
	// of the chain begin to show.
	slackLow, slackHigh, slackHighMany = 0.97, 1.05, 1.08

	rareRate = 1e-7
)

// Measure probes the filter with random hashes, which are keys that are absent
// but for a chance of n in 2^64, and compares the rate of hits with theory. The
// seed determines the hashes. It takes a few milliseconds for a million probes.
// Some thousand hits are enough to judge by: at a rate of 1 % a quarter of a million
// probes. Without a probe the verdict is [Unjudged].
func Measure(f *Filter, probes int, seed uint64) Measurement {
	probes = max(probes, 0)
	var t Tally
	t.Add(f, uint64(probes), countRandomHits(f, probes, seed))
	return t.Measurement()
}

// countRandomHits returns how many of a number of random hashes the filter does
// not deny.
func countRandomHits(f *Filter, probes int, seed uint64) (hits uint64) {
	var (
		hs  [256]uint64
		out [256]bool
	)
	for left := probes; left > 0; left -= len(hs) {
		n := min(left, len(hs))
		for i := range n {
			seed += golden64
			hs[i] = splitmix(seed)
		}
		f.MayContainBatch(hs[:n], out[:n])
		for _, maybe := range out[:n] {
			hits += uint64(oneIf(maybe))
		}
	}
	return hits
}

// splitmix turns a counter that steps by golden64 into random numbers. (Steele,
// Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014.)
func splitmix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// A Tally collects measurements of several filters, so that rates of small ones
// can be judged: one set of ten keys says little about the next. The zero Tally
// is empty.
type Tally struct {
	probes, hits   uint64
	expected       float64 // hits
	variance       float64 // of the expected hits, between filters
	high           float64 // the largest slack of a filter
	last           header  // of the filter added last, and what is expected of it
	rate, deviance float64
}

// Add counts the hits, the answers "maybe", among a number of probes for keys that
// are not in f.
func (t *Tally) Add(f *Filter, probes, hits uint64) {
	if f == nil || f.units == 0 {
		t.add(probes, hits, 1, 0, slackHigh)
		return
	}
	h := f.header
	h.seed = 0
	if h != t.last {
		t.last = h
		t.rate = h.rate(h.n)
		t.deviance = h.deviation(h.n, t.rate)
	}
	high := slackHigh
	if h.kind == Blocked && h.probes >= 12 {
		high = slackHighMany
	}
	t.add(probes, hits, t.rate, t.deviance, high)
}

func (t *Tally) add(probes, hits uint64, rate, deviation, high float64) {
	p := float64(probes)
	t.probes += probes
	t.hits += hits
	t.expected += p * rate
	t.variance += p * p * deviation * deviation
	t.high = max(t.high, high)
}

// Measurement returns the sum of what was added.
func (t *Tally) Measurement() Measurement {
	if t.probes == 0 {
		return Measurement{}
	}
	p := float64(t.probes)
	m := Measurement{
		Probes:    t.probes,
		Hits:      t.hits,
		Rate:      float64(t.hits) / p,
		Theory:    t.expected / p,
		Deviation: math.Sqrt(t.variance) / p,
	}
	m.Low, m.High = wilson(float64(t.hits), p)
	switch low, high := t.explained(); {
	case m.Theory < rareRate:
		m.Verdict = Unjudged
	case float64(t.hits) < low || float64(t.hits) > high:
		m.Verdict = Differs
	default:
		m.Verdict = Agrees
	}
	return m
}

// explained returns the range of hits that theory and chance explain: the
// expectation with its slack, and the 99.9 % range of a Poisson number around it,
// widened by how much filters differ. The last term is the Poisson
// distribution's skew, in the expansion of Cornish and Fisher.
func (t *Tally) explained() (low, high float64) {
	const (
		skew    = (z*z - 1) / 6
		noneMay = 7.6 // with so few expected, none at all has a chance of 0.05 %
	)
	low, high = t.expected*slackLow, t.expected*t.high
	if low < noneMay {
		low = 0
	} else {
		low -= z*math.Sqrt(low+t.variance) - skew
	}
	high += z*math.Sqrt(high+t.variance) + skew
	return low, high
}

// wilson returns the interval that holds the probability of a hit with 99.9 %
// after hits in a number of trials. (Wilson, JASA 22, 1927.)
func wilson(hits, trials float64) (low, high float64) {
	p := hits / trials
	centre := p + z*z/(2*trials)
	spread := z * math.Sqrt(p*(1-p)/trials+z*z/(4*trials*trials))
	scale := 1 + z*z/trials
	return max(0, (centre-spread)/scale), min(1, (centre+spread)/scale)
}
