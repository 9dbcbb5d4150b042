package workload

import (
	"math"
	"testing"
)

// counted returns a runner whose counts are large enough to mean something, and
// the same in each run: nothing is compacted unless it is asked for, and nothing is
// cached, which depends on the tables' random numbers.
func counted(t *testing.T) *Runner {
	t.Helper()
	if testing.Short() {
		t.Skip("too few operations for a rate")
	}
	r := small(t, "hex")
	r.Pairs, r.Lookups = 20_000, 10_000
	r.Settings.NoCompaction, r.Settings.CacheSize = true, 1
	return r
}

// figures runs a workload.
func figures(t *testing.T, r *Runner, name string) map[string]float64 {
	t.Helper()
	got, err := r.Run(t.Context(), find(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return got.Figures
}

// What reads cost on sift, as counts: an absent key the false-positive rate of
// each filter that is asked, a present one a single block at most, a walk every
// block once. The counts of two runs are equal to the last.
func TestReadCounts(t *testing.T) {
	const (
		rate   = 0.0115 // above the designed rate, by what 10,000 lookups may be off
		tables = 16     // overlapping ones, at most
		more   = 12     // tables at most, that half of the pairs put again, or of the keys deleted, make
	)
	a, b := counted(t), counted(t)
	for _, c := range []struct {
		name            string
		least, greatest float64 // disk reads an operation
	}{
		{"readmissing", 0.004, rate},
		{"readmissing-1k", 0, rate},
		{"readmissing-overlap", 0.02, tables * rate},
		{"readmissing-overwritten", 0.004, (1 + more) * rate},
		{"readmissing-deleted", 0.004, (1 + more) * rate},
		{"readdeleted", 0.5, 1.02}, // a tombstone is read where its table's block is
		{"readrandom", 0.9, 1.02},
		{"readhit-overlap", 0.9, 1 + tables*rate},
		{"readseq", 0.0003, 0.04}, // several blocks a read
		{"readreverse", 0.0003, 0.04},
	} {
		first, second := figures(t, a, c.name)[DiskReadsPerOp], figures(t, b, c.name)[DiskReadsPerOp]
		t.Logf("%-24s %.5f disk reads an operation; want %.5f to %.5f", c.name, first, c.least, c.greatest)
		if first < c.least || first > c.greatest {
			t.Errorf("%s: %.5f disk reads an operation; want %.5f to %.5f", c.name, first, c.least, c.greatest)
		}
		if first != second {
			t.Errorf("%s: %v disk reads an operation, and %v in another run with the same seed", c.name, first, second)
		}
	}
}

// The operating system counts the same reads as the engine, once the sampler's
// own are taken off.
func TestSystemAgrees(t *testing.T) {
	r := counted(t)
	for _, name := range []string{"readmissing", "readrandom"} {
		got := figures(t, r, name)
		calls, ok := got[ReadCallsPerOp]
		if !ok {
			t.Skip("this system does not count read calls")
		}
		const others = 10 // read calls of the runtime and the test
		if off := (calls - got[DiskReadsPerOp]) * float64(r.Lookups); math.Abs(off) > others {
			t.Errorf("%s: %v read calls an operation, %v disk reads", name, calls, got[DiskReadsPerOp])
		}
	}
}

// What writes cost, as counts: where nothing is compacted, each byte goes to the
// log and once to a table. The counts of two runs are equal to the last.
func TestWriteCounts(t *testing.T) {
	for _, name := range []string{"fillseq", "fillrandom", "fillbatch", "overwrite"} {
		a, b := figures(t, counted(t), name), figures(t, counted(t), name)
		if got := a[OwnAmplification]; got < 1.6 || got > 2.2 {
			t.Errorf("%s: %.3f bytes written for each byte; want the log's and the compressed table's", name, got)
		}
		if a[OwnAmplification] != b[OwnAmplification] {
			t.Errorf("%s: %v bytes written for each, and %v in another run with the same seed", name, a[OwnAmplification], b[OwnAmplification])
		}
		if wchar, ok := a[WrittenPerOp]; ok && (wchar < 100 || wchar > 1000) {
			t.Errorf("%s: the system counted %v bytes written for each pair", name, wchar)
		}
	}
}
