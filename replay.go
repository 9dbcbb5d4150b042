package sift

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/compaction"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
	"github.com/siftkv/sift/memtable"
	"github.com/siftkv/sift/sstable"
	"github.com/siftkv/sift/wal"
)

// checkTables compares the size of every table with the manifest's record of it,
// and lists all that differ.
func (op *opening) checkTables() error {
	var errs []error
	for _, t := range op.version.All() {
		path := op.tablePath(t.Num)
		info, err := op.fs.Stat(path)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err) // says nothing of the table
		case err != nil:
			errs = append(errs, &CorruptionError{
				File: filepath.Base(path), Offset: -1, Err: err,
				What: fmt.Sprintf("the table of %d bytes cannot be found", t.Size),
			})
		case info.IsDir || info.Size != t.Size:
			errs = append(errs, key.Corruptf(path, -1, "the table has %d bytes; the manifest says %d", info.Size, t.Size))
		}
	}
	return errors.Join(errs...)
}

// loadFilters reads the filters of all tables into memory, and makes the version
// anew with them.
func (op *opening) loadFilters() error {
	tables := make(chan *manifest.TableMeta)
	errs := make([]error, op.opts.Workers)
	var readers sync.WaitGroup
	for i := range errs {
		readers.Go(func() {
			for t := range tables {
				errs[i] = errors.Join(errs[i], op.loadFilter(t))
			}
		})
	}
	for _, t := range op.version.All() {
		tables <- t
	}
	close(tables)
	readers.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	v, err := new(manifest.Version).Apply(op.version.Snapshot())
	if err != nil {
		return fmt.Errorf("BUG: a version does not survive its own description: %w", err)
	}
	op.version = v
	return nil
}

// loadFilter sets the filter of a table. A damaged one is reported, and the
// table then read without it: a filter saves work, it holds no data.
func (op *opening) loadFilter(t *manifest.TableMeta) error {
	if t.FilterLen == 0 {
		return nil
	}
	path := op.tablePath(t.Num)
	f, err := op.fs.Open(path)
	if err != nil {
		return fmt.Errorf("read the filter of %s: %w", path, err)
	}
	defer f.Close()
	data, err := sstable.ReadFilter(f, path, t.ID, sstable.Handle{Off: t.FilterOff, Len: t.FilterLen}, &op.diskReads)
	if err == nil {
		t.Filter, err = bloom.Open(data)
	}
	if err != nil {
		op.damagedFilters.Add(1)
		op.badFilter(path, err)
	}
	return nil
}

// replay reads the logs that the manifest needs into memtables. What fills one is
// written to tables at once, unless the database is read-only.
func (op *opening) replay() error {
	logs, err := op.neededLogs()
	if err != nil {
		return err
	}
	op.mem = &loggedMem{MemTable: memtable.New(op.opts.MemTableSize)}
	report, err := wal.Replay(op.fs, logs, op.replayBatch)
	if err != nil {
		return err
	}
	if report.DroppedBytes > 0 || report.DroppedLogs > 0 {
		op.tornLog(report.DroppedBytes)
	}
	op.visible.Store(op.lastSeq)
	return nil
}

// neededLogs lists the logs whose writes are in no table yet. The oldest of them
// must be there: the manifest named it after it was durable. So must the newest
// one of a database that was closed. Of a database that is being created there is
// none.
func (op *opening) neededLogs() ([]wal.LogFile, error) {
	if op.logNum == 0 {
		return nil, nil
	}
	logs := op.logFiles(op.logNum)
	closed := op.closed
	hasClosed := closed.Num < op.logNum
	for i := range logs {
		if logs[i].Num == closed.Num {
			logs[i].End, hasClosed = closed.End, true
		}
	}
	if len(logs) == 0 || logs[0].Num != op.logNum {
		return nil, key.Corruptf(op.logPath(op.logNum), -1, "the log is missing, and the manifest needs it")
	}
	if !hasClosed {
		return nil, key.Corruptf(op.logPath(closed.Num), -1, "the log is missing, and the database was closed with it")
	}
	return logs, nil
}

// logFiles lists the logs from a number on, oldest first.
func (op *opening) logFiles(from uint64) []wal.LogFile {
	var logs []wal.LogFile
	for _, f := range op.files {
		if f.kind == manifest.Log && f.num >= from {
			logs = append(logs, wal.LogFile{Num: f.num, Path: op.logPath(f.num)})
		}
	}
	slices.SortFunc(logs, func(a, b wal.LogFile) int { return cmp.Compare(a.Num, b.Num) })
	return logs
}

// replayBatch puts a record of a log into the memtable.
func (op *opening) replayBatch(log uint64, payload []byte) error {
	r, err := readBatch(payload)
	last := r.seq + uint64(r.count) - 1
	if err == nil && r.seq <= op.lastSeq {
		err = fmt.Errorf("batch with sequence numbers %d to %d after %d", r.seq, last, op.lastSeq)
	}
	if err == nil && op.mem.Size()+int64(len(payload)) > op.opts.MemTableSize && !op.mem.Empty() {
		if err := op.freeze(); err != nil {
			return err
		}
	}
	if err == nil {
		op.lastSeq = last
		op.tail.add(payload, op.opts.MemTableSize/4)
		err = insert(op.mem.MemTable, payload)
	}
	if err != nil && !errors.Is(err, ErrVersion) {
		return &CorruptionError{File: filepath.Base(op.logPath(log)), Offset: -1, What: "a record does not hold a batch", Err: err}
	}
	return err
}

// A replayTail keeps the records of the memtable that is being replayed while
// they are few, so that they can go to the new log: a table for each short life
// of a process would be a table for very little.
type replayTail struct {
	records [][]byte
	size    int64
	tooMany bool
}

func (t *replayTail) add(payload []byte, limit int64) {
	t.size += int64(len(payload))
	if t.tooMany = t.tooMany || t.size > limit; t.tooMany {
		t.records = nil
		return
	}
	t.records = append(t.records, bytes.Clone(payload))
}

// freeze begins another memtable.
func (op *opening) freeze() error {
	full := op.mem
	op.tail = replayTail{}
	op.mem = &loggedMem{MemTable: memtable.New(op.opts.MemTableSize)}
	if op.opts.ReadOnly {
		op.waiting = append(op.waiting, full)
		return nil
	}
	return op.write(full)
}

// write makes a replayed memtable a table of the version, which the manifest
// learns of at the end of Open.
func (op *opening) write(m *loggedMem) error {
	if m.Empty() {
		return nil
	}
	env := op.compactionEnv()
	env.NamesLater = true // the new manifest's first sync is one of the directory too
	result, err := compaction.Flush(op.ctx, env, op.version, m.NewIter())
	if err != nil {
		return err
	}
	edit := new(manifest.Edit)
	for _, t := range result.Outputs {
		op.created = append(op.created, op.tablePath(t.Num))
		edit.Added = append(edit.Added, manifest.NewTable{Level: 0, Meta: t})
		op.tableSeq = max(op.tableSeq, t.MaxSeq)
	}
	op.written.flush(result.Stats)
	op.version, err = op.version.Apply(edit)
	return err
}
