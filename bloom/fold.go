package bloom

import (
	"errors"
	"fmt"
)

// ErrShape says that filters cannot be folded or merged: their kind does not
// allow it, or their sizes do not match.
var ErrShape = errors.New("bloom: filter shape")

// Fold returns an encoded filter of the same keys in a factor-th of the bits,
// with the false-positive rate that so small a filter has. It needs the filter
// alone, not the keys: multiply-shift puts a key of line floor(h*L/2^64) into
// line floor(h*(L/f)/2^64) of a filter of L/f lines, which is its old line
// divided by f, so every f neighbours become one. The filter is Blocked or
// Classic and its lines (or words of 64 bits) are a multiple of factor; builders
// make the lines of filters from 8 KiB on even, those from 64 KiB on a multiple
// of 8. Anything else is an error that is [ErrShape].
func (f *Filter) Fold(factor uint64) ([]byte, error) {
	if f == nil || f.units == 0 || f.kind > Classic {
		return nil, fmt.Errorf("%w: a %v filter cannot be folded", ErrShape, f.Kind())
	}
	if factor == 0 || f.foldable()%factor != 0 {
		return nil, fmt.Errorf("%w: %d %v units cannot be folded by %d", ErrShape, f.foldable(), f.kind, factor)
	}
	h := f.header
	h.units /= factor
	h.designN /= factor
	h.designRate = h.roundedRate(h.designN)
	data := Alloc(headerSize + len(f.body)/int(factor))
	if f.kind == Blocked {
		foldLines(data[headerSize:], f.body, int(factor))
	} else {
		foldBits(data[headerSize:], f.body, factor)
	}
	h.seal(data)
	return data, nil
}

// foldable returns the number of units of which a divisor is a factor to fold by.
func (f *Filter) foldable() uint64 {
	if f.kind == Classic {
		return f.units / 64
	}
	return f.units
}

func foldLines(dst, src []byte, factor int) {
	for i := range src {
		line, at := i/lineBytes, i%lineBytes
		dst[line/factor*lineBytes+at] |= src[i]
	}
}

func foldBits(dst, src []byte, factor uint64) {
	for bit := range 8 * uint64(len(src)) {
		set := src[bit/8] >> (bit % 8) & 1
		to := bit / factor
		dst[to/8] |= set << (to % 8)
	}
}

// Merge returns an encoded filter of the keys of both. They must be of one
// shape: the same kind, size and number of probes, Blocked or Classic. The
// number of keys of the result counts those in both twice; its design number is
// that of f, so that [Filter.Stats] shows what merging costs. Filters of different
// shapes are an error that is [ErrShape].
func (f *Filter) Merge(g *Filter) ([]byte, error) {
	if f == nil || g == nil || f.units == 0 || f.kind > Classic {
		return nil, fmt.Errorf("%w: a %v filter cannot be merged", ErrShape, f.Kind())
	}
	if f.kind != g.kind || f.units != g.units || f.probes != g.probes {
		return nil, fmt.Errorf("%w: %v of %d units and %d probes, %v of %d and %d", ErrShape,
			f.kind, f.units, f.probes, g.kind, g.units, g.probes)
	}
	h := f.header
	h.n = min(h.n+g.n, maxKeys)
	data := Alloc(headerSize + len(f.body))
	for i, b := range f.body {
		data[headerSize+i] = b | g.body[i]
	}
	h.seal(data)
	return data, nil
}
