package report

import (
	"math"
	"strconv"
)

// A scale turns values into places on an axis. A value beyond its ends is put at
// the end.
type scale struct {
	low, high float64 // values
	from, to  float64 // places
	log       bool
}

// A tick is a value that an axis names.
type tick struct {
	at   float64
	text string
}

func (s *scale) place(v float64) float64 {
	low, high := s.low, s.high
	if s.log {
		v, low, high = math.Log10(max(v, low)), math.Log10(low), math.Log10(high)
	}
	share := (v - low) / (high - low)
	return s.from + min(max(share, 0), 1)*(s.to-s.from)
}

// leastValue is the least that a scale tells from zero: far less than anything that
// is measured, and far more than where floating point loses its digits.
const leastValue = 1e-12

// linearScale spans 0 to the highest value, and a little more, to a round number.
func linearScale(high float64) *scale {
	if !(high > leastValue) {
		high = 1
	}
	step := niceStep(high / 4)
	return &scale{high: step * math.Ceil(high/step-1e-9)}
}

// logScale spans the positive values, to powers of ten. Where there are none it
// spans 0.1 to 1.
func logScale(values []float64) *scale {
	low, high := math.Inf(1), 0.0
	for _, v := range values {
		if v > leastValue {
			low, high = min(low, v), max(high, v)
		}
	}
	if high == 0 {
		low, high = 0.1, 1
	}
	s := &scale{log: true, low: math.Pow(10, math.Floor(math.Log10(low)+1e-9)), high: math.Pow(10, math.Ceil(math.Log10(high)-1e-9))}
	if s.high <= s.low {
		s.high = 10 * s.low
	}
	return s
}

// niceStep returns the next of 1, 2, 5, 10, 20, … that is not less than x.
func niceStep(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= x*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// ticks returns at most eight or so.
func (s *scale) ticks() []tick {
	var ticks []tick
	if s.log {
		decades := math.Round(math.Log10(s.high / s.low))
		every := math.Ceil(decades / 7)
		for d := 0.0; d <= decades; d += every {
			v := s.low * math.Pow(10, d)
			ticks = append(ticks, tick{v, tickText(v)})
		}
		return ticks
	}
	step := niceStep(s.high / 5)
	for i := 0.0; i*step <= s.high*(1+1e-9); i++ {
		ticks = append(ticks, tick{i * step, tickText(i * step)})
	}
	return ticks
}

// tickText writes a round number.
func tickText(v float64) string {
	switch {
	case v >= 1e6 || v > 0 && v < 1e-4:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case v >= 1000:
		return count(v)
	}
	return given(v)
}
