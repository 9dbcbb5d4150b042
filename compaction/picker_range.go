package compaction

import (
	"slices"

	"github.com/siftkv/sift/internal/manifest"
)

// Range asks for all versions of some keys to be brought to the last level.
type Range struct {
	// Lo and Hi bound the user keys, both inclusive; nil is open.
	Lo, Hi []byte
	// MaxSeq is the newest version asked for. Tables that hold only newer ones
	// are left alone, so that a request ends while writers go on.
	MaxSeq uint64
}

// maxRangeJob is how many tables' worth of bytes one job of a range holds, so
// that it needs little spare room on the disk and can be stopped soon.
const maxRangeJob = 25

// PickRange returns the next job for a request. When it returns no job, done
// says whether all is done; if it is not, the jobs under way stand in the way,
// and the caller tries again when one of them has ended. Once it is done, the
// tables of the request's keys and ages lie on the last level, in one run, free
// of tombstones that no snapshot needs.
func PickRange(v *manifest.Version, o Options, s State, r Range) (job *Job, done bool) {
	p := newPicker(v, o, s)
	for level := 0; level <= lastLevel; level++ {
		jobs := p.rangeJobs(level, r)
		for _, j := range jobs {
			if !p.running.conflicts(j) {
				return j, false
			}
		}
		if len(jobs) > 0 {
			return nil, false // what lies above must come down first
		}
	}
	return nil, true
}

// rangeJobs returns the jobs, each of bounded size, that take what a request
// asks for off a level, or off the last one what it need not hold.
func (p *picker) rangeJobs(level int, r Range) []*Job {
	tables := p.v.Overlaps(level, r.Lo, r.Hi)
	concerned := func(t *manifest.TableMeta) bool {
		return t.MinSeq <= r.MaxSeq && (level < lastLevel || p.purgeable(t))
	}
	if level == 0 {
		return p.rangeJobL0(tables, concerned)
	}
	var jobs []*Job
	for from := 0; from < len(tables); {
		if !concerned(tables[from]) {
			from++
			continue
		}
		to := p.chunk(level, tables, from, concerned)
		jobs = append(jobs, p.job(level, min(level+1, lastLevel), tables[from:to:to], ReasonRange))
		from = to
	}
	return jobs
}

func (p *picker) rangeJobL0(tables []*manifest.TableMeta, concerned func(*manifest.TableMeta) bool) []*Job {
	tables = slices.DeleteFunc(tables, func(t *manifest.TableMeta) bool { return !concerned(t) })
	if len(tables) == 0 {
		return nil
	}
	lo, hi := span(tables)
	return []*Job{p.job(0, p.shape.base, p.widen(lo, hi), ReasonRange)}
}

// chunk returns the end of the run of concerned tables that starts at from and
// makes a job of bounded size. The run has no gap: an output may reach from its
// first key to its last.
func (p *picker) chunk(level int, tables []*manifest.TableMeta, from int, concerned func(*manifest.TableMeta) bool) int {
	to := from
	for size := int64(0); to < len(tables) && concerned(tables[to]); to++ {
		t := tables[to]
		size += t.Size
		if level < lastLevel {
			size += sizeOf(p.v.Overlaps(level+1, t.Smallest.User, t.Largest.User))
		}
		if to > from && size/maxRangeJob > p.o.TableSize {
			break
		}
	}
	return to
}
