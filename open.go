package sift

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/siftkv/sift/compaction"
	"github.com/siftkv/sift/internal/cache"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
	"github.com/siftkv/sift/internal/tablecache"
	"github.com/siftkv/sift/wal"
)

// Open opens the database in the directory dir, and creates it and the directory
// if they are missing. Nil options mean the defaults.
//
// Open replays the log, and writes what it finds there anew before it returns, so
// that a power cut cannot take it away again. A failed Open changes
// no data and lets go of everything.
//
// The steps, in order; nothing that exists is changed before the last:
//
//  1. options, path, lock
//  2. manifest: which tables there are; their sizes are checked
//  3. filters of all tables, into memory
//  4. logs, replayed into a memtable, and into tables where that fills
//  5. a new log, with what is in no table, and a new manifest; CURRENT names it,
//     atomically
//  6. what is not needed is removed, and the background work starts
func Open(dir string, o *Options) (*DB, error) {
	opts := o.withDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	if dir == "" {
		return nil, fmt.Errorf("%w: the path of the database is empty", ErrInvalidOption)
	}
	op := &opening{DB: newDB(dir, opts)}
	if err := op.run(); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", dir, err), op.abort())
	}
	op.start()
	return op.DB, nil
}

func newDB(dir string, opts Options) *DB {
	db := &DB{
		opts:   opts,
		dir:    dir,
		fs:     opts.FS,
		blocks: cache.New(opts.CacheSize),
		born:   make(map[uint64]uint64),
		jobs:   make(map[*compaction.Job]struct{}),

		flushes:     newAttempts(),
		compactions: newAttempts(),
	}
	db.changed = sync.NewCond(&db.mu)
	db.ctx, db.cancel = context.WithCancel(context.Background())
	db.tables = tablecache.New(db.fs, dir, db.blocks, opts.MaxOpenFiles, &db.diskReads)
	return db
}

// An opening is a DB on its way to be open.
type opening struct {
	*DB
	files    []fileName         // of the directory, as it was found
	logNum   uint64             // the oldest log that is needed; 0 if there is no database yet
	closed   manifest.ClosedLog // the newest log, if the database was closed
	tableSeq uint64             // the largest sequence number in any table, ever
	tail     replayTail         // what may go to the new log
	created  []string           // files made so far, which a failure removes
}

// fileName is a file of ours in the directory.
type fileName struct {
	kind manifest.FileKind
	num  uint64
}

func (op *opening) run() error {
	exists, err := op.inspect()
	if err != nil {
		return err
	}
	if err := op.takeLock(exists); err != nil {
		return err
	}
	// Again, under the lock: another process may have been creating it.
	if exists, err = op.inspect(); err != nil {
		return err
	}
	if err := op.load(exists); err != nil {
		return err
	}
	if err := op.checkTables(); err != nil {
		return err
	}
	if err := op.loadFilters(); err != nil {
		return err
	}
	if err := op.replay(); err != nil {
		return err
	}
	if op.opts.ReadOnly {
		return op.publish()
	}
	return op.begin()
}

// inspect reports whether the directory holds a database. Where one must not be
// created it returns why.
func (op *opening) inspect() (exists bool, err error) {
	info, err := op.fs.Stat(op.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, op.mayCreate()
	case err != nil:
		return false, err
	case !info.IsDir:
		return false, errors.New("it is a file; a database is a directory")
	}
	names, err := op.fs.List(op.dir)
	if err != nil {
		return false, err
	}
	foreign := op.classify(names)
	if op.has(manifest.Current) {
		if op.opts.ErrorIfExists {
			return true, ErrExists
		}
		return true, nil
	}
	if op.has(manifest.Table) || op.logsHoldWrites() {
		return false, manifest.ErrNoCurrent
	}
	if foreign != "" {
		return false, fmt.Errorf("%w, and the directory is not empty (it holds %q); choose another or empty it", ErrNotExist, foreign)
	}
	return false, op.mayCreate()
}

// logsHoldWrites reports whether a log holds a write, or cannot be read. Without
// CURRENT that is a loss: a creation that a crash interrupted leaves a log, but an
// empty one.
func (op *opening) logsHoldWrites() bool {
	found := errors.New("a record")
	_, err := wal.Replay(op.fs, op.logFiles(0), func(uint64, []byte) error { return found })
	return err != nil
}

func (op *opening) mayCreate() error {
	if op.opts.ReadOnly || op.opts.MustExist {
		return ErrNotExist
	}
	return nil
}

// classify keeps the names that are ours, and returns one that is not. Hidden
// files and what a new file system brings along do not count.
func (op *opening) classify(names []string) (foreign string) {
	op.files = op.files[:0]
	for _, name := range names {
		kind, num := manifest.ParseName(name)
		if kind == manifest.Foreign {
			if !strings.HasPrefix(name, ".") && name != "lost+found" {
				foreign = name
			}
			continue
		}
		op.files = append(op.files, fileName{kind, num})
	}
	return foreign
}

func (op *opening) has(kind manifest.FileKind) bool {
	for _, f := range op.files {
		if f.kind == kind {
			return true
		}
	}
	return false
}

// takeLock locks the directory, after making it if it is missing. A read-only
// database whose LOCK file is missing goes without: it may lie where nothing can
// be written.
func (op *opening) takeLock(exists bool) error {
	path := manifest.Path(op.dir, manifest.Lock, 0)
	if op.opts.ReadOnly {
		lock, err := op.fs.Lock(path, true)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		op.lock = lock
		return err
	}
	if !exists {
		if err := op.fs.MkdirAll(op.dir); err != nil {
			return err
		}
		if err := op.syncParents(); err != nil {
			return err
		}
	}
	lock, err := op.fs.Lock(path, false)
	if err != nil {
		return err
	}
	op.lock = lock
	return nil
}

// syncParents makes the directory's own name durable, and those of its parents,
// which may have been made just now as well. Of those further up one that cannot
// be read is taken to have been there before.
func (op *opening) syncParents() error {
	for dir := filepath.Clean(op.dir); ; {
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil
		}
		err := op.fs.SyncDir(parent)
		if above := dir != filepath.Clean(op.dir); above && errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err != nil {
			return err
		}
		dir = parent
	}
}

// load reads the manifest, if there is one.
func (op *opening) load(exists bool) error {
	op.version = new(manifest.Version)
	op.nextFile.Store(op.largestFileNum() + 1)
	if !exists {
		return nil
	}
	state, err := manifest.Load(op.fs, op.dir)
	if err != nil {
		return err
	}
	if state.LogNum == 0 {
		return key.Corruptf(manifest.Path(op.dir, manifest.Manifest, state.Num), -1, "it names no log")
	}
	if state.Dropped > 0 {
		op.tornLog(state.Dropped)
	}
	op.version = state.Version
	op.logNum, op.closed = state.LogNum, state.Closed
	op.lastSeq, op.tableSeq = state.LastSeq, state.LastSeq
	op.nextFile.Store(max(state.NextFileNum, op.largestFileNum()+1))
	return nil
}

// largestFileNum returns the largest file number in use, by a left-over file
// too.
func (op *opening) largestFileNum() uint64 {
	var n uint64
	for _, f := range op.files {
		n = max(n, f.num)
	}
	return n
}

// abort undoes what a failed Open did.
func (op *opening) abort() error {
	op.cancel()
	var errs []error
	if op.store != nil {
		errs = append(errs, op.store.Close(nil))
	}
	if op.mem != nil && op.mem.log != nil {
		errs = append(errs, op.mem.log.Abandon())
	}
	for _, path := range op.created {
		op.remove(path)
	}
	errs = append(errs, op.tables.Close())
	if op.lock != nil {
		errs = append(errs, op.lock.Close())
	}
	return errors.Join(errs...)
}

// start begins the background work of an open database.
func (op *opening) start() {
	if op.opts.ReadOnly {
		return
	}
	op.removeLeftovers()
	op.work.Add(2)
	go op.flusher()
	go op.cleaner()
	op.schedule()
}

// removeLeftovers removes the files that a crash left behind: of ours, and not
// needed. Other files are not touched.
func (op *opening) removeLeftovers() {
	live := make(map[uint64]bool)
	for _, t := range op.version.All() {
		live[t.Num] = true
	}
	for _, f := range op.files {
		switch f.kind {
		case manifest.Table:
			if live[f.num] {
				continue
			}
		case manifest.Log, manifest.CurrentTemp:
		case manifest.Manifest:
			if f.num == op.store.Num() {
				continue
			}
		default:
			continue
		}
		op.remove(manifest.Path(op.dir, f.kind, f.num))
	}
}
