package sift

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/compaction"
	"github.com/siftkv/sift/memtable"
	"github.com/siftkv/sift/wal"
)

// How a write goes: under commitMu it gets its sequence numbers, is appended to
// the log, inserted into the memtable and made visible; one writer at a time, no
// hand-over, no channel. With Sync it then waits, without the lock, until the log
// is durable up to its end; all who wait share one fdatasync. So a NoSync write
// never waits for another's sync.

// A logged memtable is one with the log that makes it durable.
type loggedMem struct {
	*memtable.MemTable
	log *logFile
}

// A logFile is a log that takes writes, or took them and has a memtable that is
// not a table yet.
type logFile struct {
	*wal.Writer
	path    string
	flushed atomic.Bool // its memtable is a durable table: the log is not needed
}

// finish makes the log durable, marks it as complete, and closes it. It returns
// where the log's records end, or 0 if it cannot vouch for that.
func (l *logFile) finish() (end int64, err error) {
	if l.flushed.Load() {
		return 0, nil
	}
	if l.Err() != nil { // an append failed: without a seal, but durable
		return 0, errors.Join(l.SyncAll(), l.Abandon())
	}
	end = l.Size()
	if err := errors.Join(l.Trim(), l.Close()); err != nil {
		return 0, err
	}
	return end, nil
}

// NewBatch returns an empty batch. The zero Batch is one too.
func (db *DB) NewBatch() *Batch { return new(Batch) }

// Put stores value under key. A nil value is an empty value. Nil options mean
// Sync. The caller may change both slices afterwards.
func (db *DB) Put(key, value []byte, o *WriteOptions) error {
	b := batchPool.Get().(*Batch)
	defer putBatch(b)
	if err := b.Put(key, value); err != nil {
		return err
	}
	return db.Apply(b, o)
}

// Delete makes key absent. Deleting an absent key is not an error. Nil options
// mean Sync.
func (db *DB) Delete(key []byte, o *WriteOptions) error {
	b := batchPool.Get().(*Batch)
	defer putBatch(b)
	if err := b.Delete(key); err != nil {
		return err
	}
	return db.Apply(b, o)
}

// Apply makes all writes of a batch visible at once, and durable as o says; nil
// options mean Sync. After an error none of them is visible, and whether they
// are there is decided by the next Open: all of them or none. The one exception
// is an ErrBackground that says that the sync failed: then they are visible, and
// durable as with NoSync only.
func (db *DB) Apply(b *Batch, o *WriteOptions) error {
	if err := db.writable(); err != nil {
		return err
	}
	log, end, err := db.commit(b)
	if err != nil || o != nil && !o.Sync {
		return err
	}
	return db.syncLog(log, end)
}

// SyncWAL makes every write acknowledged so far survive a power cut.
func (db *DB) SyncWAL() error {
	if err := db.writable(); err != nil {
		return err
	}
	db.commitMu.Lock()
	if db.closed.Load() {
		db.commitMu.Unlock()
		return ErrClosed
	}
	log := db.mem.log
	end := log.Size()
	db.commitMu.Unlock()
	return db.syncLog(log, end)
}

// writable says why a write cannot even begin.
func (db *DB) writable() error {
	switch {
	case db.closed.Load():
		return ErrClosed
	case db.opts.ReadOnly:
		return ErrReadOnly
	}
	return nil
}

// commit appends the batch to the log and the memtable. It returns the log and
// the offset up to which it must be synced.
func (db *DB) commit(b *Batch) (*logFile, int64, error) {
	db.commitMu.Lock()
	defer db.commitMu.Unlock()
	if err := db.makeRoom(b.memSize()); err != nil {
		return nil, 0, err
	}
	log := db.mem.log
	if b.Len() == 0 {
		return log, log.Size(), nil
	}
	first := db.lastSeq + 1
	b.setSeq(first)
	// The numbers are used up even if the append fails: part of the record may
	// be in the file, and no other write may be mistaken for it.
	db.lastSeq += uint64(b.Len())
	end, err := log.Append(b.rep)
	if err != nil {
		return nil, 0, fmt.Errorf("sift: write to %s: %w", log.path, err)
	}
	if err := insert(db.mem.MemTable, b.rep); err != nil {
		panic("BUG: a batch that was just encoded does not decode: " + err.Error())
	}
	db.logged.Add(uint64(len(b.rep)))
	db.visible.Store(db.lastSeq)
	db.slowDown(len(b.rep))
	return log, end, nil
}

// insert adds the entries of an encoded batch to a memtable.
func insert(m *memtable.MemTable, rep []byte) error {
	r, err := readBatch(rep)
	if err != nil {
		return err
	}
	for {
		k, value, ok, err := r.next()
		if err != nil || !ok {
			return err
		}
		m.Add(k, value, bloom.Hash(k.User))
	}
}

// syncLog makes a log durable up to end. The log sees to it that those before it
// are durable first: what is acknowledged must not lie behind a hole.
func (db *DB) syncLog(log *logFile, end int64) error {
	err := log.Sync(end)
	if err == nil || log.flushed.Load() {
		return nil
	}
	return db.syncFailed(log, err)
}

// syncFailed refuses every write from now on: whether the log's bytes are on the
// disk cannot be known any more, not even by another sync that succeeds.
func (db *DB) syncFailed(log *logFile, cause error) error {
	if db.closed.Load() {
		return ErrClosed
	}
	err := fmt.Errorf("%w: sync of %s: %w; reopen the database", ErrBackground, log.path, cause)
	db.mu.Lock()
	first := db.fatal == nil
	if first {
		db.fatal = err
		db.refusing.Store(true)
	}
	db.changed.Broadcast()
	db.mu.Unlock()
	if first {
		db.failed("sync of the log", err)
	}
	return err
}

// makeRoom returns once the memtable can take n more bytes, or says why it
// cannot. It needs commitMu.
func (db *DB) makeRoom(n int64) error {
	if db.closed.Load() {
		return ErrClosed
	}
	if db.refusing.Load() {
		return db.fatalError()
	}
	// A batch over half a memtable gets one to itself.
	limit := db.opts.MemTableSize
	full := !db.mem.Empty() && (db.mem.Size()+n > limit || n > limit/2)
	if broken := db.mem.log.Err() != nil; !full && !broken {
		return nil
	}
	if err := db.waitForRoom(begun{}); err != nil {
		return err
	}
	return db.rotate()
}

func (db *DB) fatalError() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.fatal
}

// waitForRoom waits until another memtable may start: fewer than MaxMemTables
// wait for their flush and level 0 is below its stop. It never waits for work that
// is failing: it returns the error then, of an attempt that began later than from.
// It needs commitMu.
func (db *DB) waitForRoom(from begun) error {
	start := time.Now()
	reason := ""
	db.mu.Lock()
	for {
		why, cause := db.blockedLocked(from)
		if why == "" || cause != nil || db.closed.Load() || db.fatal != nil {
			err := db.roomErrorLocked(why, cause)
			db.mu.Unlock()
			if reason != "" {
				d := time.Since(start)
				db.stalls.add(d)
				db.stalled(reason, d)
			}
			return err
		}
		reason = why
		db.changed.Wait()
	}
}

// blockedLocked says why no memtable may start, and how the work that would
// change that has failed since from. It needs db.mu.
func (db *DB) blockedLocked(from begun) (why string, cause error) {
	if len(db.waiting) >= db.opts.MaxMemTables {
		return "memtables wait for their flush", db.flushes.failedAfter(from.flush)
	}
	if v := db.version; !db.opts.Compaction.Disable && len(v.Levels[0].Tables) >= db.opts.Compaction.L0Stop {
		return "level 0 waits for compaction", db.compactions.failedAfter(from.compact)
	}
	return "", nil
}

func (db *DB) roomErrorLocked(why string, cause error) error {
	switch {
	case db.closed.Load():
		return ErrClosed
	case db.fatal != nil:
		return db.fatal
	case why != "":
		return fmt.Errorf("%w: %s, and that fails: %w", ErrBackground, why, cause)
	}
	return nil
}

// rotate makes a new log and memtable current, and hands the full memtable to
// the flusher. It needs commitMu.
func (db *DB) rotate() error {
	old := db.mem.log
	log, err := db.newLog(old.Writer)
	if err != nil {
		return err
	}
	fresh := &loggedMem{memtable.New(db.opts.MemTableSize), log}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.waiting = append(db.waiting, db.mem)
	db.mem = fresh
	db.installLocked(db.memTablesLocked(), db.version)
	return nil
}

// memTablesLocked returns the memtables, newest first. It needs db.mu, and that
// db.mem does not change meanwhile.
func (db *DB) memTablesLocked() []*memtable.MemTable {
	ms := make([]*memtable.MemTable, 0, len(db.waiting)+1)
	ms = append(ms, db.mem.MemTable)
	for _, v := range slices.Backward(db.waiting) {
		ms = append(ms, v.MemTable)
	}
	return ms
}

// newLog creates a log. Its name is durable once a sync of it is; until then only
// what a power cut may take anyway is in it. The first log of all gets its name
// with that of the manifest.
func (db *DB) newLog(after *wal.Writer) (*logFile, error) {
	num := db.newFileNum()
	path := db.logPath(num)
	w, err := wal.Create(db.fs, path, num, wal.Options{
		Preallocate: db.opts.MemTableSize,
		Reuse:       db.takeSpareLog(),
		After:       after,
		NameLater:   after == nil,
	})
	if err != nil {
		return nil, err
	}
	return &logFile{Writer: w, path: path}, nil
}

// slowDown lets writers feel, early and smoothly, that compactions fall behind:
// it waits in proportion to the bytes written, from nothing at L0Slow tables in
// level 0 to maxDelay a MiB at L0Stop. It needs commitMu.
func (db *DB) slowDown(n int) {
	perMiB := db.delay.Load()
	if perMiB == 0 {
		db.owed = 0
		return
	}
	db.owed += time.Duration(float64(perMiB) * float64(n) / (1 << 20))
	if db.owed < minSleep {
		return
	}
	start := time.Now()
	pause(db.ctx, min(db.owed, maxSleep), nil)
	db.owed = 0
	db.stalls.add(time.Since(start))
}

const (
	// maxDelay is how long a MiB may take just below the stop: 1 MiB a second
	// is slower than any compaction.
	maxDelay = time.Second
	// minSleep is what is worth a timer. Shorter waits add up to it.
	minSleep = time.Millisecond
	// maxSleep bounds one wait, and so what one write can feel of it.
	maxSleep = 10 * time.Millisecond
)

// setDelayLocked computes the writers' delay from the present level 0. It needs
// db.mu.
func (db *DB) setDelayLocked() {
	var d time.Duration
	if !db.opts.Compaction.Disable {
		x := compaction.Pressure(db.version, db.opts.pickerOptions())
		d = time.Duration(x * x * float64(maxDelay))
	}
	db.delay.Store(d.Nanoseconds())
}
