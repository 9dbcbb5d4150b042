package bench

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Every value lies in the bucket whose middle is within the promised 0.8 % of
// it, and buckets ascend with the value.
func TestHistogramBuckets(t *testing.T) {
	values := []uint64{0, 1, 63, 64, 127, 128, 129, 255, 256, 1 << 20, 1<<20 + 1, 1<<62 - 1, 1 << 62, math.MaxInt64}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		values = append(values, rng.Uint64()>>(1+rng.IntN(63)))
	}
	slices.Sort(values)
	last := 0
	for _, v := range values {
		b := bucketOf(v)
		if b < last || b >= numBuckets {
			t.Fatalf("bucketOf(%d) = %d after %d, of %d", v, b, last, numBuckets)
		}
		last = b
		if off := math.Abs(float64(middle(b)) - float64(v)); off > 0.008*float64(v) {
			t.Errorf("%d is in a bucket with the middle %d", v, middle(b))
		}
	}
}

// Quantiles agree with those of the sorted values, within the promised error.
func TestHistogramQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var h Histogram
	var all []time.Duration
	var sum time.Duration
	for range 50_000 {
		d := time.Duration(math.Exp(rng.NormFloat64()*2 + 8)) // a long tail, like latencies
		h.Record(d)
		all = append(all, d)
		sum += d
	}
	slices.Sort(all)
	for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 0.999, 1} {
		want := all[max(int(math.Ceil(q*float64(len(all)))), 1)-1]
		if got := h.Quantile(q); math.Abs(float64(got-want)) > 0.008*float64(want) {
			t.Errorf("Quantile(%v) = %v; want %v", q, got, want)
		}
	}
	if h.Count() != 50_000 || h.Sum() != sum || h.Max() != all[len(all)-1] {
		t.Errorf("count %d, sum %v, max %v; want 50000, %v, %v", h.Count(), h.Sum(), h.Max(), sum, all[len(all)-1])
	}
}

// A quantile is a value that was recorded, not the one after it.
func TestHistogramRank(t *testing.T) {
	var h Histogram
	for i := range 10 {
		h.Record(time.Duration(i + 1))
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.1: 1, 0.11: 2, 0.5: 5, 0.51: 6, 0.9: 9, 1: 10} {
		if got := h.Quantile(q); got != want {
			t.Errorf("Quantile(%v) of 1 to 10 is %d; want %d", q, got, want)
		}
	}
}

// Two histograms merged are the histogram of both's values.
func TestHistogramMerge(t *testing.T) {
	var a, b, both Histogram
	for i := range 1000 {
		d := time.Duration(i * i)
		both.Record(d)
		if i%3 == 0 {
			a.Record(d)
		} else {
			b.Record(d)
		}
	}
	if a.Merge(&b); a != both {
		t.Errorf("merged: %d values, sum %v; want %d, %v", a.Count(), a.Sum(), both.Count(), both.Sum())
	}
}

// An empty histogram, and a clock that was set back, are no faults.
func TestHistogramEdges(t *testing.T) {
	var h Histogram
	if got := h.Quantile(0.5); got != 0 {
		t.Errorf("the median of nothing is %v; want 0", got)
	}
	h.Record(-5)
	if h.Count() != 1 || h.Sum() != 0 || h.Quantile(1) != 0 {
		t.Errorf("a negative duration counts as %v; want 0", h.Sum())
	}
}
