package sift_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// A database that was closed misses each of its logs, and the end of each: what
// was acknowledged is there, or opening it says which file is at fault. That
// holds with an iterator left open, too.
func TestClosedLogIsMissed(t *testing.T) {
	disk, model := closedWithThreeLogs(t)
	all := mustFiles(t, disk, "db")
	logs := named(all, ".log")
	if len(logs) < 3 {
		t.Fatalf("the logs are %v, want three", logs)
	}
	for _, log := range logs {
		content := all[log]
		changes := map[string]string{"emptied": "", "cut by one byte": content[:len(content)-1]}
		for n := 0; n < len(content); n += 401 {
			changes[fmt.Sprintf("cut to %d bytes", n)] = content[:n]
		}
		for what, changed := range changes {
			image := disk.Crash(100, 1)
			must(t, writeFile(image, "db/"+log, changed))
			missed(t, image, model, log, what)
		}
		image := disk.Crash(100, 1)
		must(t, image.Remove("db/"+log))
		missed(t, image, model, log, "removed")
	}
}

// missed opens a database, one of whose logs was changed.
func missed(t *testing.T, image *vfs.Mem, m *model, log, what string) {
	t.Helper()
	for _, readOnly := range []bool{true, false} {
		o := manual()
		o.FS, o.ReadOnly = image, readOnly
		db, err := sift.Open("db", &o)
		if err != nil {
			if !errors.Is(err, sift.ErrCorrupt) || !strings.Contains(err.Error(), log) {
				t.Errorf("%s was %s, read-only %t: error %v; want a CorruptionError that names it", log, what, readOnly, err)
			}
			continue
		}
		got, err := scan(db, nil, nil)
		must(t, err, db.Close())
		if diff := m.head().diff(got); diff != nil {
			t.Errorf("%s was %s, read-only %t: opened without an error, but %v", log, what, readOnly, diff)
		}
	}
}

// closedWithThreeLogs makes a database whose flushes fail, so that two memtables
// wait with their logs beside the newest one.
func closedWithThreeLogs(t *testing.T) (*vfs.Mem, *model) {
	t.Helper()
	disk, m := vfs.NewMem(), newModel()
	o := manual()
	o.MemTableSize, o.MaxMemTables = 4<<10, 3
	o.FS = vfs.NewFault(disk, func(op vfs.Op) error {
		if op.Kind == vfs.OpCreate && strings.HasSuffix(op.Name, ".sst") {
			return syscall.ENOSPC
		}
		return nil
	})
	db, err := sift.Open("db", &o)
	must(t, err)
	for i := 0; len(named(mustFiles(t, disk, "db"), ".log")) < 3; i++ {
		write(t, db, m, put(fmt.Sprintf("key%03d", i), strings.Repeat("v", 300)))
	}
	write(t, db, m, put("the", "last"))
	iter, err := db.NewIter(nil)
	must(t, err)
	if err := db.Close(); err == nil || !strings.Contains(err.Error(), "1 iterators") {
		t.Fatalf("close: %v", err)
	}
	must(t, iter.Close())
	if logs := named(mustFiles(t, disk, "db"), ".log"); !slices.IsSorted(logs) {
		t.Fatalf("logs %v", logs)
	}
	return disk, m
}

// What a closed manifest says of the newest log holds only until the database is
// open again: a power cut then takes no more than it may.
func TestOpenTakesClosedBack(t *testing.T) {
	disk := vfs.NewMem()
	o := manual()
	o.FS = disk
	db := open(t, "db", &o)
	must(t, db.Put([]byte("a"), []byte("1"), sift.Sync))
	db = reopen(t, db, "db", &o)
	must(t, db.Put([]byte("b"), []byte("2"), sift.NoSync))
	o.FS = disk.Crash(0, 1)
	must(t, db.Close())
	db = open(t, "db", &o)
	if ok, err := db.Has([]byte("a")); !ok || err != nil {
		t.Errorf("Has(a) = %t, %v after a power cut", ok, err)
	}
}
