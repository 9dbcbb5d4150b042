package sift_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// TestCrashGroup is TestCrash for several writers at once, whose order nobody
// knows. Each writer numbers its commits, and each commit also holds how many of
// every writer's were acknowledged when it began. What a crash leaves must be
// closed under that: if a commit is there, so is all that was acknowledged before
// it, which is what "a prefix of commit order" means for an onlooker.
//
//	go test -run 'TestCrashGroup$' -crash.seed=17 .
//	go test -run 'TestCrashGroup$' -crash.count=5000 -long.ledger=ledger/long.jsonl .
func TestCrashGroup(t *testing.T) {
	runCounted(t, "crashgroup", 25, func(seed uint64, done *tally) error {
		r := &groupRun{done: done, rnd: rand.New(rand.NewPCG(seed, 5)), disk: vfs.NewMem()}
		for gen := range 3 {
			if err := r.generation(); err != nil {
				return fmt.Errorf("generation %d: %w", gen, err)
			}
		}
		return nil
	})
}

const groupWriters = 4

// A groupRun is one life with several writers.
type groupRun struct {
	done  *tally
	rnd   *rand.Rand
	disk  *vfs.Mem
	least [groupWriters]int64 // of each writer's commits, how many must be there
	most  [groupWriters]int64 // and may

	acked, durable, begun [groupWriters]atomic.Int64
	crashed               atomic.Bool
}

func (r *groupRun) generation() error {
	image, once, calls := (*vfs.Mem)(nil), sync.Once{}, atomic.Int64{}
	at, keep, seed := 1+r.rnd.Int64N(400), pick(r.rnd, 0, 0, 50, 100), r.rnd.Uint64()
	kill := r.rnd.IntN(4) == 0
	r.crashed.Store(false)
	var least, most [groupWriters]int64
	crash := func() {
		for w := range least {
			least[w] = pick2(kill, &r.acked[w], &r.durable[w]).Load()
		}
		if kill {
			image = r.disk.Kill()
		} else {
			image = r.disk.Crash(keep, seed)
		}
		for w := range most {
			most[w] = r.begun[w].Load()
		}
		r.crashed.Store(true)
	}
	fs := vfs.NewFault(r.disk, func(op vfs.Op) error {
		if changing(op) && calls.Add(1) == at {
			once.Do(crash)
		}
		return nil
	})
	o := small()
	o.FS, o.MemTableSize, o.ManifestSize = fs, pick[int64](r.rnd, 2<<10, 16<<10), 1<<10
	if err := r.live(&o, kill); err != nil {
		return err
	}
	once.Do(crash)
	r.done.add(pick2(kill, "kills", "power cuts"), 1)
	r.done.add("calls that change the disk", calls.Load())
	r.disk, r.least, r.most = image, least, most
	return r.check()
}

// live opens the disk and lets the writers work until the crash.
func (r *groupRun) live(o *sift.Options, kill bool) error {
	db, err := sift.Open("db", o)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make([]error, groupWriters)
	for w := range groupWriters {
		rnd := rand.New(rand.NewPCG(r.rnd.Uint64(), 0))
		wg.Go(func() { errs[w] = r.writer(db, w, rnd) })
	}
	wg.Wait()
	return errors.Join(errors.Join(errs...), db.Close())
}

func (r *groupRun) writer(db *sift.DB, w int, rnd *rand.Rand) error {
	for range 100 {
		if r.crashed.Load() {
			return nil
		}
		if rnd.IntN(40) == 0 {
			if err := db.Flush(); err != nil {
				return err
			}
		}
		var seen [groupWriters]int64
		for v := range seen {
			seen[v] = r.acked[v].Load()
		}
		n := r.begun[w].Add(1)
		r.done.add("operations", 1)
		mark := fmt.Sprint(n, seen)
		how := pick(rnd, sift.Sync, sift.NoSync, sift.NoSync)
		if err := applyOps(db, how, []op{
			put(fmt.Sprintf("a%d", w), mark), put(fmt.Sprintf("b%d", w), mark),
			put(fmt.Sprintf("pad%d/%d", w, n%10), crashValue(rnd, int(n), w)),
		}); err != nil {
			return err
		}
		r.acked[w].Store(n)
		if how == sift.Sync {
			r.durable[w].Store(n)
		}
	}
	return nil
}

// check opens what the crash left and goes on from there.
func (r *groupRun) check() error {
	o := small()
	o.FS = r.disk
	db, err := sift.Open("db", &o)
	if err != nil {
		return err
	}
	r.done.add("reopenings", 1)
	// Of each writer: what its last commit saw of the others, and its number.
	var found [groupWriters][groupWriters + 1]int64
	for w := range groupWriters {
		a, errA := db.Get(fmt.Appendf(nil, "a%d", w))
		b, errB := db.Get(fmt.Appendf(nil, "b%d", w))
		if string(a) != string(b) || !errors.Is(errA, errB) && errA != errB {
			err = errors.Join(err, fmt.Errorf("writer %d: half a commit: %q (%v) and %q (%v)", w, a, errA, b, errB))
		}
		f := &found[w]
		if errA == nil {
			_, scanErr := fmt.Sscanf(string(a), "%d [%d %d %d %d]", &f[groupWriters], &f[0], &f[1], &f[2], &f[3])
			err = errors.Join(err, scanErr)
		}
		n := f[groupWriters]
		if n < r.least[w] || n > r.most[w] {
			err = errors.Join(err, fmt.Errorf("writer %d: commit %d, want %d to %d", w, n, r.least[w], r.most[w]))
		}
		r.begun[w].Store(n)
		r.acked[w].Store(n)
	}
	for w := range groupWriters {
		for v := range groupWriters {
			if need, have := found[w][v], found[v][groupWriters]; have < need {
				err = errors.Join(err, fmt.Errorf("commit %d of writer %d is there, but of writer %d only %d of the %d acknowledged before it",
					found[w][groupWriters], w, v, have, need))
			}
		}
	}
	err = errors.Join(err, db.Close())
	for w := range groupWriters {
		r.durable[w].Store(r.acked[w].Load()) // Close made it so
	}
	return err
}
