package compaction

import (
	"bytes"
	"slices"
	"testing"

	"github.com/siftkv/sift/internal/manifest"
)

// checkJob fails the test unless j keeps the invariants of Job, computed here
// from the bounds of all tables and nothing else.
func checkJob(t testing.TB, v *manifest.Version, j *Job, running []*Job) {
	t.Helper()
	fail := func(what string) {
		t.Helper()
		t.Fatalf("%v: %s; running %v in\n%s", j, what, running, drawTree(v))
	}
	if len(j.Inputs[0]) == 0 {
		fail("no input")
	}
	if j.OutputLevel <= j.Level && j.Level != lastLevel {
		fail("goes up")
	}
	for _, in := range j.Inputs[0] {
		for _, out := range v.Levels[j.OutputLevel].Tables {
			if overlap(in, out) && !slices.Contains(j.Inputs[0], out) && !slices.Contains(j.Inputs[1], out) {
				fail("leaves a table of the output level that overlaps")
			}
		}
		for _, other := range v.Levels[0].Tables {
			if j.Level == 0 && overlap(in, other) && !slices.Contains(j.Inputs[0], other) {
				fail("leaves a table of level 0 that overlaps")
			}
		}
		for level := j.Level + 1; level < j.OutputLevel; level++ {
			for _, other := range v.Levels[level].Tables {
				if overlap(in, other) {
					fail("passes a level that overlaps")
				}
			}
		}
	}
	inputs := slices.Concat(j.Inputs[0], j.Inputs[1])
	for _, r := range running {
		others := slices.Concat(r.Inputs[0], r.Inputs[1])
		for _, in := range inputs {
			if slices.Contains(others, in) {
				fail("shares a table with a running job")
			}
		}
		lo, hi := bounds(inputs)
		rlo, rhi := bounds(others)
		if r.OutputLevel == j.OutputLevel && bytes.Compare(lo, rhi) <= 0 && bytes.Compare(rlo, hi) <= 0 {
			fail("writes into a running job's output range")
		}
	}
}

func overlap(a, b *manifest.TableMeta) bool {
	return bytes.Compare(a.Smallest.User, b.Largest.User) <= 0 && bytes.Compare(b.Smallest.User, a.Largest.User) <= 0
}

func bounds(tables []*manifest.TableMeta) (lo, hi []byte) {
	lo, hi = tables[0].Smallest.User, tables[0].Largest.User
	for _, m := range tables {
		if bytes.Compare(m.Smallest.User, lo) < 0 {
			lo = m.Smallest.User
		}
		if bytes.Compare(m.Largest.User, hi) > 0 {
			hi = m.Largest.User
		}
	}
	return lo, hi
}
