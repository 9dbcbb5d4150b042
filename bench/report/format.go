package report

import (
	"math"
	"strconv"
)

// number writes a number to three significant digits, in few characters.
func number(x float64) string {
	switch {
	case x == 0:
		return "0"
	case math.Abs(x) >= 1e9:
		return strconv.FormatFloat(x, 'g', 3, 64)
	case math.Abs(x) >= 99.95:
		return count(math.Round(x))
	case math.Abs(x) < 0.001:
		return strconv.FormatFloat(x, 'g', 2, 64)
	}
	decimals := 2 - int(math.Floor(math.Log10(math.Abs(x))+1e-9))
	return strconv.FormatFloat(x, 'f', max(decimals, 0), 64)
}

// given writes a number that somebody chose, without digits that say nothing.
func given(x float64) string { return strconv.FormatFloat(math.Round(x*1e4)/1e4, 'f', -1, 64) }

// count writes a whole number with its thousands apart.
func count(x float64) string {
	s := strconv.FormatFloat(x, 'f', 0, 64)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// mega writes bytes in millions.
func mega(bytes float64) string { return number(bytes / 1e6) }

// cut shortens a text to so many characters.
func cut(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}
