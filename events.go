package sift

import (
	"time"

	"github.com/siftkv/sift/compaction"
)

// Events are called when something happens in the background. Any of them may
// be nil. They run on the engine's goroutines, sometimes under a lock: they must
// return quickly and must not call the database.
type Events struct {
	// Flushed: a memtable has become a table.
	Flushed func(TableEvent)
	// Compacted: tables have been merged.
	Compacted func(TableEvent)
	// Failed: a flush, compaction, sync or removal failed. It is tried again
	// where that is safe.
	Failed func(op string, err error)
	// Stalled: a writer had to wait this long, for this reason.
	Stalled func(reason string, d time.Duration)
	// TornLog: Open passed over the end of a log, or of the manifest, that a crash left
	// incomplete. They belonged to writes that were never synced.
	TornLog func(bytes int64)
	// BadFilter: a table's filter is damaged, and the table is read without it.
	BadFilter func(file string, err error)
}

// TableEvent describes a finished flush or compaction.
type TableEvent struct {
	Reason       string
	From, To     int // levels; From is -1 for a flush
	Inputs       int // tables
	Outputs      int // tables
	BytesRead    int64
	BytesWritten int64
	EntriesIn    uint64
	EntriesOut   uint64
	Duration     time.Duration
}

func (db *DB) flushed(r compaction.Result, took time.Duration) {
	e := TableEvent{Reason: "memtable full", From: -1, Inputs: 1}
	e.fill(r, took)
	db.opts.Logger.Info("flushed", "tables", e.Outputs, "entries", e.EntriesOut, "bytes", e.BytesWritten, "took", took)
	if f := db.opts.Events.Flushed; f != nil {
		f(e)
	}
}

func (db *DB) compacted(job *compaction.Job, r compaction.Result, took time.Duration) {
	e := TableEvent{Reason: string(job.Reason), From: job.Level, To: job.OutputLevel, Inputs: len(job.Inputs[0]) + len(job.Inputs[1])}
	e.fill(r, took)
	db.opts.Logger.Info("compacted", "reason", e.Reason, "from", e.From, "to", e.To, "inputs", e.Inputs,
		"outputs", e.Outputs, "bytes read", e.BytesRead, "bytes written", e.BytesWritten, "took", took)
	if f := db.opts.Events.Compacted; f != nil {
		f(e)
	}
}

func (e *TableEvent) fill(r compaction.Result, took time.Duration) {
	e.Outputs = len(r.Outputs)
	e.BytesRead, e.BytesWritten = r.Stats.BytesRead, r.Stats.BytesWritten
	e.EntriesIn, e.EntriesOut = r.Stats.In.Entries, r.Stats.Out.Entries
	e.Duration = took
}

func (db *DB) failed(op string, err error) {
	db.opts.Logger.Error(op+" failed", "err", err)
	if f := db.opts.Events.Failed; f != nil {
		f(op, err)
	}
}

func (db *DB) stalled(reason string, d time.Duration) {
	db.opts.Logger.Warn("writers waited", "reason", reason, "for", d)
	if f := db.opts.Events.Stalled; f != nil {
		f(reason, d)
	}
}

func (db *DB) tornLog(bytes int64) {
	db.opts.Logger.Warn("cut the torn end of a log", "bytes", bytes)
	if f := db.opts.Events.TornLog; f != nil {
		f(bytes)
	}
}

func (db *DB) badFilter(file string, err error) {
	db.opts.Logger.Error("a filter is damaged; its table is read without it", "file", file, "err", err)
	if f := db.opts.Events.BadFilter; f != nil {
		f(file, err)
	}
}
