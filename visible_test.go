package sift_test

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// A witness collects what a database tells of its background work.
type witness struct {
	mu     sync.Mutex
	failed []error
	torn   int64
	lines  bytes.Buffer
}

// Write takes the lines of a log.
func (w *witness) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lines.Write(p)
}

func (w *witness) listen(o *sift.Options) {
	o.Logger = slog.New(slog.NewTextHandler(w, nil))
	o.Events = &sift.Events{
		Failed: func(_ string, err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.failed = append(w.failed, err)
		},
		TornLog: func(n int64) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.torn += n
		},
	}
}

// After a failed sync of the log every write is refused, with what failed; reads
// go on, and metrics, events and the logger's lines say why.
func TestFailedSyncIsVisible(t *testing.T) {
	armed := atomic.Bool{}
	o := small()
	o.FS = vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
		if armed.Load() && onLog(vfs.OpSync)(op) {
			return syscall.EIO
		}
		return nil
	})
	var w witness
	w.listen(&o)
	db, err := sift.Open("db", &o)
	must(t, err, db.Put([]byte("before"), []byte("1"), nil))
	armed.Store(true)
	err = db.Put([]byte("k"), []byte("1"), sift.Sync)
	wantError(t, "the write whose sync fails", err, syscall.EIO)
	wantError(t, "the write whose sync fails", err, sift.ErrBackground)
	for _, how := range []*sift.WriteOptions{sift.Sync, sift.NoSync} {
		err := db.Put([]byte("later"), nil, how)
		wantError(t, "a later write", err, sift.ErrBackground)
		wantError(t, "a later write", err, syscall.EIO)
	}
	wantError(t, "SyncWAL", db.SyncWAL(), syscall.EIO)
	if v, err := db.Get([]byte("before")); err != nil || string(v) != "1" {
		t.Errorf("reading after a failed sync: %q, %v", v, err)
	}
	wantError(t, "Metrics.BackgroundError", db.Metrics().BackgroundError, syscall.EIO)
	if db.Close() == nil {
		t.Error("Close says nothing of the failed sync")
	}
	if len(w.failed) == 0 || w.lines.Len() == 0 {
		t.Errorf("%d events and %d bytes of log lines", len(w.failed), w.lines.Len())
	}
}

// A flush that fails shows in metrics and events, is tried again, and is forgotten
// once it has worked.
func TestFailedFlushIsVisible(t *testing.T) {
	defer watchdog(time60, t.Name)()
	synctest.Test(t, func(t *testing.T) {
		failing := atomic.Bool{}
		o := small()
		o.FS = vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
			if failing.Load() && op.Kind == vfs.OpCreate && vfs.FileType(op.Name) == "sst" {
				return syscall.ENOSPC
			}
			return nil
		})
		var w witness
		w.listen(&o)
		m, db := newModel(), open(t, "db", &o)
		failing.Store(true)
		for i := 0; i < 100 && db.Metrics().BackgroundError == nil; i++ {
			write(t, db, m, put(strings.Repeat("k", 1+i%9), strings.Repeat("v", 200)))
			<-time.After(time.Millisecond)
		}
		wantError(t, "Metrics.BackgroundError", db.Metrics().BackgroundError, syscall.ENOSPC)
		must(t, m.head().check(db, rand.New(rand.NewPCG(7, 0))))
		failing.Store(false)
		<-time.After(time.Minute)
		must(t, db.Metrics().BackgroundError, db.Put([]byte("k"), nil, nil), db.Flush())
		if db.Metrics().Writes.Flushes == 0 {
			t.Error("nothing was flushed after the disk had space")
		}
		if len(w.failed) == 0 || len(w.failed) > 100 || w.lines.Len() == 0 {
			t.Errorf("%d events and %d bytes of log lines", len(w.failed), w.lines.Len())
		}
	})
}

// What Open cuts off a torn log is told with its size.
func TestTornLogIsVisible(t *testing.T) {
	o := small()
	all := killed(t, o, func(db *sift.DB) {
		must(t, db.Put([]byte("k"), []byte("1"), nil), db.Put([]byte("torn"), make([]byte, 3000), sift.NoSync))
	})
	log := newestLog(all)
	at := strings.Index(all[log], "torn")
	all[log] = all[log][:at+1000] + string(make([]byte, len(all[log])-at-1000))
	all[log] = flipped(all[log], at+100, 1)
	o.FS = image(t, "db", all)
	var w witness
	w.listen(&o)
	db := open(t, "db", &o)
	if _, err := db.Get([]byte("torn")); err == nil {
		t.Error("the torn value is served")
	}
	if w.torn < 1000 || w.lines.Len() == 0 {
		t.Errorf("told of %d torn bytes, in %d bytes of log lines; about 3,000 are gone", w.torn, w.lines.Len())
	}
}
