package main

import (
	"strconv"
	"time"
)

// commas writes a whole number with its thousands apart.
func commas[T int | int64 | uint64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// byteCount writes a number of bytes to three digits.
func byteCount(b float64) string {
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if b < 999.5 {
			return digits(b) + " " + unit
		}
		b /= 1024
	}
	return digits(b) + " TiB"
}

// digits writes a number to three significant digits, and zero as 0.
func digits(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x >= 99.95:
		return commas(int64(x + 0.5))
	case x >= 9.995:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case x >= 0.9995:
		return strconv.FormatFloat(x, 'f', 2, 64)
	case x >= 0.0001:
		return trimmed(x)
	}
	return strconv.FormatFloat(x, 'e', 1, 64)
}

// trimmed writes a number below one to three significant digits.
func trimmed(x float64) string {
	decimals := 3
	for y := x; y < 0.09995; y *= 10 {
		decimals++
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// micros writes a duration in microseconds.
func micros(d time.Duration) string {
	return digits(float64(d)/float64(time.Microsecond)) + " µs"
}

// percent writes a share, 0 to 1.
func percent(share float64) string { return digits(100*share) + " %" }

func plural(noun string, n int) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
