package sift_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// A sweep cuts the power before every changing call of a piece of work.
type sweep struct {
	mu     sync.Mutex
	disk   *vfs.Mem
	keep   []int // per cent of what was not synced that each image keeps
	every  int   // take images at every n-th call only
	calls  int
	images []*vfs.Mem
	acked  []int // for each image, what ack held
	ack    func() int
}

// hook takes the images. ack is asked before them.
func (s *sweep) hook(op vfs.Op) error {
	if !changing(op) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.every > 1 && s.calls%s.every != 0 {
		return nil
	}
	acked := 0
	if s.ack != nil {
		acked = s.ack()
	}
	for _, keep := range s.keep {
		s.images = append(s.images, s.disk.Crash(keep, uint64(s.calls)))
		s.acked = append(s.acked, acked)
	}
	return nil
}

// run opens the disk under the sweep, works, and closes.
func (s *sweep) run(t *testing.T, o sift.Options, work func(db *sift.DB) error) {
	t.Helper()
	o.FS = vfs.NewFault(s.disk, s.hook)
	db, err := sift.Open("db", &o)
	must(t, err)
	if work != nil {
		must(t, work(db))
	}
	must(t, db.Close())
}

// checkImage opens an image, compares it with the view, and uses it.
func checkImage(disk *vfs.Mem, o sift.Options, v view) error {
	o.FS = disk
	db, err := sift.Open("db", &o)
	if err != nil {
		return err
	}
	defer db.Close() // a second Close does no harm
	if err := v.check(db, rand.New(rand.NewPCG(1, 0))); err != nil {
		return err
	}
	if err := db.Put([]byte("used"), []byte("again"), nil); err != nil {
		return err
	}
	return db.Close()
}

// crashedDisk is a disk with n synced keys whose process was killed, with the
// log torn behind them.
func crashedDisk(t *testing.T, o sift.Options, n, size int) (*vfs.Mem, view) {
	t.Helper()
	disk := vfs.NewMem()
	o.FS = disk
	m, db := newModel(), open(t, "db", &o)
	for i := range n {
		write(t, db, m, put(fmt.Sprintf("key%04d", i), strings.Repeat(fmt.Sprint(i%10), size)))
	}
	must(t, db.SyncWAL())
	must(t, db.Put([]byte("key0000"), []byte("torn"), sift.NoSync))
	image := disk.Crash(0, 1)
	must(t, db.Close())
	return image, m.head()
}

// The first Open can be interrupted anywhere and done again.
func TestP061_CreationInterrupted(t *testing.T) {
	s := &sweep{disk: vfs.NewMem(), keep: []int{0, 50, 100}}
	s.run(t, small(), nil)
	for i, disk := range s.images {
		if err := checkImage(disk, small(), nil); err != nil {
			t.Errorf("image %d (%d %% kept): %v", i, s.keep[i%len(s.keep)], err)
		}
	}
}

// Manifest rotations leave CURRENT naming a whole manifest at every moment.
func TestP046_P049_P050_ManifestRotations(t *testing.T) {
	o := small()
	o.ManifestSize = 1 << 10
	var mu sync.Mutex
	acked := 0
	s := &sweep{disk: vfs.NewMem(), keep: []int{0, 50, 100}, ack: func() int {
		mu.Lock()
		defer mu.Unlock()
		return acked
	}}
	flushes := 15
	if *longForm {
		flushes = 100
	}
	s.run(t, o, func(db *sift.DB) error {
		for i := range flushes {
			if err := db.Put(fmt.Appendf(nil, "%03d", i), []byte("v"), nil); err != nil {
				return err
			}
			mu.Lock()
			acked = i + 1
			mu.Unlock()
			if err := db.Flush(); err != nil {
				return err
			}
		}
		return nil
	})
	for i, disk := range s.images {
		if err := checkPrefix(disk, o, s.acked[i]); err != nil {
			t.Fatalf("image %d of %d (%d %% kept): %v", i, len(s.images), s.keep[i%len(s.keep)], err)
		}
	}
}

// checkPrefix wants the keys 000, 001... to be there, at least n of them, and no
// more than one besides.
func checkPrefix(disk *vfs.Mem, o sift.Options, n int) error {
	o.FS = disk
	db, err := sift.Open("db", &o)
	if err != nil {
		return err
	}
	defer db.Close() // a second Close does no harm
	v, err := scan(db, nil, nil)
	if err != nil {
		return err
	}
	if len(v) != n && len(v) != n+1 {
		return fmt.Errorf("%d keys, want %d or one more", len(v), n)
	}
	for i, p := range v {
		if want := fmt.Sprintf("%03d", i); p.key != want {
			return fmt.Errorf("key %d is %s, want %s", i, p.key, want)
		}
	}
	return db.Close()
}

// A log whose end is garbage, and a power cut anywhere in the Open that meets
// it: the next one opens all the same.
func TestP023_GarbageThenCrashInOpen(t *testing.T) {
	base, v := crashedDisk(t, small(), 1, 3)
	all := mustFiles(t, base, "db")
	log := newestLog(all)
	all[log] += "\xde\xad\xbe\xef"
	s := &sweep{disk: image(t, "db", all), keep: []int{0, 50, 100}}
	s.run(t, small(), nil)
	for i, disk := range s.images {
		if err := checkImage(disk, small(), v); err != nil {
			t.Errorf("image %d: %v", i, err)
		}
	}
}

// A replay that fills many memtables, interrupted anywhere.
func TestP032_ReplayFlushesInterrupted(t *testing.T) {
	o := small()
	o.MemTableSize = 1 << 20
	base, v := crashedDisk(t, o, 40, 10_000)
	o.MemTableSize = 16 << 10
	s := &sweep{disk: base, keep: []int{0, 50}, every: pick2(*longForm, 1, 3)}
	s.run(t, o, nil)
	if len(s.images) < 20 {
		t.Errorf("only %d images: the replay did not write much", len(s.images))
	}
	for i, disk := range s.images {
		if err := checkImage(disk, o, v); err != nil {
			t.Fatalf("image %d of %d: %v", i, len(s.images), err)
		}
	}
}

// A crash in the recovery, and another in the recovery from that.
func TestP037_CrashInRecoveryTwice(t *testing.T) {
	base, v := crashedDisk(t, small(), 200, 100)
	first := &sweep{disk: base, keep: []int{0, 50}}
	first.run(t, small(), nil)
	for i, disk := range first.images {
		second := &sweep{disk: disk, keep: []int{0, 50}, every: pick2(*longForm, 1, 7)}
		second.run(t, small(), nil)
		for j, disk := range second.images {
			if err := checkImage(disk, small(), v); err != nil {
				t.Fatalf("image %d, then image %d: %v", i, j, err)
			}
		}
	}
}
