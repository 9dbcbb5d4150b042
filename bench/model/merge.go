package model

import (
	"cmp"
	"math"
	"slices"

	"github.com/siftkv/sift/compaction"
	"github.com/siftkv/sift/internal/manifest"
)

// grandparents is how many tables' worth of the level below an output may overlap,
// as package compaction has it.
const grandparents = 10

// merge returns what a job makes of its inputs: where tables overlap, keys that are
// in several are kept once. Outputs end where those of package compaction do: when
// they are full, when they overlap too much of the level below, and where the job is
// cut into parts for the workers.
func (s *simulation) merge(j *compaction.Job) []*manifest.TableMeta {
	o := outputs{s: s, minSeq: ^uint64(0)}
	for _, inputs := range j.Inputs {
		for _, t := range inputs {
			o.minSeq, o.maxSeq = min(o.minSeq, t.MinSeq), max(o.maxSeq, t.MaxSeq)
		}
	}
	cuts := s.cuts(j)
	runs := s.runsOf(j)
	below := j.Grandparents
	for _, seg := range segments(runs, cuts, below) {
		if len(cuts) > 0 && seg.start >= cuts[0] {
			o.finish()
			cuts = cuts[1:]
		}
		for len(below) > 0 {
			if _, end := boundsOf(below[0]); end > seg.start {
				break
			}
			o.passed += below[0].Size
			below = below[1:]
		}
		if o.passed/grandparents > s.c.TableSize {
			o.finish()
		}
		o.add(seg)
	}
	o.finish()
	return o.tables
}

// runsOf returns a job's inputs as sorted runs.
func (s *simulation) runsOf(j *compaction.Job) [][]span {
	var runs [][]span
	for i, level := range [2]int{j.Level, j.OutputLevel} {
		var run []span
		for _, t := range j.Inputs[i] {
			if level == 0 {
				runs = append(runs, []span{s.spanOf(t)})
				continue
			}
			run = append(run, s.spanOf(t))
		}
		runs = append(runs, run)
	}
	return runs
}

// cuts returns where a job is cut so that each worker has about the same to do.
func (s *simulation) cuts(j *compaction.Job) []uint64 {
	tables := j.Inputs[1]
	n := min(s.c.Workers, len(tables))
	if n < 2 || j.Size()/2 < s.c.TableSize {
		return nil
	}
	var total, size int64
	for _, t := range tables {
		total += t.Size
	}
	var cuts []uint64
	for _, t := range tables {
		if len(cuts) < n-1 && size >= total/int64(n)*int64(len(cuts)+1) {
			start, _ := boundsOf(t)
			cuts = append(cuts, start)
		}
		size += t.Size
	}
	return cuts
}

// segments returns the parts of the key range in which the same tables overlap, in
// order, with what they come to when they are merged.
func segments(runs [][]span, cuts []uint64, below []*manifest.TableMeta) []span {
	points := slices.Clone(cuts)
	for _, run := range runs {
		for _, sp := range run {
			points = append(points, sp.start, sp.end)
		}
	}
	for _, t := range below {
		_, end := boundsOf(t)
		points = append(points, end)
	}
	slices.Sort(points)
	points = slices.Compact(points)
	var out []span
	for i := range len(points) - 1 {
		seg := span{start: points[i], end: points[i+1]}
		covered := false
		for r, run := range runs {
			for len(run) > 0 && run[0].end <= seg.start {
				run = run[1:]
			}
			runs[r] = run
			if len(run) > 0 && run[0].start <= seg.start {
				seg.density = seg.plus(run[0].density)
				covered = true
			}
		}
		if covered {
			out = append(out, seg)
		}
	}
	return out
}

// outputs collects segments to tables.
type outputs struct {
	s              *simulation
	tables         []*manifest.TableMeta
	minSeq, maxSeq uint64

	parts   []span // of the table that is being filled
	entries float64
	size    float64 // of it, in bytes
	passed  int64   // bytes of the level below that it overlaps
}

func (o *outputs) add(seg span) {
	s := o.s
	present := seg.present()
	sample := s.sizer.sampleOf(s.keys * present)
	perEntry := sample.perEntry + s.c.BitsPerKey/8
	perWidth := s.keys * present / space // entries
	for seg.start < seg.end {
		// A table ends with a whole entry.
		room := math.Ceil(o.entries+(float64(s.c.TableSize)-sample.ahead-o.size)/perEntry) - o.entries
		part := seg
		if take := max(room, 1) / perWidth; take+0.5/perWidth < float64(seg.end-seg.start) {
			part.end = seg.start + max(uint64(take), 1)
		}
		o.parts = append(o.parts, part)
		entries := float64(part.end-part.start) * perWidth
		o.entries += entries
		o.size += entries * perEntry
		seg.start = part.end
		if seg.start < seg.end {
			o.finish()
		}
	}
}

// finish ends the table that is being filled, if there is one. It is as dense
// everywhere as it is on average.
func (o *outputs) finish() {
	if len(o.parts) > 0 {
		sp := span{start: o.parts[0].start, end: slices.MaxFunc(o.parts, byEnd).end}
		for _, p := range o.parts {
			share := p.width() / sp.width()
			sp.first += share * p.first
			sp.again += share * p.again
		}
		o.tables = append(o.tables, o.s.table(sp, o.minSeq, o.maxSeq))
	}
	o.parts, o.entries, o.size, o.passed = nil, 0, 0, 0
}

func byEnd(a, b span) int { return cmp.Compare(a.end, b.end) }
