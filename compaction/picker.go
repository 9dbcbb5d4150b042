package compaction

import (
	"cmp"
	"slices"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
)

// State is what the picker must know besides the tree.
type State struct {
	// Running is the jobs that were picked and are not yet installed.
	Running []*Job
	// OldestSnapshot is the sequence number of the oldest live snapshot, or
	// key.MaxSeq if there is none. When it rises, a call of Pick may find work.
	OldestSnapshot uint64
}

const (
	// maxGrandparents is how many tables' worth of bytes under OutputLevel one
	// output may overlap, so that the next compaction of it stays small.
	maxGrandparents = 10
	// maxGrown is how many tables' worth of input a job may grow to when that
	// takes no more of the output level.
	maxGrown = 25
)

// picker is one call's view of the tree.
type picker struct {
	v       *manifest.Version
	o       Options
	shape   shape
	running *running
	oldest  uint64
}

func newPicker(v *manifest.Version, o Options, s State) *picker {
	o = o.WithDefaults()
	return &picker{v, o, shapeOf(v, o), newRunning(s.Running), s.OldestSnapshot}
}

// Pick returns the most urgent job that can run beside the running ones, or nil
// if there is none. It is a pure function of its arguments; the caller adds the
// job to State.Running before the next call.
func Pick(v *manifest.Version, o Options, s State) *Job {
	p := newPicker(v, o, s)
	for _, level := range p.due() {
		job := p.pickLevel(level)
		if job == nil {
			continue
		}
		if !p.running.conflicts(job) {
			return job
		}
		if level == 0 {
			// A steady supply of jobs on the levels below would keep level 0
			// waiting for ever, and writers with it: none of them may take
			// its tables.
			p.running.add(job)
		}
	}
	return p.pickTombstones()
}

// due returns the levels that are over their size, the worst first.
func (p *picker) due() []int {
	var score [manifest.NumLevels]float64
	var levels []int
	for level := range lastLevel {
		if score[level] = p.score(level); score[level] >= 1 {
			levels = append(levels, level)
		}
	}
	slices.SortStableFunc(levels, func(a, b int) int { return cmp.Compare(score[b], score[a]) })
	return levels
}

// score returns by how many times a level is over its size, not counting what
// running jobs take off it.
func (p *picker) score(level int) float64 {
	l := &p.v.Levels[level]
	if level > 0 {
		return p.shape.excess(level, l.Size()-p.running.leaving(level), p.o)
	}
	for _, j := range p.running.jobs {
		if j.Level == 0 {
			return 0 // the oldest table, and most that overlap it, are taken
		}
	}
	return float64(len(l.Tables)) / float64(p.o.L0Compact)
}

func (p *picker) pickLevel(level int) *Job {
	if level == 0 {
		tables := p.v.Levels[0].Tables
		oldest := tables[len(tables)-1]
		return p.job(0, p.shape.base, p.widen(oldest.Smallest.User, oldest.Largest.User), ReasonL0)
	}
	return p.grow(p.leastOverlap(level))
}

// widen returns the tables of level 0 that overlap [lo, hi], and those that
// overlap one of these, and so on, newest first. Taking a table and leaving an
// older one that shares a key would put the newer version under the older.
func (p *picker) widen(lo, hi []byte) []*manifest.TableMeta {
	in := p.v.Overlaps(0, lo, hi)
	for {
		lo, hi = span(in)
		wider := p.v.Overlaps(0, lo, hi)
		if len(wider) == len(in) {
			return in
		}
		in = wider
	}
}

// job completes a job that has the given tables of level as first input.
func (p *picker) job(level, output int, in []*manifest.TableMeta, why Reason) *Job {
	j := &Job{Level: level, OutputLevel: output, Reason: why, Version: p.v}
	j.Inputs[0] = in
	j.lo, j.hi = span(in)
	if output != level {
		j.Inputs[1] = p.v.Overlaps(output, j.lo, j.hi)
		j.lo, j.hi = span(slices.Concat(in, j.Inputs[1]))
	}
	if output < lastLevel {
		j.Grandparents = p.v.Overlaps(output+1, j.lo, j.hi)
	}
	j.Trivial = p.trivial(j)
	return j
}

// trivial reports whether j's one table can move down as it is. A table full of
// tombstones that have nothing left to hide is worth rewriting instead.
func (p *picker) trivial(j *Job) bool {
	if len(j.Inputs[0]) != 1 || len(j.Inputs[1]) != 0 || j.Level == j.OutputLevel {
		return false
	}
	if sizeOf(j.Grandparents)/maxGrandparents > p.o.TableSize {
		return false
	}
	return !mostlyTombstones(j.Inputs[0][0]) || p.v.AnyOverlap(j.OutputLevel+1, j.lo, j.hi)
}

// leastOverlap returns the job for the table of a level whose bytes cost least
// to move down, or nil if none can be moved beside the running jobs. Tombstones
// count extra, since they free what they hide.
func (p *picker) leastOverlap(level int) *Job {
	var best *Job
	bestCost := 0.0
	for _, t := range p.v.Levels[level].Tables {
		below := p.v.Overlaps(level+1, t.Smallest.User, t.Largest.User)
		cost := float64(sizeOf(below)) / (float64(t.Size) * (1 + tombstoneShare(t)))
		if best != nil && cost >= bestCost {
			continue
		}
		j := p.job(level, level+1, []*manifest.TableMeta{t}, ReasonSize)
		if !p.running.conflicts(j) {
			best, bestCost = j, cost
		}
	}
	return best
}

// grow adds to j the tables of its level that cost nothing more on the output
// level, within reason.
func (p *picker) grow(j *Job) *Job {
	if j == nil || j.Trivial {
		return j
	}
	in := p.v.Overlaps(j.Level, j.lo, j.hi)
	if len(in) == len(j.Inputs[0]) || (sizeOf(in)+sizeOf(j.Inputs[1]))/maxGrown > p.o.TableSize {
		return j
	}
	wider := p.job(j.Level, j.OutputLevel, in, j.Reason)
	if len(wider.Inputs[1]) > len(j.Inputs[1]) || p.running.conflicts(wider) {
		return j
	}
	return wider
}

// pickTombstones returns a job for the table with the largest share of
// tombstones, if that is most of it: they cost every lookup and scan that meets
// them, and the space of what they hide. On the last level such a table is
// rewritten where it lies, once no snapshot needs its tombstones.
func (p *picker) pickTombstones() *Job {
	var best *Job
	share := 0.0
	for level := 1; level <= lastLevel; level++ {
		for _, t := range p.v.Levels[level].Tables {
			if !mostlyTombstones(t) || tombstoneShare(t) <= share || level == lastLevel && !p.purgeable(t) {
				continue
			}
			j := p.job(level, min(level+1, lastLevel), []*manifest.TableMeta{t}, ReasonTombstones)
			if !p.running.conflicts(j) {
				best, share = j, tombstoneShare(t)
			}
		}
	}
	return best
}

// purgeable reports whether rewriting a table of the last level is sure to rid
// it of all its tombstones, so that it is not picked for ever.
func (p *picker) purgeable(t *manifest.TableMeta) bool {
	return t.Deletes > 0 && t.RangeDeletes == 0 && t.MaxSeq <= p.oldest
}

func tombstoneShare(t *manifest.TableMeta) float64 {
	return float64(t.Deletes) / float64(max(t.Entries, 1))
}

func mostlyTombstones(t *manifest.TableMeta) bool { return tombstoneShare(t) >= 0.5 }

// NoSnapshot is State.OldestSnapshot where no snapshot is live.
const NoSnapshot = key.MaxSeq
