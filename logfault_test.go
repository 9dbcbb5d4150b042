package sift_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// failNth returns a file system on which the n-th call that wanted accepts is
// answered by answer, and whether that has happened.
func failNth(disk vfs.FS, n int64, wanted func(vfs.Op) bool, answer error) (vfs.FS, *atomic.Bool) {
	calls, hit := atomic.Int64{}, &atomic.Bool{}
	return vfs.NewFault(disk, func(op vfs.Op) error {
		if !wanted(op) || calls.Add(1) != n {
			return nil
		}
		hit.Store(true)
		return answer
	}), hit
}

// onLog accepts calls of a kind on logs.
func onLog(kind vfs.OpKind) func(vfs.Op) bool {
	return func(op vfs.Op) bool { return op.Kind == kind && vfs.FileType(op.Name) == "log" }
}

// A log write fails, whole or in part; then writes of falling sizes follow, single
// ones and batches. What was acknowledged is exact after a kill, and what was not
// is there whole or not at all.
func TestP028_P163_WritesAfterAFailedAppend(t *testing.T) {
	for _, answer := range []error{syscall.EIO, vfs.Short(3, syscall.ENOSPC), vfs.Short(1000, syscall.EIO), vfs.Done(syscall.EIO)} {
		for n := int64(1); n <= 25; n++ {
			disk := vfs.NewMem()
			fs, _ := failNth(disk, n, onLog(vfs.OpAppend), answer)
			run := logFaultRun{may: map[string][]string{}}
			run.writes(t, fs)
			run.check(t, fmt.Sprintf("append %d: %v", n, answer), disk.Kill())
		}
	}
}

// A logFaultRun knows for each key the values that it may have: that of the last
// acknowledged write and those of failed ones after it.
type logFaultRun struct {
	may map[string][]string
}

func (r *logFaultRun) writes(t *testing.T, fs vfs.FS) {
	t.Helper()
	o := small()
	o.MemTableSize, o.FS = 64<<10, fs
	db, err := sift.Open("db", &o)
	if err != nil {
		return
	}
	for i := range 20 {
		value := strings.Repeat(fmt.Sprintf("%d,", i), 5_000/(i+1))
		ops := []op{put("x", value)}
		if i%3 == 1 {
			ops = append(ops, put(fmt.Sprintf("y%d", i), value))
		}
		if i%7 == 6 {
			ops = []op{del("x")}
		}
		err := applyOps(db, sift.Sync, ops)
		for _, o := range ops {
			if err == nil {
				r.may[o.key] = nil
			} else if len(r.may[o.key]) == 0 {
				r.may[o.key] = []string{""}
			}
			r.may[o.key] = append(r.may[o.key], o.value)
		}
	}
	_ = db.Close() // it may report the failed append
}

// check opens what is left; an absent key counts as an empty value.
func (r *logFaultRun) check(t *testing.T, what string, disk *vfs.Mem) {
	t.Helper()
	o := small()
	o.FS = disk
	db, err := sift.Open("db", &o)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	v, err := scan(db, nil, nil)
	must(t, err, db.Close())
	for key, values := range r.may {
		got, _ := v.get(key)
		ok := false
		for _, value := range values {
			ok = ok || value == got
		}
		if !ok {
			t.Errorf("%s: %s = %s, want one of %d values, the first %s", what, key, brief(got), len(values), brief(values[0]))
		}
	}
	for i := range len(v) - 1 {
		if v[i].key == v[i+1].key {
			t.Errorf("%s: %s is shown twice", what, v[i].key)
		}
	}
}

// After a sync of the log has failed, and what it should have written is gone, no
// later write is acknowledged as durable unless it is.
func TestP164_NothingDurableAfterAFailedSync(t *testing.T) {
	for n := int64(1); n <= 12; n++ {
		disk := vfs.NewMem()
		plan := &faultPlan{mode: faultMode{counts: onLog(vfs.OpSync), answer: fails, lost: true}, at: n, err: syscall.EIO}
		o := small()
		o.FS = vfs.NewFault(disk, plan.hook)
		db, err := sift.Open("db", &o)
		if err != nil {
			continue
		}
		last := 0
		for i := 1; i <= 30; i++ {
			if err := db.Put([]byte("x"), fmt.Append(nil, i), sift.Sync); err == nil {
				last = i
			}
		}
		image := disk.Crash(0, 1)
		if err := db.Close(); err == nil && plan.struck() && last < 30 {
			t.Errorf("sync %d fails: Close says nothing, though writes had failed", n)
		}
		o.FS = image
		db = open(t, "db", &o)
		v, err := db.Get([]byte("x"))
		if err != nil && !(last == 0 && errors.Is(err, sift.ErrNotFound)) {
			t.Fatalf("sync %d fails: %v", n, err)
		}
		found := 0
		_, _ = fmt.Sscan(string(v), &found) // it stays 0
		if found < last {
			t.Errorf("sync %d fails: x = %d after a power cut, want %d or more", n, found, last)
		}
		must(t, db.Close())
	}
}

// The last sync or the close of a log that is done with fails: no write is
// reported as safe that is not.
func TestP026_OutgoingLogFails(t *testing.T) {
	for _, kind := range []vfs.OpKind{vfs.OpSync, vfs.OpClose} {
		for n := int64(1); n <= 8; n++ {
			disk := vfs.NewMem()
			o := small()
			fs, _ := failNth(disk, n, onLog(kind), syscall.EIO)
			o.MemTableSize, o.FS = 2<<10, fs
			db, err := sift.Open("db", &o)
			if err != nil {
				continue
			}
			acked := map[string]bool{}
			for i := range 60 {
				key := fmt.Sprintf("%03d", i)
				if db.Put([]byte(key), make([]byte, 200), pick2(i%10 == 9, sift.Sync, sift.NoSync)) == nil {
					acked[key] = true
				}
			}
			flushed := db.Flush()
			closed := db.Close()
			image := pick2(closed == nil && flushed == nil, disk.Crash(0, 1), disk.Kill())
			o.FS = image
			after := open(t, "db", &o)
			for key := range acked {
				if _, err := after.Get([]byte(key)); err != nil {
					t.Errorf("%v %d fails (Flush: %v, Close: %v): key %s: %v", kind, n, flushed, closed, key, err)
				}
			}
			must(t, after.Close())
		}
	}
}

// While any one call of a manifest rotation fails, CURRENT names a manifest that
// exists, and what was acknowledged is there afterwards.
func TestP052_P053_ManifestRotationFails(t *testing.T) {
	onManifest := func(op vfs.Op) bool {
		kind := vfs.FileType(op.Name)
		return (kind == "MANIFEST" || strings.Contains(op.Name, "CURRENT")) && (changing(op) || op.Kind == vfs.OpClose)
	}
	for _, answer := range []error{syscall.EIO, vfs.Done(syscall.EIO)} {
		for n := int64(1); ; n++ {
			disk := vfs.NewMem()
			fs, hit := failNth(disk, n, onManifest, answer)
			acked := flushesOn(t, disk, fs)
			o := small()
			o.FS = disk
			db, err := sift.Open("db", &o)
			if err != nil {
				t.Fatalf("call %d (%v): %v", n, answer, err)
			}
			for _, key := range acked {
				if _, err := db.Get([]byte(key)); err != nil {
					t.Errorf("call %d (%v): key %s: %v", n, answer, key, err)
				}
			}
			must(t, db.Close())
			if !hit.Load() {
				break
			}
		}
	}
}

// checkCurrent wants the manifest that CURRENT names to exist. It looks again if
// a rotation came between the two looks.
func checkCurrent(t *testing.T, disk *vfs.Mem) {
	t.Helper()
	for last := ""; ; {
		current, err := readFile(disk, "db/CURRENT")
		must(t, err)
		_, err = disk.Stat("db/" + strings.TrimSpace(current))
		if err == nil {
			return
		}
		if current == last {
			t.Fatalf("CURRENT names %q: %v", current, err)
		}
		last = current
	}
}

// flushesOn makes many small tables and returns the keys that were acknowledged.
func flushesOn(t *testing.T, disk *vfs.Mem, fs vfs.FS) (acked []string) {
	t.Helper()
	o := small()
	o.ManifestSize, o.FS = 1<<10, fs
	db, err := sift.Open("db", &o)
	if err != nil {
		return nil
	}
	for i := range 12 {
		key := fmt.Sprintf("%03d", i)
		if db.Put([]byte(key), []byte("v"), nil) == nil {
			acked = append(acked, key)
		}
		_ = db.Flush() // it may meet the fault
		checkCurrent(t, disk)
	}
	_ = db.Close() // it may report the fault
	return acked
}
