package compaction

import "github.com/siftkv/sift/internal/manifest"

// running is the jobs under way, as the picker asks about them.
type running struct {
	jobs []*Job
	busy map[uint64]struct{} // the file numbers of their inputs
}

func newRunning(jobs []*Job) *running {
	r := &running{busy: make(map[uint64]struct{})}
	for _, j := range jobs {
		r.add(j)
	}
	return r
}

func (r *running) add(j *Job) {
	r.jobs = append(r.jobs, j)
	for _, inputs := range j.Inputs {
		for _, t := range inputs {
			r.busy[t.Num] = struct{}{}
		}
	}
}

// anyBusy reports whether a job has one of the tables as input.
func (r *running) anyBusy(tables []*manifest.TableMeta) bool {
	for _, t := range tables {
		if _, busy := r.busy[t.Num]; busy {
			return true
		}
	}
	return false
}

// conflicts reports whether j may not run beside the jobs under way.
func (r *running) conflicts(j *Job) bool {
	if r.anyBusy(j.Inputs[0]) || r.anyBusy(j.Inputs[1]) {
		return true
	}
	for _, other := range r.jobs {
		if other.OutputLevel == j.OutputLevel && rangesOverlap(j.lo, j.hi, other.lo, other.hi) {
			return true
		}
	}
	return false
}

// leaving returns the bytes of a level that jobs under way take off it.
func (r *running) leaving(level int) int64 {
	var n int64
	for _, j := range r.jobs {
		if j.Level == level && j.OutputLevel != level {
			n += sizeOf(j.Inputs[0])
		}
	}
	return n
}
