package manifest

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/siftkv/sift/internal/key"
)

// Level 0 is ordered by age, which file numbers do not tell: recovery and
// parallel flushes hand them out in any order.
func TestLevel0OrderIsAge(t *testing.T) {
	v := mustApply(t, new(Version),
		add(0, table(9, "a", "z", 1, 10)),
		add(0, table(3, "a", "z", 21, 30)),
		add(0, table(7, "a", "z", 11, 20)))
	if got := nums(v.Levels[0].Tables); got != "[3 7 9]" {
		t.Errorf("level 0 is %s, want [3 7 9]", got)
	}
	c := v.Candidates([]byte("k"), nil)
	if len(c) != 3 || c[0].Table.Num != 3 || c[1].Table.Num != 7 || c[2].Table.Num != 9 {
		t.Errorf("candidates %v, want 3, 7, 9", c)
	}
}

// Apply refuses what would break an invariant and says which table it is.
func TestApplyRefuses(t *testing.T) {
	base := mustApply(t, new(Version),
		add(0, table(1, "d", "k", 50, 60)),
		add(5, table(2, "b", "d", 10, 20), table(3, "m", "p", 10, 20)))
	sameID := table(4, "x", "x", 1, 2)
	sameID.ID = table(2, "", "", 0, 0).ID
	noNumber := table(4, "x", "x", 1, 2)
	noNumber.Num = 0
	for _, c := range []struct {
		what string
		edit *Edit
		want string // "" if it must be accepted
	}{
		{"a table between others", add(5, table(4, "e", "l", 1, 2)), ""},
		{"a table on a level with the same keys", add(6, table(4, "a", "z", 1, 2)), ""},
		{"an overlap inside a level", add(5, table(4, "p", "q", 1, 2)), "overlap"},
		{"an overlap of two new tables", add(5, table(4, "q", "s", 1, 2), table(5, "r", "t", 1, 2)), "overlap"},
		{"one user key in two tables", add(5, table(4, "d", "e", 1, 2)), "overlap"},
		{"overlapping ages and keys on level 0", add(0, table(4, "a", "e", 60, 70)), "overlap in keys and in age"},
		{"overlapping ages with keys apart", add(0, table(4, "l", "z", 40, 70)), ""},
		{"a number that is taken", add(6, table(1, "x", "x", 1, 2)), "level 0 holds it"},
		{"an id that is taken", add(6, sameID), "level 5 holds it"},
		{"a table added twice", add(6, table(4, "a", "b", 1, 2), table(4, "c", "d", 1, 2)), "added twice"},
		{"an impossible table", add(6, noNumber), "file number 0"},
		{"a level that there is not", add(7, table(4, "a", "b", 1, 2)), "level 7"},
		{"a level below 0", add(-1, table(4, "a", "b", 1, 2)), "level -1"},
		{"deleting what is not there", &Edit{Deleted: []DeletedTable{{5, 9}}}, "does not hold it"},
		{"deleting from the wrong level", &Edit{Deleted: []DeletedTable{{4, 2}}}, "does not hold it"},
		{"deleting from level 7", &Edit{Deleted: []DeletedTable{{7, 2}}}, "level 7"},
		{"deleting twice", &Edit{Deleted: []DeletedTable{{5, 2}, {5, 2}}}, "does not hold it"},
		{"a move", &Edit{Deleted: []DeletedTable{{0, 1}}, Added: add(4, table(1, "d", "k", 50, 60)).Added}, ""},
		{"replacing a table in its place", &Edit{Deleted: []DeletedTable{{5, 2}}, Added: add(5, table(4, "a", "l", 1, 2)).Added}, ""},
	} {
		before := base.draw()
		_, err := base.Apply(c.edit)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.what, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want one with %q", c.what, err, c.want)
		}
		if after := base.draw(); after != before {
			t.Errorf("%s changed the version it was applied to:\n%s", c.what, after)
		}
	}
}

// draw shows what a lookup in the version depends on.
func (v *Version) draw() string {
	var b strings.Builder
	for level := range v.Levels {
		l := &v.Levels[level]
		fmt.Fprintln(&b, level, l.size, l.Tables, l.index)
	}
	return b.String()
}

// A version equals what its snapshot edit makes of nothing.
func TestSnapshotRoundTrip(t *testing.T) {
	v := mustApply(t, new(Version),
		add(0, table(1, "d", "k", 50, 60), table(5, "a", "z", 61, 62)),
		add(5, table(2, "b", "d", 10, 20), table(3, "m", "p", 10, 20)))
	again := mustApply(t, new(Version), v.Snapshot())
	if got, want := again.draw(), v.draw(); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if v.NumTables() != 4 || v.Size() != 4000 || v.Levels[5].Size() != 2000 {
		t.Errorf("%d tables, %d bytes, %d on level 5", v.NumTables(), v.Size(), v.Levels[5].Size())
	}
}

// Overlaps and AnyOverlap agree with looking at every table, nil bounds and
// empty keys included.
func TestOverlapsAgainstModel(t *testing.T) {
	r := newRand(t)
	bounds := [][]byte{nil, {}}
	for c := byte('a'); c <= 'm'; c++ {
		bounds = append(bounds, []byte{c}, []byte{c, 0}, []byte{c, 'm'})
	}
	for range 20 {
		v := randomVersion(t, r, "", 13)
		for _, lo := range bounds {
			for _, hi := range bounds {
				if lo != nil && hi != nil && bytes.Compare(lo, hi) > 0 {
					continue
				}
				below := false
				for level := NumLevels - 1; level >= 0; level-- {
					var want []*TableMeta
					for _, m := range v.Levels[level].Tables {
						startsInTime := hi == nil || string(m.Smallest.User) <= string(hi)
						endsLate := lo == nil || string(m.Largest.User) >= string(lo)
						if startsInTime && endsLate {
							want = append(want, m)
						}
					}
					below = below || len(want) > 0
					if got := v.Overlaps(level, lo, hi); nums(got) != nums(want) {
						t.Fatalf("level %d, [%q, %q]: %v, want %v", level, lo, hi, got, want)
					}
					if got := v.AnyOverlap(level, lo, hi); got != below {
						t.Fatalf("from level %d, [%q, %q]: %v, want %v", level, lo, hi, got, below)
					}
				}
			}
		}
	}
}

// A sequence number of any size sorts right on level 0.
func TestLevel0OrderExtremes(t *testing.T) {
	v := mustApply(t, new(Version), add(0,
		table(1, "a", "b", 0, 0), table(2, "a", "b", key.MaxSeq, key.MaxSeq), table(3, "a", "b", 1, math.MaxInt32)))
	if got := nums(v.Levels[0].Tables); got != "[2 3 1]" {
		t.Errorf("level 0 is %s, want [2 3 1]", got)
	}
}
