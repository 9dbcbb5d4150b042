package sift

import (
	"errors"

	"github.com/siftkv/sift/internal/manifest"
	"github.com/siftkv/sift/memtable"
)

// begin writes what was replayed anew, and starts a log and a manifest to go on
// with. Only its last step, the switch of CURRENT, changes what the next Open
// sees.
func (op *opening) begin() error {
	op.fs = op.tables.FS() // from now on there may be idle tables to close
	if op.tail.tooMany {
		if err := op.write(op.mem); err != nil {
			return err
		}
		op.mem = &loggedMem{MemTable: memtable.New(op.opts.MemTableSize)}
	}
	if err := op.startLog(); err != nil {
		return err
	}
	if err := op.startManifest(op.mem.log.Num()); err != nil {
		return err
	}
	return op.publish()
}

// startLog makes the first log, with what was replayed and is in no table.
func (op *opening) startLog() error {
	log, err := op.newLog(nil)
	if err != nil {
		return err
	}
	op.created = append(op.created, log.path)
	op.mem.log = log
	for _, record := range op.tail.records {
		if _, err := log.Append(record); err != nil {
			return err
		}
	}
	op.tail = replayTail{}
	return log.SyncAll()
}

// startManifest makes a manifest of the present version current.
func (op *opening) startManifest(logNum uint64) error {
	edit := &manifest.Edit{LogNum: logNum, LastSeq: op.tableSeq}
	edit.NextFileNum = op.nextFile.Load() + 1 // the manifest's own number counted
	store, err := manifest.Start(op.fs, op.dir, edit, op.version, manifest.StoreOptions{
		NewFileNum: op.newFileNum,
		MaxSize:    op.opts.ManifestSize,
	})
	if err == nil || errors.Is(err, manifest.ErrInDoubt) {
		op.created = nil // CURRENT may need them: a failure leaves them to the next Open
	}
	op.store = store
	return err
}

// publish makes what was read visible.
func (op *opening) publish() error {
	op.mu.Lock()
	defer op.mu.Unlock()
	for _, t := range op.version.All() {
		op.born[t.Num] = op.serial + 1
	}
	op.installLocked(op.memTablesLocked(), op.version)
	op.setDelayLocked()
	return nil
}
