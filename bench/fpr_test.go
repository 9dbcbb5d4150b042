package bench

import (
	"context"
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
