package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

// LogFile names a log to replay.
type LogFile struct {
	Num  uint64
	Path string
	End  int64 // up to here its records were durable when it was closed; 0 if that is not known
}

// Report says what Replay found.
type Report struct {
	Records      int64 // handed out
	Bytes        int64 // their payloads
	DroppedBytes int64 // torn off the ends of logs, whole logs included
	DroppedLogs  int   // logs dropped because one before them ended early
}

// Replay hands the payloads of several logs to fn, oldest first. What fn sees
// is a prefix of what was appended, with no hole between two logs. fn must not
// keep the payload. Replay changes no file; it stops at the first error of fn.
//
// The logs come in the order of their numbers, the first of them being the
// oldest that is still needed. One whose file does not exist counts as empty.
//
// A log that ends before the point where the next one says it ended is damaged
// if that part was known to be durable: by the next log's header, or by a mark
// in a log that follows, since each log is made durable after the one before
// it. Then Replay returns a CorruptionError. Otherwise a power cut took the
// end, and the logs that follow are dropped. A log that ends before its
// LogFile's End is damaged likewise.
//
// A log that follows none, and is not the first, is passed over. It was begun by
// somebody who had replayed the logs before it and was to take their place, and
// died before it could: it may hold copies of a part of their records.
//
// Records behind the point where the next log says that this one ended are those
// of a write that failed, and are left out.
func Replay(fsys vfs.FS, logs []LogFile, fn func(num uint64, payload []byte) error) (Report, error) {
	p := replay{
		fs:     fsys,
		fn:     fn,
		limits: make(map[uint64]int64, len(logs)),
		seen:   make(map[uint64]seenLog, len(logs)),
	}
	for i, l := range logs {
		if i > 0 && l.Num <= logs[i-1].Num {
			return p.report, fmt.Errorf("sift: replay log %d after log %d: not in order", l.Num, logs[i-1].Num)
		}
		err := p.open(l, func(r *Reader) error {
			prev := r.Tail().Prev
			p.limits[prev.Num] = prev.End
			return nil
		})
		if err != nil {
			return p.report, err
		}
	}
	for _, l := range logs {
		p.seen[l.Num] = seenLog{name: filepath.Base(l.Path)}
		err := p.open(l, func(r *Reader) error { return p.log(l.Num, logs[0].Num, r) })
		if err != nil {
			return p.report, err
		}
		if end := p.seen[l.Num].end; end < l.End {
			return p.report, key.Corruptf(l.Path, end, "the log ends here, but it was closed with records up to offset %d; "+
				"restore the file, or repair the database and lose what follows", l.End)
		}
	}
	return p.report, nil
}

// replay is the state of one Replay.
type replay struct {
	fs     vfs.FS
	fn     func(num uint64, payload []byte) error
	limits map[uint64]int64   // by number, where the next log says that one ended
	seen   map[uint64]seenLog // by number
	report Report
}

// seenLog is a log that was replayed up to end; 0 if it was dropped.
type seenLog struct {
	name string
	end  int64
}

// open calls use with a reader of a log, unless there is no such file.
func (p *replay) open(l LogFile, use func(*Reader) error) (err error) {
	f, err := p.fs.Open(l.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sift: open log: %w", err)
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}()
	r, err := NewReader(f, l.Path, l.Num)
	if err != nil {
		return err
	}
	return use(r)
}

// log replays or drops one log.
func (p *replay) log(num, oldest uint64, r *Reader) error {
	prev := r.Tail().Prev
	if headed := r.Tail().End > 0; headed && prev.Num == 0 && num != oldest {
		return nil
	}
	if prev.Num >= oldest && p.seen[prev.Num].end < prev.End {
		return p.drop(r, prev)
	}
	if err := p.records(num, r); err != nil {
		return err
	}
	p.seen[num] = seenLog{r.name, r.Tail().End}
	p.report.DroppedBytes += r.Tail().Dropped
	return nil
}

// records hands out what r reads.
func (p *replay) records(num uint64, r *Reader) error {
	limit, limited := p.limits[num]
	for {
		payload, err := r.Next()
		if errors.Is(err, io.EOF) || err == nil && limited && r.Tail().End > limit {
			return nil
		}
		if err != nil {
			return err
		}
		p.report.Records++
		p.report.Bytes += int64(len(payload))
		if err := p.fn(num, payload); err != nil {
			return err
		}
	}
}

// drop leaves out a log because the one before it ended early, unless that end
// was durable once.
func (p *replay) drop(r *Reader, prev PrevLog) error {
	end, err := r.scan(0)
	if err != nil {
		return r.ioError(err)
	}
	older := p.seen[prev.Num]
	if older.name == "" {
		older.name = fmt.Sprintf("%06d.log", prev.Num)
	}
	switch {
	case older.end < prev.Synced:
		return key.Corruptf(older.name, older.end, "the log ends here, but %s knows it durable up to offset %d; "+
			"restore the file, or repair the database and lose what follows", r.name, prev.Synced)
	case r.tail.Mark > 0:
		return key.Corruptf(older.name, older.end, "the log ends here instead of at offset %d, though %s was made durable after it; "+
			"restore the file, or repair the database and lose what follows", prev.End, r.name)
	}
	p.report.DroppedLogs++
	p.report.DroppedBytes += end
	return nil
}
