package tablecache

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/siftkv/sift/internal/cache"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
	"github.com/siftkv/sift/internal/vfs"
	"github.com/siftkv/sift/sstable"
)

// TestOpensOnce: a table is opened at its first use, and found after that without
// the file system and without memory.
func TestOpensOnce(t *testing.T) {
	d, metas := newDisk(t, 3)
	c := d.cache(10)
	d.checkHandles(t, 0)
	for range 3 {
		for _, m := range metas {
			mustRead(t, c, m)
		}
	}
	if d.opens() != 3 {
		t.Errorf("opened %d files", d.opens())
	}
	if n := testing.AllocsPerRun(100, func() {
		tab, err := c.Acquire(metas[1])
		if err == nil {
			tab.Release()
		}
	}); n != 0 {
		t.Errorf("a hit allocates %v times", n)
	}
	if m := c.Metrics(); m != (Metrics{Open: 3, Opens: 3}) {
		t.Errorf("metrics %+v", m)
	}
	mustClose(t, c)
	d.checkHandles(t, 0)
}

// TestCountsReads: what opening reads is counted as disk reads.
func TestCountsReads(t *testing.T) {
	d, metas := newDisk(t, 1)
	var stats sstable.Stats
	c := New(d, dir, cache.New(1<<20), 10, &stats)
	mustRead(t, c, metas[0])
	mustRead(t, c, metas[0])
	if n := d.Count(vfs.OpRead, "sst").Calls; n != 2 || stats.Reads.Load() != 2 {
		t.Errorf("%d reads, counted %d, want the tail and one block", n, stats.Reads.Load())
	}
	mustClose(t, c)
}

// TestDamage (P062): whatever is wrong with a table's file, each use of the table
// is a corruption error that names the file, never an answer, and nothing stays
// open.
func TestDamage(t *testing.T) {
	name := manifest.Path(dir, manifest.Table, 2)
	for what, harm := range map[string]func(t *testing.T, fs vfs.FS, meta *manifest.TableMeta){
		"missing": func(t *testing.T, fs vfs.FS, _ *manifest.TableMeta) { must(t, fs.Remove(name)) },
		"another table": func(t *testing.T, fs vfs.FS, _ *manifest.TableMeta) {
			must(t, fs.Rename(manifest.Path(dir, manifest.Table, 1), name))
		},
		"other id": func(_ *testing.T, _ vfs.FS, meta *manifest.TableMeta) { meta.ID++ },
		"shorter": func(t *testing.T, fs vfs.FS, meta *manifest.TableMeta) {
			writeTable(t, fs, dir, 2, meta.ID, "v")
		},
		"empty": func(t *testing.T, fs vfs.FS, _ *manifest.TableMeta) {
			f, err := fs.Create(name)
			must(t, err)
			must(t, f.Close())
		},
	} {
		t.Run(what, func(t *testing.T) {
			d, metas := newDisk(t, 3)
			harm(t, d, metas[1])
			c := d.cache(10)
			for range 2 {
				err := checkRead(c, metas[1])
				checkError(t, err, "000002.sst")
				if !errors.Is(err, key.ErrCorrupt) || errors.Is(err, key.ErrNotFound) {
					t.Errorf("error %v", err)
				}
				if errors.Is(err, fs.ErrNotExist) != (what == "missing") {
					t.Errorf("error %v", err)
				}
			}
			mustRead(t, c, metas[2])
			d.checkHandles(t, 1)
			mustClose(t, c)
			d.checkHandles(t, 0)
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestIdentityOfAnOpenTable: a table that is open under one id is no answer for
// another id with the same number.
func TestIdentityOfAnOpenTable(t *testing.T) {
	d, metas := newDisk(t, 1)
	c := d.cache(10)
	mustRead(t, c, metas[0])
	other := manifest.TableMeta{Num: 1, ID: metas[0].ID + 1, Size: metas[0].Size}
	if err := checkRead(c, &other); !errors.Is(err, key.ErrCorrupt) {
		t.Errorf("error %v", err)
	}
	mustRead(t, c, metas[0])
	mustClose(t, c) // and no reference was lost on the way
}

// TestReusedNumbers (P145): two databases share the block cache and file numbers,
// and one of them is made anew again and again.
func TestReusedNumbers(t *testing.T) {
	mem := vfs.NewMem()
	blocks := cache.New(1 << 20)
	get := func(c *Cache, m *manifest.TableMeta) string {
		tab := mustAcquire(t, c, m)
		defer tab.Release()
		v, _, _, err := tab.Get(nil, []byte("k"), key.MaxSeq)
		must(t, err)
		return string(v)
	}
	fixed := writeTable(t, mem, "a", 1, 7, "fixed")
	a := New(mem, "a", blocks, 10, nil)
	for i := range uint64(50) {
		want := fmt.Sprint("generation ", i)
		m := writeTable(t, mem, "b", 1, 100+i, want)
		b := New(mem, "b", blocks, 10, nil)
		for range 2 {
			if v := get(b, m); v != want {
				t.Fatalf("%q, want %q", v, want)
			}
			if v := get(a, fixed); v != "fixed" {
				t.Fatalf("%q, want fixed", v)
			}
		}
		mustClose(t, b)
	}
	mustClose(t, a)
	if n := mem.OpenFiles(); n != 0 {
		t.Errorf("%d files are open", n)
	}
}

// TestEvict: an obsolete table is closed at once, or by its last user; a later use
// opens the file anew.
func TestEvict(t *testing.T) {
	d, metas := newDisk(t, 2)
	c := d.cache(10)
	c.Evict(1) // not open: nothing to do
	mustRead(t, c, metas[0])
	c.Evict(1)
	d.checkHandles(t, 0)

	tab := mustAcquire(t, c, metas[0])
	it, err := c.NewIter(metas[0])
	must(t, err)
	c.Evict(1)
	c.Evict(1)
	must(t, checkValue(tab, metas[0]))
	tab.Release()
	if !it.First() || string(it.Value()) != valueOf(1) {
		t.Error("the iterator has lost its table")
	}
	d.checkHandles(t, 1)
	must(t, it.Close())
	must(t, it.Close())
	d.checkHandles(t, 0)
	if len(c.obsolete) != 0 {
		t.Errorf("%d closed tables are remembered", len(c.obsolete))
	}

	mustRead(t, c, metas[0])
	mustClose(t, c)
	d.checkHandles(t, 0)
}

// TestLateComers: who found a table just before it was closed cannot revive it,
// and who missed it just before it was opened does not open it again.
func TestLateComers(t *testing.T) {
	d, metas := newDisk(t, 1)
	c := d.cache(10)
	tab := mustAcquire(t, c, metas[0])
	again, err := c.load(metas[0])
	must(t, err)
	if again != tab || d.opens() != 1 {
		t.Errorf("opened %d times", d.opens())
	}
	c.Evict(1)
	again.Release()
	tab.Release()
	if tab.retain() {
		t.Error("a closed table was revived")
	}
	mustClose(t, c)
}

// TestCompactionIterKeepsItsTable: as iterators do.
func TestCompactionIterKeepsItsTable(t *testing.T) {
	d, metas := newDisk(t, 1)
	c := d.cache(0)
	it, err := c.NewCompactionIter(metas[0])
	must(t, err)
	d.checkHandles(t, 1)
	if !it.First() || string(it.Value()) != valueOf(1) || it.Next() || it.Error() != nil {
		t.Error("the walk is wrong")
	}
	must(t, it.Close())
	d.checkHandles(t, 0)
	must(t, d.Remove(c.path(1)))
	for _, open := range []func() error{
		func() error { _, err := c.NewIter(metas[0]); return err },
		func() error { _, err := c.NewCompactionIter(metas[0]); return err },
	} {
		if err := open(); !errors.Is(err, key.ErrCorrupt) {
			t.Errorf("error %v", err)
		}
	}
	mustClose(t, c)
}

// TestVerify: a table is held against its own format and the manifest's record.
func TestVerify(t *testing.T) {
	d, metas := newDisk(t, 2)
	c := d.cache(0)
	must(t, c.Verify(metas[0]))
	other := *metas[0]
	other.Sum++
	var corrupt *key.CorruptionError
	if err := c.Verify(&other); !errors.As(err, &corrupt) || corrupt.File != "000001.sst" {
		t.Errorf("a record with another sum: %v", err)
	}
	d.checkHandles(t, 0)
	mustClose(t, c)
}

// TestClose: tables in use are closed too, later calls say ErrClosed, and
// users may still release.
func TestClose(t *testing.T) {
	d, metas := newDisk(t, 4)
	c := d.cache(10)
	mustRead(t, c, metas[0])
	used := []*Table{mustAcquire(t, c, metas[1]), mustAcquire(t, c, metas[1]), mustAcquire(t, c, metas[2])}
	c.Evict(3)
	mustClose(t, c)
	d.checkHandles(t, 0)
	if err := checkValue(used[0], metas[1]); err == nil {
		t.Error("read from a closed table")
	}
	for _, tab := range used {
		tab.Release()
	}
	for _, m := range metas {
		if err := checkRead(c, m); !errors.Is(err, key.ErrClosed) {
			t.Errorf("error %v after Close", err)
		}
	}
	c.Evict(1)
	mustClose(t, c)
	if n := d.Count(vfs.OpClose, "sst").Calls; n != d.opens() {
		t.Errorf("%d closes of %d files", n, d.opens())
	}
}

// TestCloseErrors: a file that fails to close is reported, by Close if the table
// was closed on the way.
func TestCloseErrors(t *testing.T) {
	d, metas := newDisk(t, 3)
	boom := errors.New("boom")
	d.fault = func(op vfs.Op) error {
		if op.Kind == vfs.OpClose {
			return boom
		}
		return nil
	}
	c := d.cache(1)
	for _, m := range metas {
		mustRead(t, c, m)
	}
	if err := c.Close(); !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
	d.checkHandles(t, 0)
}

// TestReleaseTwiceIsABug: one user's mistake would close the table under another.
func TestReleaseTwiceIsABug(t *testing.T) {
	d, metas := newDisk(t, 1)
	c := d.cache(0)
	tab := mustAcquire(t, c, metas[0])
	tab.Release()
	defer func() {
		if recover() == nil {
			t.Error("nobody noticed")
		}
		d.checkHandles(t, 0)
	}()
	tab.Release()
}
