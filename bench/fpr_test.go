package bench

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/siftkv/sift/bloom"
)

// The table's figures depend on the seed alone, not on the number of workers,
// and an interrupted table goes on where it was.
func TestFPRRow(t *testing.T) {
	for _, c := range []FPRCell{
		{bloom.Blocked, 100, 10, "random"},
		{bloom.Classic, 1000, 5, "decimal"},
		{bloom.Fuse, 1000, 10, "sequential"},
		{bloom.Ribbon, 1000, 10, "low entropy"},
	} {
		o := FPROptions{Short: true, Seed: 7}
		a, err := measureCell(t.Context(), c, o)
		if err != nil {
			t.Fatal(err)
		}
		b, err := measureCell(t.Context(), c, o)
		if err != nil || a != b {
			t.Errorf("%v: two results for one seed: %v, %v, %v", c, a, b, err)
		}
		if a.Verdict != bloom.Agrees || a.Ratio() < 0.8 || a.Ratio() > 1.2 {
			t.Errorf("%v: %v", c, a)
		}
	}
}

func TestFPRResumes(t *testing.T) {
	var rows []FPRRow
	for _, c := range fprGrid(true) {
		rows = append(rows, FPRRow{FPRCell: c, Filters: 1})
	}
	rows[5].Verdict = bloom.Differs
	var seen []FPRCell
	report, err := FPR(t.Context(), FPROptions{
		Short: true, Workers: 2, Done: rows,
		Progress: func(r FPRRow) { seen = append(seen, r.FPRCell) },
	})
	if err != nil || !slices.Equal(report.Rows, rows) || len(seen) != len(rows) {
		t.Errorf("%d rows, %d seen, %v", len(report.Rows), len(seen), err)
	}
	if bad := report.Bad(); report.OK() || len(bad) != 1 || bad[0].FPRCell != rows[5].FPRCell {
		t.Errorf("bad rows: %v", bad)
	}
}

func TestFPREnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := FPR(ctx, FPROptions{Short: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// The table is worth something only if it fails where it should: keys whose hash
// has 32 good bits, or is that of strings in some standard libraries, are found out.
func TestFPRFindsBadHashes(t *testing.T) {
	half := func(key []byte) uint64 { return bloom.Hash(key) & 0xffff_ffff }
	for _, c := range []struct {
		name string
		kind bloom.Kind
		hash func(key []byte) uint64
	}{
		{"32 bits", bloom.Blocked, half},
		{"polynomial", bloom.Blocked, polynomial},
		{"polynomial", bloom.Classic, polynomial},
		{"polynomial", bloom.Fuse, polynomial},
		{"polynomial", bloom.Ribbon, polynomial},
	} {
		row, err := measureCell(t.Context(), FPRCell{c.kind, 100_000, 10, "sequential"}, FPROptions{Short: true, Seed: 7, hash: c.hash})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s, %v: %.3g times the formula", c.name, c.kind, row.Ratio())
		if row.Verdict != bloom.Differs {
			t.Errorf("%s, %v: %v", c.name, c.kind, row)
		}
	}
}

func polynomial(key []byte) (h uint64) {
	for _, b := range key {
		h = 31*h + uint64(b)
	}
	return h
}

// A row survives being kept in a file.
func TestFPRRowAsJSON(t *testing.T) {
	row, err := measureCell(t.Context(), FPRCell{bloom.Fuse, 1000, 10, "decimal"}, FPROptions{Short: true, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	var got FPRRow
	if err := json.Unmarshal(text, &got); err != nil || got != row {
		t.Errorf("%s became %v, %v; want %v", text, got, err, row)
	}
	for _, bad := range []string{`{"kind":"blocked","verdict":"perhaps"}`, `{"kind":"none","verdict":"agrees"}`, `[]`} {
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s was read as %v", bad, got)
		}
	}
}
