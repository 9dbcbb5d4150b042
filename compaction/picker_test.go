package compaction

import (
	"strings"
	"testing"
)

// pickAll picks jobs until there is none that can run beside those before.
func pickAll(t testing.TB, tree string, o Options, s State) string {
	t.Helper()
	v := parseTree(t, tree)
	var out []string
	for len(out) < 20 {
		j := Pick(v, o, s)
		if j == nil {
			break
		}
		checkJob(t, v, j, s.Running)
		s.Running = append(s.Running, j)
		out = append(out, j.String())
	}
	return strings.Join(out, "\n")
}

// Each tree is drawn, and then the jobs that run side by side in it, the most
// urgent first. Default options: base level 256 MiB, tables of 64.
func TestPick(t *testing.T) {
	for _, c := range []struct {
		what, tree, want string
		oldest           uint64 // snapshot; 0 for none
	}{
		{what: "an empty tree"},
		{
			what: "three tables on level 0 are not due",
			tree: `L0 3[a-z] 2[a-z] 1[a-z]
			       L6 9[a-m]`,
		},
		{
			what: "four tables on level 0 go straight to the last level while it is small",
			tree: `L0 4[a-z] 3[a-z] 2[c-x] 1[b-k]
			       L6 9[a-m] 10[n-q]`,
			want: `L0 [4 3 2 1] + L6 [9 10] -> L6: level 0 has too many tables`,
		},
		{
			what: "only the tables that the oldest one overlaps, directly or by others, go down",
			tree: `L0 5[s-z] 4[d-f] 3[a-b] 2[b-d] 1[a-a]
			       L6 9[a-m] 10[n-z]`,
			want: `L0 [4 3 2 1] + L6 [9] -> L6: level 0 has too many tables`,
		},
		{
			what: "in a sequential load the oldest table moves without being read",
			tree: `L0 7[j-l] 6[g-i] 5[d-f] 4[a-c]
			       L6 1[0-1] 2[2-3]`,
			want: `L0 [4] -> L6 (move): level 0 has too many tables`,
		},
		{
			what: "a table of tombstones is not moved to the bottom but rewritten",
			tree: `L0 7[j-l] 6[g-i] 5[d-f] 4[a-c]/60
			       L6 1[0-1] 2[2-3]`,
			want: `L0 [4] -> L6: level 0 has too many tables`,
		},
		{
			what: "once the last level is large, a level is put above it",
			tree: `L0 4[a-z] 3[a-z] 2[a-z] 1[a-z]
			       L6 9[a-m]:600 10[n-z]:600`,
			want: `L0 [4 3 2 1] -> L5: level 0 has too many tables`,
		},
		{
			what: "level 0 does not pass a level that is in use, whatever base the sizes ask for",
			tree: `L0 8[a-z] 7[a-z] 6[a-z] 5[a-z] 4[a-z] 3[a-z] 2[a-z] 1[a-z]
			       L4 9[a-b]
			       L6 10[a-m]:600 11[n-z]:600`,
			want: `L0 [8 7 6 5 4 3 2 1] + L4 [9] -> L4: level 0 has too many tables`,
		},
		{
			what: "a level over its size gives the table that overlaps least for its size",
			tree: `L5 1[a-c]:400 2[d-f]:400 3[g-i]:400
			       L6 9[a-b]:900 10[c-d]:900 11[e-f]:900 12[g-z]:300`,
			want: `L5 [3] + L6 [12] -> L6: level is over its size`,
		},
		{
			what: "tombstones count for a table",
			tree: `L5 1[a-c]:400 2[d-f]:400/40 3[g-i]:400
			       L6 9[a-c]:900 10[d-f]:900 11[g-i]:900`,
			want: `L5 [2] + L6 [10] -> L6: level is over its size`,
		},
		{
			what: "neighbours that cost nothing more come along",
			tree: `L5 1[a-c]:200 2[d-f]:200 3[g-i]:200 4[j-k]:1200
			       L6 9[a-i]:1000 10[j-z]:9000`,
			want: `L5 [1 2 3] + L6 [9] -> L6: level is over its size`,
		},
		{
			what: "neighbours that would take more of the output level do not",
			tree: `L5 1[a-c]:100 2[d-f]:100 3[x-z]:2000
			       L6 9[a-d]:100 10[e-w]:400 11[x-z]:9000`,
			want: "L5 [1] + L6 [9] -> L6: level is over its size\n" +
				"L5 [3] + L6 [11] -> L6: level is over its size",
		},
		{
			what: "jobs side by side share no table and no output range",
			tree: `L5 1[a-c]:800 2[d-f]:801 3[g-i]:802 4[j-l]:900
			       L6 9[a-b]:700 10[c-d]:700 11[e-h]:700 12[j-l]:800`,
			want: "L5 [3] + L6 [11] -> L6: level is over its size\n" +
				"L5 [4] + L6 [12] -> L6: level is over its size\n" +
				"L5 [1] + L6 [9 10] -> L6: level is over its size",
		},
		{
			what: "the worst level comes first, and level 0 waits for it without being overtaken",
			tree: `L0 8[a-z] 7[a-z] 6[a-z] 5[a-z] 4[a-z] 3[a-z] 2[a-z] 1[a-z]
			       L5 9[a-c]:900 10[d-f]:400 11[g-i]:400
			       L6 12[a-c]:600 13[d-f]:600 14[g-i]:600`,
			want: `L5 [9] + L6 [12] -> L6: level is over its size`,
		},
		{
			what: "many tables on level 0 come before a level that is a little over",
			tree: `L0 8[a-z] 7[a-z] 6[a-z] 5[a-z] 4[a-z] 3[a-z] 2[a-z] 1[a-z]
			       L5 9[a-f]:600 10[g-i]:64
			       L6 11[a-f]:600 12[g-z]:600`,
			want: `L0 [8 7 6 5 4 3 2 1] + L5 [9 10] -> L5: level 0 has too many tables`,
		},
		{
			what: "a level above the base is emptied",
			tree: `L3 1[a-c]
			       L6 9[a-c]`,
			want: `L3 [1] -> L4 (move): level is over its size`,
		},
		{
			what: "a move that would make the next compaction huge is no move",
			tree: `L4 1[a-z]:64
			       L6 8[0-1] 9[z-zz]`,
			want: `L4 [1] -> L5 (move): level is over its size`,
		},
		{
			what: "the same over eleven tables' worth of grandparents",
			tree: `L4 1[a-z]:64
			       L6 9[a-c]:400 10[d-z]:400`,
			want: `L4 [1] -> L5: level is over its size`,
		},
		{
			what: "mostly tombstones: down, though no level is over its size",
			tree: `L5 1[a-c] 2[d-f]/50 3[g-i]/70
			       L6 9[a-z]:1200`,
			want: `L5 [3] + L6 [9] -> L6: table is mostly tombstones`,
		},
		{
			what: "mostly tombstones on the last level: rewritten in place",
			tree: `L6 9[a-c]/60 10[d-f]/49 11[g-i]/90`,
			want: "L6 [11] -> L6: table is mostly tombstones\n" +
				"L6 [9] -> L6: table is mostly tombstones",
		},
		{
			what:   "not while a snapshot may need them",
			tree:   `L6 9[a-c]/60`,
			oldest: 99,
		},
		{
			what:   "but when it cannot",
			tree:   `L6 9[a-c]/60`,
			oldest: 100,
			want:   "L6 [9] -> L6: table is mostly tombstones",
		},
	} {
		s := State{OldestSnapshot: NoSnapshot}
		if c.oldest > 0 {
			s.OldestSnapshot = c.oldest
		}
		if got := pickAll(t, c.tree, Options{}, s); got != c.want {
			t.Errorf("%s:\n%s\npicked:\n%s\nwant:\n%s", c.what, c.tree, got, c.want)
		}
	}
}
