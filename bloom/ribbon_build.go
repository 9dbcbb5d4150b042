package bloom

import (
	"encoding/binary"
	"math/bits"
)

// A band is the system of equations of a ribbon filter in echelon form: the
// equation in row i has its first coefficient there.
type band []bandRow

type bandRow struct {
	low, top uint64 // coefficients; low is even where the row has no equation: 0
	print    uint32
}

// ribbonPeak returns the bytes that buildRibbon holds besides the hashes and the
// result.
func ribbonPeak(n, blocks uint64) uint64 { return 8*n + 24*ribbonRows*blocks }

// buildRibbon fills body with the keys of each, and sets h.seed to the seed that
// led to a solution.
func buildRibbon(h *header, body []byte, each func(func([]uint64))) error {
	keys := make([]uint64, h.n)
	rows := make(band, ribbonRows*h.units)
	for attempt := range seedAttempts {
		h.seed = seed(attempt)
		// Neighbours in the band one after the other: 2 to 3 times as fast.
		bucketSort(keys, h.units/64+1, each, func(hash uint64) uint64 {
			return h.equation(hash).start / (64 * ribbonRows)
		})
		if rows.eliminate(h, keys) {
			rows.solve(h, body)
			return nil
		}
		clear(rows)
	}
	return errUnsolvable
}

// eliminate brings the equations of keys into the band. It reports false if two
// contradict each other. Equal keys do not.
func (rows band) eliminate(h *header, keys []uint64) bool {
	for _, hash := range keys {
		e := h.equation(hash)
		for rows[e.start].low != 0 {
			r := &rows[e.start]
			e.low, e.top, e.print = e.low^r.low, e.top^r.top, e.print^r.print
			if e.low|e.top == 0 {
				break
			}
			zeros := uint64(bits.TrailingZeros64(e.low))
			if e.low == 0 {
				zeros += uint64(bits.TrailingZeros64(e.top))
			}
			e.start += zeros
			e.low, e.top = shiftRight(e.low, e.top, zeros)
		}
		if e.low != 0 {
			rows[e.start] = bandRow{e.low, e.top, e.print}
		} else if e.print<<(32-h.probes) != 0 {
			return false
		}
	}
	return true
}

// solve computes the solution from the last row to the first and writes it to
// body. A row without an equation is free, and zero.
func (rows band) solve(h *header, body []byte) {
	// The 128 rows from the current one on, of each column.
	var low, top [maxRibbonBits]uint64
	for i := len(rows) - 1; i >= 0; i-- {
		r := &rows[i]
		columns, at := h.block(uint64(i / ribbonRows))
		for j := range columns {
			l, t := shiftLeft(low[j], top[j], 1)
			sum := bits.OnesCount64(l&r.low ^ t&r.top)
			l |= (uint64(sum) ^ uint64(r.print>>j)) & 1
			low[j], top[j] = l, t
			if i%64 == 0 {
				word := at + j*columnBytes + uint64(i%ribbonRows)/8
				binary.LittleEndian.PutUint64(body[word:], l)
			}
		}
	}
}

// bucketSort fills dst with the hashes of each in the order of their buckets, for
// the sake of the caches.
func bucketSort(dst []uint64, buckets uint64, each func(func([]uint64)), bucket func(uint64) uint64) {
	next := make([]uint64, buckets)
	each(func(hashes []uint64) {
		for _, hash := range hashes {
			next[bucket(hash)]++
		}
	})
	var before uint64
	for i, n := range next {
		next[i], before = before, before+n
	}
	each(func(hashes []uint64) {
		for _, hash := range hashes {
			b := bucket(hash)
			dst[next[b]] = hash
			next[b]++
		}
	})
}
