package sift_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// TestReadFaults fails the N-th read, and the N-th opening, of a table under an
// iterator and under a compaction, for every N, in databases drawn by the seed.
//
//	go test -run 'TestReadFaults$' -crash.seed=17 .
//	go test -run 'TestReadFaults$' -crash.count=500 -long.ledger=ledger/long.jsonl .
func TestReadFaults(t *testing.T) {
	runCounted(t, "readfault", 1, func(seed uint64, done *tally) error {
		rnd := rand.New(rand.NewPCG(seed, 8))
		disk, m, err := drawnTables(rnd)
		if err != nil {
			return err
		}
		for _, kind := range []vfs.OpKind{vfs.OpRead, vfs.OpOpen} {
			for _, back := range []bool{false, true} {
				if err := failEachUnderIterator(disk, m, kind, back, done); err != nil {
					return err
				}
			}
			if err := failEachUnderCompaction(disk, m, kind, done); err != nil {
				return err
			}
		}
		return nil
	})
}

// drawnTables makes a closed database of some overlapping tables.
func drawnTables(rnd *rand.Rand) (*vfs.Mem, *model, error) {
	disk, m := vfs.NewMem(), newModel()
	o := manual()
	o.FS = disk
	db, err := sift.Open("db", &o)
	if err != nil {
		return nil, nil, err
	}
	size := pick(rnd, 10, 60, 300)
	for range 2 + rnd.IntN(6) {
		for range 4 + rnd.IntN(12) {
			w := put(fmt.Sprintf("%03d", rnd.IntN(60)), strings.Repeat(fmt.Sprint(m.last%10), size))
			w.delete = rnd.IntN(4) == 0
			m.apply(w)
			if err := applyOps(db, sift.NoSync, []op{w}); err != nil {
				return nil, nil, err
			}
		}
		if err := db.Flush(); err != nil {
			return nil, nil, err
		}
	}
	return disk, m, db.Close()
}

// failEachUnderIterator wants the exact sequence, or a part of it and the error.
func failEachUnderIterator(disk *vfs.Mem, m *model, kind vfs.OpKind, back bool, done *tally) error {
	f := &tableFault{kind: kind, err: syscall.EIO}
	want := m.head()
	if back {
		slices.Reverse(want)
	}
	for n, hit := int64(1), true; hit; n++ {
		db, err := sift.Open("db", readingOptions(disk, f))
		if err != nil {
			return err
		}
		f.arm(n)
		got, err := walkOnce(db, back)
		hit = f.hits.Load() > 0
		done.add("faults under an iterator", f.hits.Load())
		f.arm(0)
		if err := errors.Join(prefixOrError(want, got, err, hit), db.Close()); err != nil {
			return fmt.Errorf("%v %d fails, backward %v: %w", kind, n, back, err)
		}
	}
	return nil
}

// failEachUnderCompaction wants all keys, before and after reopening.
func failEachUnderCompaction(disk *vfs.Mem, m *model, kind vfs.OpKind, done *tally) error {
	for n, hit := int64(1), true; hit; n++ {
		f := &tableFault{kind: kind, err: pick2[error](kind == vfs.OpOpen, syscall.EMFILE, syscall.EIO), run: 2}
		copied := disk.Kill()
		db, err := sift.Open("db", readingOptions(copied, f))
		if err != nil {
			return err
		}
		f.arm(n)
		compacted := db.Compact(nil, nil)
		hit = f.hits.Load() > 0
		done.add("faults under a compaction", f.hits.Load())
		f.arm(0)
		if compacted != nil && !hit {
			return compacted
		}
		err = m.head().check(db, rand.New(rand.NewPCG(2, 2)))
		_ = db.Close() // it may report the failed job
		o := manual()
		o.FS = copied
		if err == nil {
			db, err = sift.Open("db", &o)
		}
		if err == nil {
			err = errors.Join(m.head().check(db, rand.New(rand.NewPCG(2, 3))), db.Compact(nil, nil))
			err = errors.Join(err, m.head().check(db, rand.New(rand.NewPCG(2, 4))), db.Close())
		}
		if err != nil {
			return fmt.Errorf("%v %d fails (Compact: %w): %w", kind, n, compacted, err)
		}
	}
	return nil
}
