package compaction

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
)

const mib = 1 << 20

// parseTree reads a drawing of a tree, a level a line, its tables in lookup
// order, newest first on level 0:
//
//	L0  5[a-m] 4[a-z]
//	L6  1[a-g]:128 2[k-z]/60
//
// A table is its number and bounds, then, if it is not 64, its size in MiB, and
// the percentage of its 1000 entries that are tombstones. The tables of level 0
// are newer than all others, whose newest version is 100.
func parseTree(t testing.TB, text string) *manifest.Version {
	t.Helper()
	e := new(manifest.Edit)
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		level, err := strconv.Atoi(strings.TrimPrefix(fields[0], "L"))
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for i, field := range fields[1:] {
			m := parseTable(t, field)
			if level == 0 {
				m.MaxSeq = uint64(10000 - 10*i)
				m.MinSeq = m.MaxSeq - 9
			}
			e.Added = append(e.Added, manifest.NewTable{Level: level, Meta: m})
		}
	}
	v, err := new(manifest.Version).Apply(e)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var tablePattern = regexp.MustCompile(`^(\d+)\[(\w*)-(\w*)\](?::(\d+))?(?:/(\d+))?$`)

func parseTable(t testing.TB, s string) *manifest.TableMeta {
	t.Helper()
	p := tablePattern.FindStringSubmatch(s)
	if p == nil {
		t.Fatalf("%q is no table", s)
	}
	number := func(s string, unset uint64) uint64 {
		if n, err := strconv.ParseUint(s, 10, 64); err == nil {
			return n
		}
		return unset
	}
	num := number(p[1], 0)
	return &manifest.TableMeta{
		Num: num, ID: num, Size: int64(number(p[4], 64)) * mib,
		Smallest: key.Make([]byte(p[2]), 100, key.Set), Largest: key.Make([]byte(p[3]), 1, key.Set),
		Entries: 1000, Deletes: 10 * number(p[5], 0), MinSeq: 1, MaxSeq: 100,
	}
}

// drawTree is the inverse of parseTree.
func drawTree(v *manifest.Version) string {
	var b strings.Builder
	for level := range v.Levels {
		tables := v.Levels[level].Tables
		if len(tables) == 0 {
			continue
		}
		fmt.Fprintf(&b, "L%d", level)
		for _, m := range tables {
			fmt.Fprintf(&b, " %d[%s-%s]", m.Num, m.Smallest.User, m.Largest.User)
			if m.Size != 64*mib {
				fmt.Fprintf(&b, ":%d", m.Size/mib)
			}
			if m.Deletes > 0 {
				fmt.Fprintf(&b, "/%d", m.Deletes/10)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// install returns the version that the job makes of v with the given outputs.
func install(t testing.TB, v *manifest.Version, j *Job, outputs ...*manifest.TableMeta) *manifest.Version {
	t.Helper()
	next, err := v.Apply(j.Edit(outputs))
	if err != nil {
		t.Fatalf("%v: %v\n%s", j, err, drawTree(v))
	}
	return next
}
