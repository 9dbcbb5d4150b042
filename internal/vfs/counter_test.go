package vfs_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/siftkv/sift/internal/vfs"
)

// Calls and bytes are counted by kind and by type of file.
func TestCounter(t *testing.T) {
	c := vfs.NewCounter(vfs.NewMem())
	must(t, c.MkdirAll("db"))
	for _, name := range []string{"db/000001.sst", "db/000002.sst", "db/000003.log", "db/MANIFEST-000004"} {
		f, err := c.Create(name)
		must(t, err)
		must(t, f.Append(make([]byte, 100)))
		must(t, f.Append(make([]byte, 20)))
		must(t, f.Sync())
		if _, err := f.ReadAt(make([]byte, 50), 100); err == nil {
			t.Error("read 50 bytes of 20")
		}
		must(t, f.Close())
		if f.Append([]byte("x")) == nil || f.Close() == nil {
			t.Error("a closed file works")
		}
	}
	if _, err := c.Open("db/000009.sst"); err == nil {
		t.Error("opened what is missing")
	}
	must(t, c.SyncDir("db"))
	for _, w := range []struct {
		kind     vfs.OpKind
		fileType string
		want     vfs.Count
	}{
		{vfs.OpCreate, "sst", vfs.Count{Calls: 2}},
		{vfs.OpCreate, "", vfs.Count{Calls: 4}},
		{vfs.OpOpen, "sst", vfs.Count{Calls: 1}},
		{vfs.OpAppend, "sst", vfs.Count{Calls: 6, Bytes: 240}},
		{vfs.OpAppend, "MANIFEST", vfs.Count{Calls: 3, Bytes: 120}},
		{vfs.OpRead, "log", vfs.Count{Calls: 1, Bytes: 20}},
		{vfs.OpRead, "", vfs.Count{Calls: 4, Bytes: 80}},
		{vfs.OpSync, "", vfs.Count{Calls: 4}},
		{vfs.OpClose, "log", vfs.Count{Calls: 2}},
		{vfs.OpSyncDir, vfs.DirType, vfs.Count{Calls: 1}},
		{vfs.OpSyncDir, "sst", vfs.Count{}},
		{vfs.OpRead, "unknown", vfs.Count{}},
	} {
		if got := c.Count(w.kind, w.fileType); got != w.want {
			t.Errorf("%s of %q: %+v, want %+v", w.kind, w.fileType, got, w.want)
		}
	}
	if types := c.Types(); !slices.Equal(types, []string{"MANIFEST", "dir", "log", "sst"}) {
		t.Errorf("types %q", types)
	}
	if c.Handles() != 0 {
		t.Errorf("%d handles", c.Handles())
	}
}

// Every method is counted under its own kind.
func TestCounterCountsEachKind(t *testing.T) {
	seen := map[vfs.OpKind]int64{}
	c := vfs.NewCounter(vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error { seen[op.Kind]++; return nil }))
	if failed := workload(c); failed != nil {
		t.Fatal(failed)
	}
	for kind := range vfs.NumOps {
		if got := c.Count(kind, "").Calls; got != seen[kind] || got == 0 {
			t.Errorf("%s: counted %d of %d", kind, got, seen[kind])
		}
	}
}

// Handles are files and locks, each until its first Close.
func TestCounterHandles(t *testing.T) {
	c := vfs.NewCounter(vfs.NewMem())
	var group sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		group.Go(func() {
			f, err := c.Create(name)
			must(t, err)
			l, err := c.Lock(name+".lock", false)
			must(t, err)
			must(t, f.Close())
			must(t, l.Close())
			if f.Close() == nil || l.Close() == nil {
				t.Error("a second Close works")
			}
		})
	}
	f, err := c.Create("d")
	must(t, err)
	group.Wait()
	if c.Handles() != 1 {
		t.Errorf("%d handles, want 1", c.Handles())
	}
	must(t, f.Close())
}

func TestFileType(t *testing.T) {
	for name, want := range map[string]string{
		"db/000001.sst": "sst", "000002.log": "log", "x/MANIFEST-000003": "MANIFEST", "CURRENT": "CURRENT",
		"CURRENT.tmp": "tmp", "LOCK": "LOCK", "name.": "name.", "/": "/",
	} {
		if got := vfs.FileType(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
