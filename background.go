package sift

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/siftkv/sift/compaction"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/sstable"
)

// schedule starts the compactions that are due, up to Workers.
func (db *DB) schedule() {
	db.mu.Lock()
	defer db.mu.Unlock()
	for db.mayCompactLocked() {
		job := compaction.Pick(db.version, db.opts.pickerOptions(), db.pickerStateLocked())
		if job == nil {
			return
		}
		db.startLocked(job)
	}
}

func (db *DB) mayCompactLocked() bool {
	return !db.opts.Compaction.Disable && !db.paused && !db.closed.Load() && len(db.jobs) < db.opts.Workers
}

// startLocked runs a job in the background. It needs db.mu.
func (db *DB) startLocked(job *compaction.Job) {
	db.jobs[job] = struct{}{}
	attempt := db.compactions.begin()
	db.work.Go(func() {
		err := db.compact(job)
		if wait := db.finish(job, attempt, err); wait > 0 {
			db.failed("compaction", err)
			pause(db.ctx, wait, db.compactions.retry)
			db.resume()
		}
		db.schedule()
	})
}

// finish takes a job off the running ones and records how it ended. After a
// failure it returns how long to pause.
func (db *DB) finish(job *compaction.Job, attempt uint64, err error) time.Duration {
	db.mu.Lock()
	defer db.mu.Unlock()
	delete(db.jobs, job)
	db.changed.Broadcast()
	if db.ctx.Err() != nil {
		return 0
	}
	db.compactions.end(attempt, err)
	if err == nil {
		db.compactPause.reset()
		return 0
	}
	db.paused = true
	return db.compactPause.next()
}

// ended takes a job that Compact ran off the running ones. If it failed, that is
// its caller's business.
func (db *DB) ended(job *compaction.Job) {
	db.mu.Lock()
	defer db.mu.Unlock()
	delete(db.jobs, job)
	db.changed.Broadcast()
}

// resume lets compactions start again after a pause.
func (db *DB) resume() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.paused = false
}

// pickerStateLocked returns what a picker must know besides the tree. It needs
// db.mu.
func (db *DB) pickerStateLocked() compaction.State {
	s := compaction.State{OldestSnapshot: key.MaxSeq}
	for j := range db.jobs {
		s.Running = append(s.Running, j)
	}
	if snapshots := db.openSnapshots(); len(snapshots) > 0 {
		s.OldestSnapshot = snapshots[0]
	}
	return s
}

// compact runs a job and installs its result.
func (db *DB) compact(job *compaction.Job) error {
	start := time.Now()
	var result compaction.Result
	if !job.Trivial {
		var err error
		if result, err = compaction.Run(db.ctx, db.compactionEnv(), job); err != nil {
			return err
		}
	}
	if err := db.install(job.Edit(result.Outputs), func() {}); err != nil {
		return err
	}
	if job.Trivial {
		db.written.moves.Add(1)
	} else {
		db.written.compaction(result.Stats)
	}
	db.compacted(job, result, time.Since(start))
	return nil
}

// Compact merges the tables that hold keys from lo to hi, both included, until
// each of these keys lies in one run of tables at most. A nil bound is open:
// Compact(nil, nil) compacts everything. It flushes first.
func (db *DB) Compact(lo, hi []byte) error {
	if err := db.Flush(); err != nil {
		return err
	}
	if err := db.enter(); err != nil {
		return err
	}
	defer db.work.Done()
	r := compaction.Range{Lo: lo, Hi: hi, MaxSeq: db.visible.Load()}
	for {
		job, err := db.nextRangeJob(r)
		if err != nil || job == nil {
			return err
		}
		err = db.compact(job)
		db.ended(job)
		db.schedule()
		if err != nil && db.closed.Load() {
			return ErrClosed
		}
		if err != nil {
			return err
		}
	}
}

// nextRangeJob returns the next job of Compact, as running, or nil when none is
// left. It waits while other jobs are in the way.
func (db *DB) nextRangeJob(r compaction.Range) (*compaction.Job, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for {
		if db.closed.Load() {
			return nil, ErrClosed
		}
		job, done := compaction.PickRange(db.version, db.opts.pickerOptions(), db.pickerStateLocked(), r)
		if job != nil {
			db.jobs[job] = struct{}{}
		}
		if job != nil || done {
			return job, nil
		}
		db.changed.Wait()
	}
}

// compactionEnv is what a flush or compaction that starts now works with.
func (db *DB) compactionEnv() *compaction.Env {
	return &compaction.Env{
		FS:         db.fs,
		Dir:        db.dir,
		Tables:     db.tables,
		NewFileNum: db.newFileNum,
		NewID:      newTableID,
		Writer:     func(int) sstable.WriterOptions { return db.opts.tableOptions() },
		Snapshots:  db.openSnapshots(),
		TableSize:  db.opts.TableSize,
		Workers:    db.opts.Workers,
	}
}

// newTableID returns a random number that is not zero.
func newTableID() uint64 {
	for {
		if id := rand.Uint64(); id != 0 {
			return id
		}
	}
}

// attempts tell how background work of one kind fares. db.mu guards them.
type attempts struct {
	begun uint64
	last  uint64        // the number of the attempt that ended last
	err   error         // how that one ended
	retry chan struct{} // ends the pause after a failure; needs no lock
}

func newAttempts() attempts { return attempts{retry: make(chan struct{}, 1)} }

// begin returns the number of an attempt that begins now. The first is 1. Whoever
// asked for one before has it.
func (a *attempts) begin() uint64 {
	select {
	case <-a.retry:
	default:
	}
	a.begun++
	return a.begun
}

func (a *attempts) end(attempt uint64, err error) { a.last, a.err = attempt, err }

// failedAfter returns the error of the last attempt if it began after the n-th.
func (a *attempts) failedAfter(n uint64) error {
	if a.last > n {
		return a.err
	}
	return nil
}

// A backoff is the pause before work that failed is tried again: a second, then
// twice as long each time, up to a limit. It is not safe for concurrent use.
type backoff struct{ last time.Duration }

const (
	firstPause = time.Second
	lastPause  = 8 * time.Second
)

func (b *backoff) reset() { b.last = 0 }

// next returns how long to pause this time.
func (b *backoff) next() time.Duration {
	b.last = min(max(2*b.last, firstPause), lastPause)
	return b.last
}

// pause waits for d, or until ctx ends, or something comes out of now.
func pause(ctx context.Context, d time.Duration, now <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-now:
	case <-ctx.Done():
	}
}
