package compaction

import (
	"fmt"
	"slices"
	"testing"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
)

// A job's edit takes the inputs off their levels and puts the outputs, or the
// table that moves, on the output level.
func TestJobEdit(t *testing.T) {
	v := parseTree(t, `L0 4[g-h] 3[a-c] 2[b-d]
	                   L5 5[x-z]
	                   L6 8[a-b] 9[c-k]`)
	outputs := parseTree(t, `L6 20[a-b] 21[c-k]`).Levels[6].Tables
	p := newPicker(v, Options{}, State{OldestSnapshot: NoSnapshot})

	j := p.job(0, 6, v.Levels[0].Tables[1:], ReasonL0)
	if got, want := drawTree(install(t, v, j, outputs...)), "L0 4[g-h]\nL5 5[x-z]\nL6 20[a-b] 21[c-k]\n"; got != want {
		t.Errorf("%v made\n%s, want\n%s", j, got, want)
	}
	move := p.job(5, 6, v.Levels[5].Tables, ReasonSize)
	if got, want := drawTree(install(t, v, move)), "L0 4[g-h] 3[a-c] 2[b-d]\nL6 8[a-b] 9[c-k] 5[x-z]\n"; !move.Trivial || got != want {
		t.Errorf("%v made\n%s, want\n%s", move, got, want)
	}
}

// Two jobs may run side by side unless they share a table or write into the
// same keys of a level; an end in common is one such key.
func TestConflicts(t *testing.T) {
	v := parseTree(t, `L4 1[b-c] 2[g-h] 3[k-k] 4[x-z]
	                   L5 5[a-c] 6[d-f] 7[h-j] 8[k-m]`)
	p := newPicker(v, Options{}, State{OldestSnapshot: NoSnapshot})
	job := func(level int, nums ...uint64) *Job {
		var in []*manifest.TableMeta
		for _, m := range v.Levels[level].Tables {
			if slices.Contains(nums, m.Num) {
				in = append(in, m)
			}
		}
		return p.job(level, level+1, in, ReasonSize)
	}
	for _, c := range []struct {
		running, j *Job
		want       bool
	}{
		{job(4, 1), job(4, 1), true},
		{job(4, 1), job(4, 2), false},
		{job(4, 1), job(5, 5), true},
		{job(4, 1), job(5, 6), false},
		{job(5, 5), job(4, 1), true},
		{job(4, 3), job(4, 4), false},
		{job(4, 1, 3), job(4, 2), true}, // into the gap between its outputs
		{&Job{OutputLevel: 5, lo: []byte("a"), hi: []byte("b")}, job(4, 1), true},
		{&Job{OutputLevel: 5, lo: []byte("d"), hi: []byte("f")}, job(4, 1), false},
		{&Job{OutputLevel: 6, lo: []byte("a"), hi: []byte("z")}, job(4, 1), false},
	} {
		if got := newRunning([]*Job{c.running}).conflicts(c.j); got != c.want {
			t.Errorf("%v beside %v: conflict %v, want %v", c.j, c.running, got, c.want)
		}
	}
}

// rangeAll returns the jobs of a request one after the other, each installed as
// if its output were one table, until it is done.
func rangeAll(t *testing.T, v *manifest.Version, r Range, oldest uint64) []string {
	t.Helper()
	var out []string
	for num := uint64(100); ; num++ {
		j, done := PickRange(v, Options{}, State{OldestSnapshot: oldest}, r)
		if done {
			return out
		}
		checkJob(t, v, j, nil)
		out = append(out, j.String())
		v = install(t, v, j, &manifest.TableMeta{
			Num: num, ID: num, Size: j.Size(), Entries: 1000, MinSeq: 1, MaxSeq: 100,
			Smallest: key.Make(j.lo, 100, key.Set), Largest: key.Make(j.hi, 1, key.Set),
		})
	}
}

// What a request for a range does, step by step.
func TestPickRange(t *testing.T) {
	for _, c := range []struct {
		what, tree string
		r          Range
		oldest     uint64
		want       []string
	}{
		{what: "nothing in the range", tree: `L5 1[a-c]`, r: Range{Lo: []byte("d"), MaxSeq: key.MaxSeq}},
		{
			what: "from the top down, each level once",
			tree: `L0 3[a-c] 2[b-z]
			       L4 5[d-e] 6[x-z]
			       L6 9[a-m] 10[n-z]`,
			r: Range{Lo: []byte("a"), Hi: []byte("a"), MaxSeq: key.MaxSeq},
			want: []string{
				"L0 [3 2] + L4 [5 6] -> L4: asked for",
				"L4 [100] -> L5 (move): asked for",
				"L5 [100] + L6 [9 10] -> L6: asked for",
			},
		},
		{
			what: "tables of level 0 that overlap the range by way of others come along",
			tree: `L0 4[a-c] 3[b-k] 2[j-p] 1[q-z]
			       L6 9[a-z]`,
			r:    Range{Lo: []byte("a"), Hi: []byte("a"), MaxSeq: key.MaxSeq},
			want: []string{"L0 [4 3 2] + L6 [9] -> L6: asked for"},
		},
		{
			what: "the tables beside the range stay",
			tree: `L5 5[a-e] 6[f-k] 7[l-z]
			       L6 9[a-m] 10[n-z]`,
			r:    Range{Lo: []byte("g"), Hi: []byte("h"), MaxSeq: key.MaxSeq},
			want: []string{"L5 [6] + L6 [9] -> L6: asked for"},
		},
		{
			what: "what is newer than the request stays",
			tree: `L0 3[a-c] 2[b-z]
			       L6 9[a-m] 10[n-z]`,
			r: Range{MaxSeq: 100},
		},
		{
			what: "no job is larger than it must be",
			tree: `L5 1[a-b]:700 2[c-d]:700 3[e-f]:700 4[g-h]:2000
			       L6 9[a-z]:100`,
			r: Range{MaxSeq: key.MaxSeq},
			want: []string{
				"L5 [1 2] + L6 [9] -> L6: asked for",
				"L5 [3] + L6 [100] -> L6: asked for",
				"L5 [4] + L6 [101] -> L6: asked for",
			},
		},
		{
			what: "tombstones on the last level go, table by table where there are gaps",
			tree: `L6 1[a-b]/1 2[c-d]/1 3[e-f] 4[g-h]/1`,
			r:    Range{MaxSeq: key.MaxSeq},
			want: []string{"L6 [1 2] -> L6: asked for", "L6 [4] -> L6: asked for"},
		},
		{
			what:   "unless a snapshot may need them",
			tree:   `L6 1[a-b]/1 2[c-d]/1`,
			r:      Range{MaxSeq: key.MaxSeq},
			oldest: 50,
		},
	} {
		if c.oldest == 0 {
			c.oldest = NoSnapshot
		}
		got := rangeAll(t, parseTree(t, c.tree), c.r, c.oldest)
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s:\n%s\ngot  %q\nwant %q", c.what, c.tree, got, c.want)
		}
	}
}

// A request waits for a job that holds what it needs, and takes what is free
// meanwhile.
func TestPickRangeBesideJobs(t *testing.T) {
	v := parseTree(t, `L5 5[a-e] 6[f-k]
	                   L6 9[a-e] 10[f-k]`)
	s := State{OldestSnapshot: NoSnapshot}
	all := Range{MaxSeq: key.MaxSeq}
	for _, want := range []string{"L5 [5 6] + L6 [9 10] -> L6: asked for", "wait"} {
		j, done := PickRange(v, Options{}, s, all)
		got := "wait"
		if j != nil {
			got = j.String()
			s.Running = append(s.Running, j)
		}
		if done || got != want {
			t.Errorf("%s, done %v, want %s", got, done, want)
		}
	}
}
