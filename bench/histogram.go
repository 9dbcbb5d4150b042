package bench

import (
	"math"
	"math/bits"
	"time"
)

const (
	subBits    = 6            // 64 buckets to a doubling: a bucket is 1.6 % wide
	subBuckets = 1 << subBits // values below this have a bucket each
	numBuckets = (64 - subBits + 1) * subBuckets
)

// Histogram counts durations in buckets whose width grows with the value, so
// that a quantile is off by at most 0.8 %, from a nanosecond to a century, in 30
// KiB. The zero value is ready. It is not safe for use by several goroutines;
// give each its own and Merge them.
type Histogram struct {
	counts [numBuckets]uint64
	n      uint64
	sum    time.Duration
	max    time.Duration
}

// Record counts one duration. A negative one, which a clock that was set back
// can give, counts as zero.
func (h *Histogram) Record(d time.Duration) {
	d = max(d, 0)
	h.counts[bucketOf(uint64(d))]++
	h.n++
	h.sum += d
	h.max = max(h.max, d)
}

// Merge adds what other has counted.
func (h *Histogram) Merge(other *Histogram) {
	for i, c := range other.counts {
		h.counts[i] += c
	}
	h.n += other.n
	h.sum += other.sum
	h.max = max(h.max, other.max)
}

// Count returns how many durations were recorded.
func (h *Histogram) Count() uint64 { return h.n }

// Sum returns the exact sum of the durations.
func (h *Histogram) Sum() time.Duration { return h.sum }

// Max returns the longest duration, exactly.
func (h *Histogram) Max() time.Duration { return h.max }

// Quantile returns the duration that a share q of the recorded ones does not
// exceed, for q in [0, 1]; 0.5 is the median. With nothing recorded it is 0.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := max(uint64(math.Ceil(q*float64(h.n))), 1)
	var seen uint64
	for i, c := range h.counts {
		if seen += c; seen >= rank {
			return min(time.Duration(middle(i)), h.max)
		}
	}
	return h.max
}

// bucketOf numbers the buckets so that they ascend with the value: the top
// subBits+1 bits of v choose one.
func bucketOf(v uint64) int {
	if v < subBuckets {
		return int(v)
	}
	shift := bits.Len64(v) - subBits - 1
	return shift*subBuckets + int(v>>shift)
}

// middle returns the middle of a bucket's values.
func middle(bucket int) uint64 {
	if bucket < 2*subBuckets {
		return uint64(bucket)
	}
	shift := bucket/subBuckets - 1
	low := uint64(bucket-shift*subBuckets) << shift
	return low + 1<<shift/2
}
