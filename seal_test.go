package sift_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/manifest"
	"github.com/siftkv/sift/internal/vfs"
	"github.com/siftkv/sift/wal"
)

// sealed says whether the manifest and all logs of a closed database bear the
// seal that lets the next Open take any damage for what it is.
func sealed(disk vfs.FS) error {
	state, err := manifest.Load(disk, crashDir)
	if err != nil {
		return err
	}
	names, err := disk.List(crashDir)
	if err != nil {
		return err
	}
	for _, name := range names {
		kind, num := manifest.ParseName(name)
		if kind != manifest.Manifest && kind != manifest.Log || kind == manifest.Log && num < state.LogNum {
			continue
		}
		tail, err := readLog(disk, crashDir+"/"+name, num)
		if err != nil {
			return err
		}
		if !tail.Sealed && (kind == manifest.Log || num == state.Num) {
			return fmt.Errorf("%s was closed and has no seal", name)
		}
	}
	return nil
}

func readLog(disk vfs.FS, path string, num uint64) (wal.Tail, error) {
	f, err := disk.Open(path)
	if err != nil {
		return wal.Tail{}, err
	}
	defer f.Close()
	r, err := wal.NewReader(f, path, num)
	for err == nil {
		_, err = r.Next()
	}
	if !errors.Is(err, io.EOF) {
		return wal.Tail{}, err
	}
	return r.Tail(), nil
}

// A database whose memtable held nothing worth a table names its next log in the
// manifest all the same, and that log must be there after a power cut.
func TestFlushOfNothingKeepsItsLog(t *testing.T) {
	disk := vfs.NewMem()
	o := small()
	o.FS = disk
	db := open(t, crashDir, &o)
	for i := range 10 {
		must(t, db.Delete(fmt.Appendf(nil, "absent%d", i), sift.NoSync))
	}
	must(t, db.Flush())
	if n := db.Metrics().Levels[0].Tables; n != 0 {
		t.Fatalf("%d tables of tombstones that hide nothing", n)
	}
	image := disk.Crash(0, 1)
	must(t, db.Close())
	o.FS = image
	must(t, open(t, crashDir, &o).Close())
}
