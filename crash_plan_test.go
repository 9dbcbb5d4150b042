package sift_test

import (
	"fmt"
	"math"
	"sync/atomic"
	"syscall"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// A crashPlan says at which call of one generation the crash happens and which
// sync, if any, fails before it.
type crashPlan struct {
	run     *crashRun
	disk    *vfs.Mem
	fs      vfs.FS
	kill    bool // the process ends; else the power is cut
	keep    int  // percentage of unsynced sectors and names that a cut keeps
	seed    uint64
	crashAt int64 // number of the changing call before which it happens; 0: at the end
	failAt  int64 // number of the sync that fails; 0: none
	done    bool  // the failing sync has done its work all the same
	always  bool  // and so do all later ones fail
	forget  bool  // later ones of the same file do nothing and report success

	writes, syncs atomic.Int64
	faulted       atomic.Bool
	bad           atomic.Value // name of the file whose sync failed
}

func (c *crashRun) plan(disk *vfs.Mem) *crashPlan {
	p := &crashPlan{run: c, disk: disk, seed: c.rnd.Uint64()}
	p.kill = c.rnd.IntN(4) == 0
	p.keep = pick(c.rnd, 0, 0, 50, 100, c.rnd.IntN(101))
	switch c.rnd.IntN(8) {
	case 0:
	case 1, 2, 3:
		p.crashAt = 1 + c.rnd.Int64N(30)
	default:
		p.crashAt = int64(math.Exp(c.rnd.Float64() * math.Log(600)))
	}
	if c.rnd.IntN(6) == 0 {
		p.failAt = 1 + c.rnd.Int64N(25)
		switch c.rnd.IntN(4) {
		case 0:
			p.done = true
		case 1:
			p.always = true
		case 2:
			p.forget = true
		}
	}
	p.fs = vfs.NewFault(disk, p.hook)
	return p
}

var errInjected = fmt.Errorf("injected: %w", syscall.EIO)

// hook crashes before the chosen call, fails the chosen sync, and leaves out the
// syncs that a mutant lacks.
func (p *crashPlan) hook(op vfs.Op) error {
	if changing(op) && p.writes.Add(1) == p.crashAt {
		p.crash()
	}
	if changing(op) {
		p.run.trace("call %d: %v %s %s at %d, %d bytes %s", p.writes.Load(), op.Kind, op.Name, op.Old, op.Off, op.Len, op.Site)
	}
	if op.Kind == vfs.OpCreate {
		p.bad.CompareAndSwap(op.Name, "") // its pages are new ones
	}
	if op.Kind != vfs.OpSync && op.Kind != vfs.OpSyncDir {
		return nil
	}
	if leaveOut := p.run.leaveOut; leaveOut != nil && leaveOut(op) {
		return vfs.Skip
	}
	if p.forget && op.Kind == vfs.OpSync && p.bad.Load() == op.Name {
		return vfs.Skip
	}
	n := p.syncs.Add(1)
	if n != p.failAt && (p.failAt == 0 || n < p.failAt || !p.always) {
		return nil
	}
	p.run.trace("THIS SYNC FAILS: done %v, always %v, forgotten %v", p.done, p.always, p.forget)
	p.bad.CompareAndSwap(nil, op.Name)
	p.faulted.Store(true)
	if p.done {
		return vfs.Done(errInjected)
	}
	return errInjected
}

// crash takes the image, once. What is known to be there is read before and what
// may be there after, since the engine goes on meanwhile.
func (p *crashPlan) crash() {
	c := p.run
	c.once.Do(func() {
		image := &crashImage{cut: !p.kill, kept: c.kept.Load(), durable: c.durable.Load()}
		if p.kill {
			image.disk = p.disk.Kill()
		} else {
			image.disk = p.disk.Crash(p.keep, p.seed)
			image.kept = image.durable
		}
		image.begun = c.begun.Load()
		c.trace("CRASH: kill %v, %d %% kept; commit %d to %d", p.kill, p.keep, image.kept, image.begun)
		c.image.Store(image)
	})
}

// count adds what the generation has done.
func (p *crashPlan) count(done *tally) {
	done.add(pick2(p.kill, "kills", "power cuts"), 1)
	done.add("calls that change the disk", p.writes.Load())
	done.add("generations with a failed sync", pick2[int64](p.faulted.Load(), 1, 0))
}

// changing are the calls that write to a disk.
func changing(op vfs.Op) bool {
	switch op.Kind {
	case vfs.OpCreate, vfs.OpReuse, vfs.OpRename, vfs.OpRemove, vfs.OpLink, vfs.OpMkdirAll, vfs.OpSyncDir,
		vfs.OpAppend, vfs.OpSkip, vfs.OpSync, vfs.OpAllocate, vfs.OpTruncate:
		return true
	}
	return false
}

// options are drawn anew for each generation, from those that make a short life
// eventful.
func (c *crashRun) options(fs vfs.FS) *sift.Options {
	return &sift.Options{
		FS:           fs,
		MemTableSize: pick[int64](c.rnd, 2<<10, 8<<10, 32<<10),
		MaxMemTables: pick(c.rnd, 1, 2, 4),
		BlockSize:    pick(c.rnd, 64, 512, 4<<10),
		TableSize:    pick[int64](c.rnd, 1<<10, 8<<10),
		ManifestSize: pick[int64](c.rnd, 1<<10, 4<<10, 1<<20),
		CacheSize:    pick[int64](c.rnd, 1, 64<<10),
		Workers:      pick(c.rnd, 1, 2),
		Compression:  pick(c.rnd, sift.Snappy, sift.NoCompression),
		Compaction: sift.CompactionOptions{
			Disable: c.rnd.IntN(6) == 0, L0Compact: pick(c.rnd, 1, 2, 4), L0Slow: 8, L0Stop: 12,
			BaseLevelSize: 4 << 10, Multiplier: pick(c.rnd, 2, 10),
		},
	}
}
