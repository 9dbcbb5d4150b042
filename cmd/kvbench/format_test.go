package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/siftkv/sift/bench"
)

// Numbers have three digits, whatever their size.
func TestFormat(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{digits(0), "0"},
		{digits(0.00001234), "1.2e-05"},
		{digits(0.0001234), "0.000123"},
		{digits(0.00999), "0.00999"},
		{digits(0.0123456), "0.0123"},
		{digits(0.12345), "0.123"},
		{digits(0.99949), "0.999"},
		{digits(0.9999), "1.00"},
		{digits(1), "1.00"},
		{digits(9.994), "9.99"},
		{digits(9.996), "10.0"},
		{digits(99.94), "99.9"},
		{digits(99.96), "100"},
		{digits(1234.5), "1,235"},
		{commas(0), "0"},
		{commas(999), "999"},
		{commas(1000), "1,000"},
		{commas(-1000), "-1,000"},
		{commas(-100), "-100"},
		{commas(1234567), "1,234,567"},
		{byteCount(0), "0 B"},
		{byteCount(999), "999 B"},
		{byteCount(1000), "0.977 KiB"},
		{byteCount(4096), "4.00 KiB"},
		{byteCount(1 << 40), "1.00 TiB"},
		{percent(0.00819), "0.819 %"},
		{percent(1), "100 %"},
		{micros(1234 * time.Nanosecond), "1.23 µs"},
	} {
		if c.got != c.want {
			t.Errorf("got %s; want %s", c.got, c.want)
		}
	}
}

// A shape's table, to the letter.
func TestShapeTable(t *testing.T) {
	cell := func(filters bool, lookup bench.Lookup, c bench.Counters) bench.Cell {
		m := bench.Measured{Counters: c, System: bench.SystemReads{Known: true, Calls: c.DiskReads}}
		for range 1000 {
			m.Latency.Record(time.Duration(1000 + 20*c.DiskReads))
		}
		return bench.Cell{Shape: bench.Fresh, Filters: filters, Lookup: lookup, Measured: m}
	}
	got := shapeTable([]bench.Cell{
		cell(false, bench.Absent, bench.Counters{DiskReads: 8990, BytesRead: 30_000_000, Candidates: 9000}),
		cell(true, bench.Absent, bench.Counters{
			DiskReads: 74, BytesRead: 250_000, Candidates: 9000, FilterChecks: 9000, FilterNegatives: 8926, FalsePositives: 74, DesignedRate: 0.00819,
		}),
		cell(false, bench.Present, bench.Counters{DiskReads: 4980, BytesRead: 17_000_000, Candidates: 5010}),
		cell(true, bench.Present, bench.Counters{
			DiskReads: 1030, BytesRead: 3_500_000, Candidates: 5010, FilterChecks: 5010, FilterNegatives: 3977, FalsePositives: 33, DesignedRate: 0.00819,
		}),
	})
	const want = `
AS THE LOAD LEFT IT: tables overlap, a key could be in any of them
                                         absent keys            present keys
                               no filter      filter   no filter      filter
each lookup, on average
  disk reads                        8.99      0.0740        4.98        1.03
  read calls, system's count        8.99      0.0740        4.98        1.03
  bytes read                    29.3 KiB       250 B    16.6 KiB    3.42 KiB
  candidate tables                  9.00        9.00        5.01        5.01
  filters asked                        -        9.00           -        5.01
  filters that said no                 -        8.93           -        3.98
  false positives                      -      0.0740           -      0.0330
false-positive rate                    -     0.822 %           -     0.823 %
  by the formula                       -     0.819 %           -     0.819 %
time, median                      181 µs     2.48 µs      101 µs     21.6 µs
  99th percentile                 181 µs     2.48 µs      101 µs     21.6 µs
lookups a second                   5,530     403,225       9,940      46,296
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Progress is written over and over, not too often, and goes away.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := &progress{w: &b}
		p.clear()
		p.show("loading", 0)
		p.show("loading", 0.01) // too soon
		<-time.After(progressEvery)
		p.show("loading", 0.5)
		p.show("looking up", 0) // something else: at once
		p.clear()
		p.clear()
		const want = clearLine + "loading   0 %" + clearLine + "loading  50 %" + clearLine + "looking up   0 %" + clearLine
		if got := b.String(); got != want {
			t.Errorf("got %q; want %q", got, want)
		}
	})
	var none *progress
	none.show("loading", 0.5)
	none.clear()
}
