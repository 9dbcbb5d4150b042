package wal

import (
	"math"
	"path/filepath"
	"sync"
)

// group is the group commit: callers that want the log durable share syncs.
//
// At most one sync runs at a time. It covers all that was appended before it
// started, so a caller is served by the sync that is running, if that started
// late enough, or else by the next one, never by a later one: the next sync
// starts after the caller's append. Callers of the two wait apart, so that the
// end of a sync wakes those it served and one more, who leads the next.
//
// All fields are guarded by the Writer's mu.
type group struct {
	durable int64         // all before this offset is durable
	fence   int64         // the end of the log when the last sync started
	started uint64        // syncs started so far
	running bool          // the last of them has not ended
	waiting [2]*sync.Cond // callers served by sync n wait at n % 2
	named   bool          // the log's name is durable
	after   *Writer       // the log before it, nil once that is durable

	superseded bool // what the log holds is durable elsewhere
}

func (g *group) init(mu *sync.Mutex) {
	g.waiting[0], g.waiting[1] = sync.NewCond(mu), sync.NewCond(mu)
}

// wait waits for the end of the sync that serves upTo, or, if that is the next
// one, until it may be time to lead it. A sync is running.
func (g *group) wait(upTo int64) {
	n := g.started
	if upTo > g.fence {
		n++
	}
	g.waiting[n%2].Wait()
}

// wakeAll makes every waiting caller look at the state again.
func (g *group) wakeAll() {
	g.waiting[0].Broadcast()
	g.waiting[1].Broadcast()
}

// Sync returns once the bytes [0, upTo) survive a power cut; upTo is what
// Append returned. Concurrent callers share one sync of the file; the first one
// syncs the directory too. After a failed append it still serves what was appended
// before; once a sync has failed it returns that failure, since what it left behind
// cannot be known.
func (w *Writer) Sync(upTo int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sync(upTo)
}

// SyncAll makes durable all that was appended before the call.
func (w *Writer) SyncAll() error { return w.Sync(math.MaxInt64) }

// Synced returns the offset below which all is durable, in bytes.
func (w *Writer) Synced() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.group.durable
}

// Supersede says that all the log holds is durable elsewhere, in tables that the
// manifest names, and that no recovery will look for the log. From then on a
// sync of it, or of a log that follows it, has nothing to do here.
func (w *Writer) Supersede() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.group.superseded = true
	w.group.wakeAll()
}

// sync makes [0, upTo) durable. Of a log that failed it asks no more than that:
// what was durable before stays so. w.mu is held, but not while waiting.
func (w *Writer) sync(upTo int64) error {
	g := &w.group
	upTo = min(upTo, w.end)
	for g.durable < upTo && !g.superseded {
		if g.running && upTo <= g.fence {
			g.wait(upTo)
			continue
		}
		if err := w.syncable(); err != nil {
			return err
		}
		if g.running {
			g.wait(upTo)
		} else {
			w.lead()
		}
	}
	return nil
}

// lead runs one sync for everybody. w.mu is held, but not during the sync.
func (w *Writer) lead() {
	g := &w.group
	// When syncs follow each other without a pause, all records of this one
	// were written while the last one ran, and no header mentions it yet.
	if g.durable > w.mark && w.err == nil && w.append(typeMark, nil) != nil {
		return
	}
	g.fence = w.end
	g.started++
	g.running = true
	named, after := g.named, g.after
	w.mu.Unlock()
	err := w.syncFile(named, after)
	w.mu.Lock()
	g.running = false
	if err != nil {
		w.failSync(err)
	} else {
		g.durable = g.fence
		g.named, g.after = true, nil
	}
	g.waiting[g.started%2].Broadcast()
	g.waiting[(g.started+1)%2].Signal()
}

// syncFile makes the file durable. Before the first mark can say so, the log
// that w follows and the name of w are made durable: a mark is proof of both.
func (w *Writer) syncFile(named bool, after *Writer) error {
	if after != nil {
		if err := after.settle(); err != nil {
			return err
		}
	}
	if !named {
		if err := w.fs.SyncDir(filepath.Dir(w.path)); err != nil {
			return err
		}
	}
	return w.f.Sync()
}

// settle makes durable all that was acknowledged on w. It is content with a log
// that failed after its last good record was durable.
func (w *Writer) settle() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sync(math.MaxInt64)
}
