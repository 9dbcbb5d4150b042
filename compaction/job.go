package compaction

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/siftkv/sift/internal/manifest"
)

// Reason says why a job was picked.
type Reason string

// The reasons, in the order in which they are considered.
const (
	ReasonL0         Reason = "level 0 has too many tables"
	ReasonSize       Reason = "level is over its size"
	ReasonTombstones Reason = "table is mostly tombstones"
	ReasonRange      Reason = "asked for"
)

// Job is one compaction: the tables of Inputs[0], on Level, and those of
// Inputs[1], on OutputLevel, become new tables on OutputLevel.
//
// Invariants:
//  1. Inputs[1] holds every table of OutputLevel that overlaps Inputs[0].
//  2. A table of level 0 that overlaps Inputs[0] and is older than any of it is
//     in Inputs[0], and levels between Level and OutputLevel hold nothing. So
//     whatever older version of an input key exists outside the job lies under
//     OutputLevel.
//  3. Two jobs that run at the same time share no table, and if they have the
//     same OutputLevel their key ranges do not overlap.
//
// A Job is immutable.
type Job struct {
	Level, OutputLevel int
	Inputs             [2][]*manifest.TableMeta
	// Grandparents are the tables under OutputLevel that the outputs will be
	// compacted with in turn; an output ends before it overlaps too many.
	Grandparents []*manifest.TableMeta
	Reason       Reason
	// Trivial says that the one table of Inputs[0] can be moved as it is: install
	// Edit(nil) and do not Run.
	Trivial bool

	// Version is what the job was picked from. Tables under OutputLevel may
	// have been compacted further since, but none can hold a key of this job
	// that none held then.
	Version *manifest.Version

	lo, hi []byte // the user keys of all inputs lie in [lo, hi]
}

// Edit returns the change of the tree that the finished job makes.
func (j *Job) Edit(outputs []*manifest.TableMeta) *manifest.Edit {
	if j.Trivial {
		outputs = j.Inputs[0]
	}
	e := new(manifest.Edit)
	for i, level := range [2]int{j.Level, j.OutputLevel} {
		for _, t := range j.Inputs[i] {
			e.Deleted = append(e.Deleted, manifest.DeletedTable{Level: level, Num: t.Num})
		}
	}
	for _, t := range outputs {
		e.Added = append(e.Added, manifest.NewTable{Level: j.OutputLevel, Meta: t})
	}
	return e
}

// Size returns the bytes of all inputs.
func (j *Job) Size() int64 { return sizeOf(j.Inputs[0]) + sizeOf(j.Inputs[1]) }

// String draws the job: L0 [3 2 1] + L6 [7 8] -> L6.
func (j *Job) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "L%d %s", j.Level, numbers(j.Inputs[0]))
	if len(j.Inputs[1]) > 0 {
		fmt.Fprintf(&b, " + L%d %s", j.OutputLevel, numbers(j.Inputs[1]))
	}
	fmt.Fprintf(&b, " -> L%d", j.OutputLevel)
	if j.Trivial {
		b.WriteString(" (move)")
	}
	fmt.Fprintf(&b, ": %s", j.Reason)
	return b.String()
}

func numbers(tables []*manifest.TableMeta) string {
	nums := make([]uint64, len(tables))
	for i, t := range tables {
		nums[i] = t.Num
	}
	return fmt.Sprint(nums)
}

func sizeOf(tables []*manifest.TableMeta) int64 {
	var n int64
	for _, t := range tables {
		n += t.Size
	}
	return n
}

// span is the smallest range of user keys, both ends inclusive, that holds all
// the tables' keys.
func span(tables []*manifest.TableMeta) (lo, hi []byte) {
	for i, t := range tables {
		if i == 0 || bytes.Compare(t.Smallest.User, lo) < 0 {
			lo = t.Smallest.User
		}
		if i == 0 || bytes.Compare(t.Largest.User, hi) > 0 {
			hi = t.Largest.User
		}
	}
	return lo, hi
}

// rangesOverlap reports whether [alo, ahi] and [blo, bhi] share a key.
func rangesOverlap(alo, ahi, blo, bhi []byte) bool {
	return bytes.Compare(alo, bhi) <= 0 && bytes.Compare(blo, ahi) <= 0
}
