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

// TestCrashTwice crashes at changing call k of a life, and then at every changing
// call of the recovery from that: what the second recovery finds is what the
// first one could have found.
//
// A case is a life and a k: case n is call n%256 of life n/256.
//
//	go test -run 'TestCrashTwice$' -crash.seed=300 .
//	go test -run 'TestCrashTwice$' -crash.count=1024 -long.ledger=ledger/long.jsonl .
func TestCrashTwice(t *testing.T) {
	runCounted(t, "crashtwice", 2, func(n uint64, done *tally) error {
		if *crashCount == 0 && *crashSeed == 0 {
			n *= 41 // the short form takes calls from all over some lives
		}
		r := &twiceRun{model: newModel(), rnd: rand.New(rand.NewPCG(n/256, 7)), done: done}
		images, err := r.firstCrash(int64(n % 256))
		if err != nil {
			return err
		}
		for i, image := range images {
			if err := r.secondCrashes(image); err != nil {
				return fmt.Errorf("image %d: %w", i, err)
			}
		}
		return nil
	})
}

// A twiceRun is the life before the first crash.
type twiceRun struct {
	model *model
	rnd   *rand.Rand
	done  *tally

	kept, durable, begun atomic.Int64
}

func (r *twiceRun) options(fs vfs.FS) *sift.Options {
	o := small()
	o.FS, o.MemTableSize, o.ManifestSize = fs, 2<<10, 1<<10
	return &o
}

// firstCrash lives and returns what a crash at call k leaves, in four ways. A life
// that is over before has none.
func (r *twiceRun) firstCrash(k int64) (images []crashImage, err error) {
	disk, calls := vfs.NewMem(), atomic.Int64{}
	fs := vfs.NewFault(disk, func(op vfs.Op) error {
		if !changing(op) || calls.Add(1) != k {
			return nil
		}
		kept, durable := r.kept.Load(), r.durable.Load()
		for _, keep := range []int{0, 50, 100} {
			images = append(images, crashImage{disk: disk.Crash(keep, uint64(k)), cut: true, kept: durable, durable: durable})
		}
		images = append(images, crashImage{disk: disk.Kill(), kept: kept, durable: durable})
		for i := range images {
			images[i].begun = r.begun.Load()
		}
		return nil
	})
	db, err := sift.Open(crashDir, r.options(fs))
	if err != nil {
		return nil, err
	}
	for i := range 40 {
		if err := r.write(db); err != nil {
			return nil, err
		}
		if i%15 == 14 {
			err = errors.Join(err, db.Compact(nil, nil))
		}
	}
	err = errors.Join(err, db.Close())
	r.done.add("first crashes", int64(len(images)))
	return images, err
}

func (r *twiceRun) write(db *sift.DB) error {
	n := r.model.last + 1
	ops := []op{
		put("seq", fmt.Sprintf("%d.0", n)),
		put(fmt.Sprintf("key%02d", r.rnd.IntN(20)), crashValue(r.rnd, n, 0)),
		del(fmt.Sprintf("key%02d", r.rnd.IntN(20))),
	}
	r.model.apply(ops...)
	r.begun.Store(int64(n))
	how := pick(r.rnd, sift.Sync, sift.NoSync)
	if err := applyOps(db, how, ops); err != nil {
		return err
	}
	r.kept.Store(int64(n))
	if how == sift.Sync {
		r.durable.Store(int64(n))
	}
	return nil
}

// secondCrashes recovers from an image, and from a crash at every call of that
// recovery and of the Close after it.
func (r *twiceRun) secondCrashes(image crashImage) error {
	var mu sync.Mutex // the engine's goroutines call too
	var seconds []crashImage
	calls := uint64(0)
	fs := vfs.NewFault(image.disk, func(op vfs.Op) error {
		if !changing(op) {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		calls++
		for _, keep := range []int{0, 50} {
			seconds = append(seconds, crashImage{disk: image.disk.Crash(keep, calls), kept: image.durable, begun: image.begun})
		}
		seconds = append(seconds, crashImage{disk: image.disk.Kill(), kept: image.kept, begun: image.begun})
		return nil
	})
	db, err := sift.Open(crashDir, r.options(fs))
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	for j, second := range seconds {
		if err := r.check(second); err != nil {
			return fmt.Errorf("then image %d: %w", j, err)
		}
	}
	r.done.add("crashes in the recovery", int64(len(seconds)))
	return nil
}

// check opens an image and compares it with the commits that it may hold.
func (r *twiceRun) check(image crashImage) error {
	db, err := sift.Open(crashDir, r.options(image.disk))
	if err != nil {
		return err
	}
	r.done.add("reopenings", 1)
	n, err := lastCommit(db)
	switch {
	case err == nil && (n < image.kept || n > image.begun):
		err = fmt.Errorf("recovered commit %d, want %d to %d", n, image.kept, image.begun)
	case err == nil:
		err = r.model.at(int(n)).check(db, rand.New(rand.NewPCG(uint64(n), 0)))
	}
	return errors.Join(err, db.Close())
}
