package sift

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/siftkv/sift/compaction"
	"github.com/siftkv/sift/internal/cache"
	"github.com/siftkv/sift/internal/manifest"
	"github.com/siftkv/sift/internal/tablecache"
	"github.com/siftkv/sift/sstable"
)

// DB is an open database. All its methods are safe for use by several
// goroutines at once.
//
// Lock order: commitMu, then installMu, then mu, then snapshotMu. A lock may be
// taken while one before it is held, never while one after it is. No lock is
// held while a table is read or written; commitMu alone is held while a log is
// appended to, installMu alone while the manifest is.
type DB struct {
	opts   Options
	dir    string
	fs     FS
	lock   io.Closer // nil where a read-only database has no LOCK file
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup // the background goroutines, and calls of Compact
	closed atomic.Bool

	tables *tablecache.Cache
	blocks *cache.Cache

	// What readers need. A nil state means closed.
	state   atomic.Pointer[readState]
	visible atomic.Uint64 // the newest sequence number that a reader may see
	reads   [numStripes]readCounters

	// commitMu makes writers one line: sequence numbers, log, memtable.
	commitMu sync.Mutex
	mem      *loggedMem // changed with commitMu and mu held
	lastSeq  uint64     // the newest sequence number given out
	owed     time.Duration
	delay    atomic.Int64 // of writers, ns a MiB; see slowDown

	// installMu makes manifest edits and the versions that follow from them one
	// line.
	installMu sync.Mutex
	store     *manifest.Store // nil if read-only

	// mu guards what follows. changed is signalled at every change of it.
	mu           sync.Mutex
	changed      *sync.Cond
	version      *manifest.Version     // that of the current state
	waiting      []*loggedMem          // memtables to flush, oldest first
	states       []*readState          // not drained yet, oldest first
	serial       uint64                // of the newest state
	obsolete     []obsoleteTable       // tables of no version that an older state may need
	doubtful     []*manifest.TableMeta // tables of edits that failed, and may be in the manifest
	born         map[uint64]uint64     // table number to the serial of its first state
	spare        string                // path of a log to be used again, or ""
	jobs         map[*compaction.Job]struct{}
	paused       bool  // after a failed compaction
	fatal        error // a failed sync: nothing is written any more
	flushes      attempts
	compactions  attempts
	compactPause backoff

	snapshotMu sync.Mutex
	snapshots  snapshotList

	refusing       atomic.Bool // fatal is set
	nextFile       atomic.Uint64
	iters          atomic.Int64 // open iterators
	logged         atomic.Uint64
	diskReads      sstable.Stats
	damagedFilters atomic.Uint64
	written        writeCounters
	stalls         stallCounters
}

// newFileNum returns a file number that no file has had.
func (db *DB) newFileNum() uint64 { return db.nextFile.Add(1) - 1 }

func (db *DB) logPath(num uint64) string   { return manifest.Path(db.dir, manifest.Log, num) }
func (db *DB) tablePath(num uint64) string { return manifest.Path(db.dir, manifest.Table, num) }

// Close ends the background work, makes everything acknowledged durable, marks
// the logs as complete, and lets go of every file. It does not flush: the next
// Open replays the log. It waits for running calls. With iterators or snapshots
// open it closes all the same, and returns an error that counts them; they
// return ErrClosed from then on.
func (db *DB) Close() error {
	if db.closed.Swap(true) {
		return ErrClosed
	}
	db.cancel()
	db.mu.Lock()
	db.changed.Broadcast()
	db.mu.Unlock()

	// A writer that is past its check of closed has the lock.
	db.commitMu.Lock()
	db.commitMu.Unlock() //nolint:staticcheck // to wait is all it is for
	db.work.Wait()

	db.retireStates()
	closed, err := db.finishLogs()
	errs := []error{db.leaks(), err}
	if path := db.takeSpareLog(); path != "" {
		db.remove(path)
	}
	if db.store != nil {
		errs = append(errs, db.closeManifest(closed))
	}
	errs = append(errs, db.tables.Close())
	if db.lock != nil {
		errs = append(errs, db.lock.Close())
	}
	return errors.Join(errs...)
}

// finishLogs closes the logs and returns the newest; nothing if one of them
// cannot be vouched for.
func (db *DB) finishLogs() (closed manifest.ClosedLog, err error) {
	var errs []error
	for _, l := range db.logs() {
		end, err := l.finish()
		errs = append(errs, err)
		closed = manifest.ClosedLog{Num: l.Num(), End: end}
	}
	if err := errors.Join(errs...); err != nil || closed.End == 0 {
		return manifest.ClosedLog{}, err
	}
	return closed, nil
}

// closeManifest lets the manifest say last which log is the newest and how far it
// reaches, so that the next Open misses it if it is gone or cut short.
func (db *DB) closeManifest(log manifest.ClosedLog) error {
	db.installMu.Lock()
	defer db.installMu.Unlock()
	if log.Num == 0 {
		return db.store.Close(nil)
	}
	return db.store.Close(&manifest.Edit{NextFileNum: db.nextFile.Load(), Closed: log})
}

// enter counts a call that installs versions, so that Close waits for it. The
// caller ends it with work.Done.
func (db *DB) enter() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed.Load() {
		return ErrClosed
	}
	db.work.Add(1)
	return nil
}

// logs returns the logs in use, oldest first.
func (db *DB) logs() []*logFile {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.opts.ReadOnly {
		return nil
	}
	var logs []*logFile
	for _, m := range db.waiting {
		logs = append(logs, m.log)
	}
	return append(logs, db.mem.log)
}

// retireStates makes every later read ErrClosed and waits for those that run.
func (db *DB) retireStates() {
	db.mu.Lock()
	defer db.mu.Unlock()
	if s := db.state.Swap(nil); s != nil {
		s.retired.Store(true)
	}
	for {
		db.dropDrainedLocked()
		busy := false
		for _, s := range db.states {
			busy = busy || s.busy()
		}
		if !busy {
			return
		}
		db.changed.Wait()
	}
}

// leaks counts what the caller left open.
func (db *DB) leaks() error {
	db.snapshotMu.Lock()
	snapshots := db.snapshots.len()
	db.snapshotMu.Unlock()
	if iters := db.iters.Load(); iters > 0 || snapshots > 0 {
		return fmt.Errorf("sift: closed with %d iterators and %d snapshots open; close them first", iters, snapshots)
	}
	return nil
}
