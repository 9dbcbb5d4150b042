package tablecache

import (
	"fmt"
	"strings"
	"testing"

	"github.com/siftkv/sift/internal/cache"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/manifest"
	"github.com/siftkv/sift/internal/vfs"
	"github.com/siftkv/sift/sstable"
)

const dir = "db"

// writeTable writes the table num, with the one key "k" and a value, and returns
// what the manifest would know of it.
func writeTable(t testing.TB, fs vfs.FS, dir string, num, id uint64, value string) *manifest.TableMeta {
	t.Helper()
	if err := fs.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	f, err := fs.Create(manifest.Path(dir, manifest.Table, num))
	if err != nil {
		t.Fatal(err)
	}
	w := sstable.NewWriter(f, sstable.WriterOptions{ID: id, BitsPerKey: 10})
	if err := w.Add(key.Make([]byte("k"), 1, key.Set), []byte(value)); err != nil {
		t.Fatal(err)
	}
	info, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return manifest.NewTableMeta(num, info)
}

// valueOf is the value of table num as writeTables writes it.
func valueOf(num uint64) string { return fmt.Sprint("value of ", num) }

// writeTables writes the tables 1 to n.
func writeTables(t testing.TB, fs vfs.FS, n int) []*manifest.TableMeta {
	t.Helper()
	var metas []*manifest.TableMeta
	for num := uint64(1); num <= uint64(n); num++ {
		metas = append(metas, writeTable(t, fs, dir, num, 1000+num, valueOf(num)))
	}
	return metas
}

// disk is a file system whose descriptors and calls are watched.
type disk struct {
	*vfs.Counter
	fault func(vfs.Op) error // what a call does; nil: nothing
}

// newDisk returns a disk with n tables. Nothing is counted yet.
func newDisk(t testing.TB, n int) (*disk, []*manifest.TableMeta) {
	t.Helper()
	mem := vfs.NewMem()
	metas := writeTables(t, mem, n)
	d := &disk{}
	d.Counter = vfs.NewCounter(vfs.NewFault(mem, func(op vfs.Op) error {
		if d.fault != nil {
			return d.fault(op)
		}
		return nil
	}))
	return d, metas
}

func (d *disk) cache(maxOpen int) *Cache {
	return New(d, dir, cache.New(0), maxOpen, nil)
}

func (d *disk) opens() int64 { return d.Count(vfs.OpOpen, "sst").Calls }

// checkHandles says that n files are open.
func (d *disk) checkHandles(t testing.TB, n int64) {
	t.Helper()
	if got := d.Handles(); got != n {
		t.Errorf("%d files are open, want %d", got, n)
	}
}

// checkRead looks the one key of a table up.
func checkRead(c *Cache, meta *manifest.TableMeta) error {
	tab, err := c.Acquire(meta)
	if err != nil {
		return err
	}
	defer tab.Release()
	return checkValue(tab, meta)
}

func checkValue(tab *Table, meta *manifest.TableMeta) error {
	v, _, ok, err := tab.Get(nil, []byte("k"), key.MaxSeq)
	if err != nil {
		return err
	}
	if !ok || string(v) != valueOf(meta.Num) {
		return fmt.Errorf("table %d has value %q, found %v", meta.Num, v, ok)
	}
	return nil
}

func mustRead(t testing.TB, c *Cache, meta *manifest.TableMeta) {
	t.Helper()
	if err := checkRead(c, meta); err != nil {
		t.Fatal(err)
	}
}

func mustAcquire(t testing.TB, c *Cache, meta *manifest.TableMeta) *Table {
	t.Helper()
	tab, err := c.Acquire(meta)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func mustClose(t testing.TB, c *Cache) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// checkError says that err is one of want and mentions every text.
func checkError(t testing.TB, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not mention %q", err, text)
		}
	}
}
