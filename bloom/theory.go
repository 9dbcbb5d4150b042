package bloom

import (
	"fmt"
	"math"
)

// The functions below are the theory that sizes filters. Those that take bits
// per key speak of large sets; [BlockedRate] and [ClassicRate] are exact for a
// filter of any size.
//
// In the limit no structure needs fewer than log2(1/rate) bits a key. A classic
// filter needs 1.44 times that, a blocked one 1.5 and more the lower the rate,
// a fuse filter 1.13.

// theoryLines stands for "large": at this size a rate is within 10^-5 of its
// limit.
const theoryLines = 1 << 20

// theoryKeys stands for "large" where keys are not added one by one.
const theoryKeys = 1 << 20

// RateForBits returns the false-positive rate of a large filter with bitsPerKey
// bits for each key. It refuses what [NewBuilder] refuses.
func RateForBits(kind Kind, bitsPerKey float64) (float64, error) {
	if err := checkDesign(kind, bitsPerKey); err != nil {
		return 0, err
	}
	return overfilled(kind, bitsPerKey, 1), nil
}

// BitsForRate returns the smallest number of bits per key with which a large
// filter has at most the given false-positive rate, to a hundredth of a bit. It
// refuses a rate that is NaN, not above 0 or not below 1, or so low that
// [MaxBitsPerKey] do not reach it.
func BitsForRate(kind Kind, rate float64) (float64, error) {
	if kind >= numKinds {
		return 0, fmt.Errorf("bloom: no filter of %v", kind)
	}
	if !(rate > 0 && rate < 1) {
		return 0, fmt.Errorf("bloom: rate %v, want more than 0 and less than 1", rate)
	}
	if overfilled(kind, MaxBitsPerKey, 1) > rate {
		return 0, fmt.Errorf("bloom: rate %v needs more than %d bits a key of a %v filter", rate, MaxBitsPerKey, kind)
	}
	const step = 100
	low, high := 0, MaxBitsPerKey*step // in hundredths; low is too little
	for high-low > 1 {
		mid := (low + high) / 2
		if overfilled(kind, float64(mid)/step, 1) > rate {
			low = mid
		} else {
			high = mid
		}
	}
	return float64(high) / step, nil
}

// Overfilled returns the rate of a large filter that was designed for
// bitsPerKey bits a key and holds factor times the keys it was designed for.
// At 10 bits a key a blocked filter's 1.0 % becomes 2.4 % with 1.25 times the
// keys, 12 % with twice and 34 % with three times as many: a filter that may
// grow is sized for 1.5 to 2 times the peak. It refuses what [NewBuilder] refuses,
// a factor that is not a positive number, and one above 1 for Fuse and Ribbon,
// which take no more keys.
func Overfilled(kind Kind, bitsPerKey, factor float64) (float64, error) {
	if err := checkDesign(kind, bitsPerKey); err != nil {
		return 0, err
	}
	if !(factor > 0) || math.IsInf(factor, 1) {
		return 0, fmt.Errorf("bloom: fill factor %v, want a positive number", factor)
	}
	if kind >= Fuse && factor > 1 {
		return 0, fmt.Errorf("bloom: a %v filter cannot grow", kind)
	}
	return overfilled(kind, bitsPerKey, factor), nil
}

func overfilled(kind Kind, bitsPerKey, factor float64) float64 {
	switch kind {
	case Blocked:
		n := theoryLines * lineBits / bitsPerKey * factor
		return blockedRate(uint64(min(n, maxKeys)), theoryLines, int(blockedProbes(bitsPerKey)))
	case Classic:
		k := float64(classicProbes(bitsPerKey))
		return math.Pow(-math.Expm1(-k*factor/bitsPerKey), k)
	default:
		h, _ := shape(kind, theoryKeys, bitsPerKey)
		return h.rate(theoryKeys)
	}
}

// BestProbes returns the number of bits that a key of a large filter sets, or
// for Fuse and Ribbon the bits of its fingerprint, at bitsPerKey bits a key. It
// refuses what [NewBuilder] refuses.
func BestProbes(kind Kind, bitsPerKey float64) (int, error) {
	if err := checkDesign(kind, bitsPerKey); err != nil {
		return 0, err
	}
	h, _ := shape(kind, theoryKeys, bitsPerKey)
	return int(h.probes), nil
}

// BlockedRate returns the exact false-positive rate of n keys that set k bits
// each in a blocked filter of the given number of 512-bit lines, averaged over
// all sets of n keys. It refuses no lines, and a k that is not 1 to 16.
func BlockedRate(n, lines uint64, k int) (float64, error) {
	if lines == 0 || k < 1 || k > maxBlockedProbes {
		return 0, fmt.Errorf("bloom: %d probes into %d lines", k, lines)
	}
	if n == 0 {
		return 0, nil
	}
	return blockedRate(n, lines, k), nil
}

// ClassicRate returns the exact false-positive rate of n keys that set k bits
// each in a classic filter of m bits, averaged over all sets of n keys. It refuses
// no bits, and a k that is not 1 to 64.
func ClassicRate(n, m uint64, k int) (float64, error) {
	if m == 0 || k < 1 || k > maxClassicProbes {
		return 0, fmt.Errorf("bloom: %d probes into %d bits", k, m)
	}
	if n == 0 {
		return 0, nil
	}
	return classicRate(n, m, k), nil
}

// FilterSize returns the bytes of the encoded filter that a Builder makes of n
// keys, header included. It refuses what [NewBuilder] refuses and what is too
// large for an address.
func FilterSize(kind Kind, n uint64, bitsPerKey float64) (uint64, error) {
	if err := checkDesign(kind, bitsPerKey); err != nil {
		return 0, err
	}
	_, body := design(kind, n, bitsPerKey)
	if body > maxBody {
		return 0, errTooLarge
	}
	return headerSize + body, nil
}

// BitsForMemory returns the bits per key that fill a number of bytes with n
// keys, at most [MaxBitsPerKey]; 0 if not even a header fits.
func BitsForMemory(n, bytes uint64) float64 {
	if bytes <= headerSize {
		return 0
	}
	return min(8*float64(bytes-headerSize)/float64(max(n, 1)), MaxBitsPerKey)
}

// checkDesign refuses what no filter can be designed for.
func checkDesign(kind Kind, bitsPerKey float64) error {
	if kind >= numKinds {
		return fmt.Errorf("bloom: no filter of %v", kind)
	}
	if !(bitsPerKey > 0 && bitsPerKey <= MaxBitsPerKey) {
		return fmt.Errorf("bloom: %v bits per key, want more than 0 and at most %d", bitsPerKey, MaxBitsPerKey)
	}
	return nil
}
