package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"sync"

	"github.com/siftkv/sift/internal/coding"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

// maxCopied is the largest payload that is copied behind its header, to be
// handed to the system in one call. Larger ones go in a call of their own, so
// that the buffer stays small.
const maxCopied = 256 << 10

// Options of a new log. The zero Options is a plain, unlinked log.
type Options struct {
	// Preallocate is how many bytes of disk to reserve at once, so that a sync
	// has no file size to write. 0 reserves nothing.
	Preallocate int64

	// Reuse is the path of an old log whose file becomes this log's, or "". No
	// manifest may need the old log, not even after a power cut.
	Reuse string

	// NameLater leaves it to the caller to make the log's name durable, before
	// anything in it is acknowledged as durable.
	NameLater bool

	// After is the log that this one follows, or nil. It must get no more
	// records. Each Sync of the new log makes all of After durable first.
	After *Writer
}

// Writer appends records to a log.
//
// Append, Close and Abandon are for one goroutine at a time; all other methods
// are safe beside them and beside each other.
//
// Invariants, held whenever mu is free:
//
//  1. durable <= fence <= end, and each is the end of a record, or 0.
//  2. No record starts in a sector that holds bytes below fence.
//  3. mark <= durable: a header never promises what no sync has finished.
//  4. Once err is set nothing is appended, and it never changes. Once syncErr is set
//     nothing is synced.
type Writer struct {
	fs    vfs.FS
	f     vfs.File
	path  string
	num   uint64
	codec codec

	mu       sync.Mutex // held across File.Append, never across File.Sync
	buf      []byte     // one record, reused
	crc      uint32     // of the last record
	end      int64      // of the last record
	mark     int64      // the highest mark in a header so far
	reserved int64      // disk space is reserved up to here
	step     int64      // Options.Preallocate
	err      error      // the first failure
	syncErr  error      // of a sync that failed
	closed   bool       // no handle any more
	followed bool       // another log follows this one
	group    group      // see sync.go
}

// Create makes the log num at path, which must not exist, and writes its first
// record. Neither that nor the name is durable before the first Sync. On an
// error there is no such log.
func Create(fsys vfs.FS, path string, num uint64, o Options) (*Writer, error) {
	w, err := create(fsys, path, num, o, rand.Uint64())
	if err != nil {
		return nil, fmt.Errorf("sift: create log %s: %w", filepath.Base(path), err)
	}
	return w, nil
}

func create(fsys vfs.FS, path string, num uint64, o Options, salt uint64) (*Writer, error) {
	if _, err := fsys.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fs.ErrExist
		}
		return nil, err
	}
	f, err := openFile(fsys, path, o.Reuse)
	if err != nil {
		return nil, errors.Join(err, discard(fsys, path))
	}
	w := &Writer{fs: fsys, f: f, path: path, num: num, codec: newCodec(num), step: o.Preallocate}
	w.group.init(&w.mu)
	w.group.named = o.NameLater
	h := logHeader{version: formatVersion, salt: salt}
	if o.Reuse != "" {
		h.flags = flagReused
	}
	if o.After != nil {
		h.prev = o.After.asPrev()
		w.group.after = o.After
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.append(typeLogHeader, h.encode()); err != nil {
		return nil, errors.Join(err, f.Close(), discard(fsys, path))
	}
	if o.After != nil {
		o.After.follow()
	}
	return w, nil
}

func openFile(fsys vfs.FS, path, reuse string) (vfs.File, error) {
	if reuse != "" {
		return fsys.Reuse(reuse, path)
	}
	return fsys.Create(path)
}

// discard removes what a failed Create may have made.
func discard(fsys vfs.FS, path string) error {
	if err := fsys.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// asPrev says where w ends, for the log that follows it.
func (w *Writer) asPrev() PrevLog {
	w.mu.Lock()
	defer w.mu.Unlock()
	return PrevLog{Num: w.num, End: w.end, Synced: w.group.durable}
}

// follow refuses records from now on: the next log has said where w ends.
func (w *Writer) follow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.followed = true
}

// Append writes one record and returns the offset at which it ends, for Sync.
// When it returns nil the record is with the operating system and survives the
// end of the process. It does not wait for a sync in flight. After an error
// the record may or may not be found by a reader, and the log takes no others;
// only ErrTooLarge leaves the log as it was.
func (w *Writer) Append(payload []byte) (end int64, err error) {
	if err := checkSize(len(payload)); err != nil {
		return 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return 0, err
	}
	if w.followed {
		return 0, fmt.Errorf("sift: append to log %s, which another log follows: %w", w.name(), key.ErrClosed)
	}
	if err := w.append(typeData, payload); err != nil {
		return 0, err
	}
	return w.end, nil
}

func checkSize(n int) error {
	if n > MaxPayload {
		return fmt.Errorf("sift: log record of %d bytes, at most %d: %w", n, MaxPayload, key.ErrTooLarge)
	}
	return nil
}

// append writes a record of any type at the next place a record may have.
// w.mu is held.
func (w *Writer) append(t recordType, payload []byte) error {
	start := w.end
	if w.end == w.group.fence {
		start = nextSector(w.end)
	}
	end := start + headerLen + int64(len(payload))
	mark := w.group.durable
	w.buf = w.codec.appendHeader(w.buf[:0], start, header{uint32(len(payload)), t, mark})
	w.reserve(end)
	crc, err := w.write(start, payload)
	if err != nil {
		return w.fail("append to", err)
	}
	w.crc, w.end, w.mark = crc, end, mark
	return nil
}

// write hands the header in w.buf and the payload to the system, to begin at
// start, and returns the record's crc.
func (w *Writer) write(start int64, payload []byte) (crc uint32, err error) {
	if start != w.end {
		if err := w.f.Skip(start); err != nil {
			return 0, err
		}
	}
	if len(payload) <= maxCopied {
		w.buf = append(w.buf, payload...)
		payload = nil
	}
	crc = coding.ExtendCRC(coding.ExtendCRC(w.crc, w.buf[4:]), payload)
	binary.LittleEndian.PutUint32(w.buf, crc)
	if err := w.f.Append(w.buf); err != nil {
		return 0, err
	}
	if payload != nil {
		err = w.f.Append(payload)
	}
	return crc, err
}

// reserve asks for disk space ahead of need: for one step at first, then for
// eighths of it. A refusal is no failure: the bytes may fit all the same, and
// if not, the append says so.
func (w *Writer) reserve(need int64) {
	if w.step <= 0 || need <= w.reserved {
		return
	}
	w.reserved = max(w.step, nextSector(need+w.step/8))
	_ = w.f.Allocate(w.reserved)
}

// fail records the log's first failure. w.mu is held.
func (w *Writer) fail(what string, err error) error {
	if w.err == nil {
		w.err = fmt.Errorf("sift: %s log %s failed, it takes no more writes: %w", what, w.name(), err)
		w.group.wakeAll()
	}
	return w.err
}

// failSync records that a sync failed. w.mu is held.
func (w *Writer) failSync(err error) {
	_ = w.fail("sync of", err)
	w.syncErr = fmt.Errorf("sift: sync of log %s failed: %w", w.name(), err)
}

// syncable returns why nothing can be made durable any more, or nil. w.mu is held.
func (w *Writer) syncable() error {
	if w.syncErr == nil && w.closed {
		return fmt.Errorf("sift: log %s: %w", w.name(), key.ErrClosed)
	}
	return w.syncErr
}

// usable returns why nothing may be written, or nil. w.mu is held.
func (w *Writer) usable() error {
	if w.err == nil && w.closed {
		return fmt.Errorf("sift: log %s: %w", w.name(), key.ErrClosed)
	}
	return w.err
}

// Err returns the failure that stopped the log, or nil.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Size returns the offset at which the last record ends, in bytes.
func (w *Writer) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.end
}

func (w *Writer) name() string { return filepath.Base(w.path) }

// Num returns the log's number.
func (w *Writer) Num() uint64 { return w.num }

// Trim gives reserved space back to the file system. Call it before Close if
// the file will not be reused. It cuts at a sector start: the sector in which the
// last record ends may be durable, and cutting within it would write it again.
func (w *Writer) Trim() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return err
	}
	w.step = 0
	if err := w.f.Truncate(nextSector(w.end)); err != nil {
		return w.fail("trim of", err)
	}
	return nil
}

// Close makes the log durable and seals it, so that a reader will take any
// damage for what it is. The handle is gone even after an error.
func (w *Writer) Close() error {
	err := w.SyncAll()
	if err == nil {
		err = w.seal()
	}
	if closeErr := w.Abandon(); err == nil {
		err = closeErr
	}
	return err
}

// seal appends the seal, whose mark is the end of all that it follows, and
// syncs it.
func (w *Writer) seal() error {
	w.mu.Lock()
	err := w.usable()
	if err == nil {
		err = w.append(typeSeal, nil)
	}
	w.mu.Unlock()
	if err != nil {
		return err
	}
	return w.SyncAll()
}

// Abandon closes the handle and leaves the log as after a crash. Callers who wait
// for a sync that has not started get ErrClosed.
func (w *Writer) Abandon() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return fmt.Errorf("sift: log %s: %w", w.name(), key.ErrClosed)
	}
	w.closed = true
	w.buf = nil
	w.group.wakeAll()
	for w.group.running {
		w.group.wait(w.group.fence)
	}
	if err := w.f.Close(); err != nil {
		return w.fail("close of", err)
	}
	return nil
}
