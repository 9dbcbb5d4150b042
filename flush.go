package sift

import (
	"fmt"
	"time"

	"github.com/siftkv/sift/compaction"
	"github.com/siftkv/sift/internal/manifest"
)

// Flush writes the memtable to a table and returns once all writes made before
// the call are in tables. What stands in the way and has failed is tried once more,
// now, before its error is returned.
func (db *DB) Flush() error {
	if err := db.writable(); err != nil {
		return err
	}
	last, err := db.rotateForFlush()
	if err != nil || last == nil {
		return err
	}
	return db.waitFlushed(last)
}

// rotateForFlush hands the memtable to the flusher, if there is anything in it,
// and returns the newest log that has to be flushed.
func (db *DB) rotateForFlush() (*logFile, error) {
	db.commitMu.Lock()
	defer db.commitMu.Unlock()
	if db.closed.Load() {
		return nil, ErrClosed
	}
	if !db.mem.Empty() {
		if err := db.fatalError(); err != nil {
			return nil, err
		}
		if err := db.waitForRoom(db.retryNow()); err != nil {
			return nil, err
		}
		log := db.mem.log
		return log, db.rotate()
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if n := len(db.waiting); n > 0 {
		return db.waiting[n-1].log, nil
	}
	return nil, nil
}

// waitFlushed waits until a log's memtable is a table.
func (db *DB) waitFlushed(l *logFile) error {
	from := db.retryNow()
	db.mu.Lock()
	defer db.mu.Unlock()
	for !l.flushed.Load() {
		if db.closed.Load() {
			return ErrClosed
		}
		if err := db.flushes.failedAfter(from.flush); err != nil {
			return fmt.Errorf("%w: flush: %w", ErrBackground, err)
		}
		db.changed.Wait()
	}
	return nil
}

// begun says how many attempts at background work had begun at some moment.
type begun struct{ flush, compact uint64 }

// retryNow ends the pauses after failures, and returns what had begun before.
func (db *DB) retryNow() begun {
	db.mu.Lock()
	from := begun{db.flushes.begun, db.compactions.begun}
	db.mu.Unlock()
	for _, c := range []chan struct{}{db.flushes.retry, db.compactions.retry} {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	return from
}

// flusher writes waiting memtables to tables, oldest first, until the database
// closes. A failed flush is tried again, after a growing pause.
func (db *DB) flusher() {
	defer db.work.Done()
	var tries backoff
	for {
		m, ok := db.nextFlush()
		if !ok {
			return
		}
		err := db.flush(m)
		if db.ctx.Err() != nil {
			return
		}
		db.endFlush(err)
		if err == nil {
			tries.reset()
			continue
		}
		db.failed("flush", err)
		pause(db.ctx, tries.next(), db.flushes.retry)
	}
}

// nextFlush waits for a memtable to flush. It reports false when the database
// closes.
func (db *DB) nextFlush() (*loggedMem, bool) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for len(db.waiting) == 0 && !db.closed.Load() {
		db.changed.Wait()
	}
	if db.closed.Load() {
		return nil, false
	}
	db.flushes.begin()
	return db.waiting[0], true
}

// endFlush records how the flush that began last has ended.
func (db *DB) endFlush(err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.flushes.end(db.flushes.begun, err)
	db.changed.Broadcast()
}

// flush writes the oldest waiting memtable to a table and installs it. Only the
// flusher calls it, so that memtables become tables in the order of their writes.
func (db *DB) flush(m *loggedMem) error {
	start := time.Now()
	result, err := compaction.Flush(db.ctx, db.compactionEnv(), db.currentVersion(), m.NewIter())
	if err != nil {
		return err
	}
	if len(result.Outputs) == 0 {
		// With a table its directory was synced, and so the name of the log that
		// the edit is about to name.
		if err := db.fs.SyncDir(db.dir); err != nil {
			return err
		}
	}
	edit := &manifest.Edit{LogNum: db.logAfter(m)}
	for _, t := range result.Outputs {
		edit.Added = append(edit.Added, manifest.NewTable{Level: 0, Meta: t})
	}
	err = db.install(edit, func() {
		db.waiting = db.waiting[1:]
		db.written.flush(result.Stats) // before those that wait for the flush can look
		m.log.flushed.Store(true)
		m.log.Supersede()
	})
	if err != nil {
		return err
	}
	db.retireLog(m.log)
	db.schedule()
	db.flushed(result, time.Since(start))
	return nil
}

// logAfter returns the number of the first log that is needed once m is a table.
func (db *DB) logAfter(m *loggedMem) uint64 {
	db.mu.Lock()
	defer db.mu.Unlock()
	for i, w := range db.waiting {
		if w == m && i+1 < len(db.waiting) {
			return db.waiting[i+1].log.Num()
		}
	}
	return db.mem.log.Num()
}
