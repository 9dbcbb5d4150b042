package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

// CURRENT names the manifest that counts. Its whole contents are
//
//	current = "MANIFEST-" number "\n"
//
// with the number as in the manifest's own name, at least six digits. It is
// replaced by a rename and never written in place, so it always holds one name
// or the other.

// maxCurrent bounds what is read of CURRENT, in bytes.
const maxCurrent = 64

// ErrNoCurrent says that a directory holds tables or logs, but no CURRENT. To
// create a database there would mean to delete them.
var ErrNoCurrent error = &key.CorruptionError{
	File:   currentName,
	Offset: -1,
	What:   "the file is missing, though there are tables or logs; restore it, or repair the database",
}

// ErrInDoubt says that a new manifest was being made current when a call failed,
// so that the next Open may find either. No file that either of them names may
// be removed.
var ErrInDoubt = errors.New("the new manifest may or may not have become current")

// readCurrent returns the number of the manifest that CURRENT names. Where there
// is no CURRENT the error is key.ErrNotExist.
func readCurrent(fsys vfs.FS, dir string) (uint64, error) {
	f, err := fsys.Open(Path(dir, Current, 0))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%w: no %s in %s", key.ErrNotExist, currentName, dir)
	}
	if err != nil {
		return 0, fmt.Errorf("sift: open %s: %w", currentName, err)
	}
	defer f.Close()
	buf := make([]byte, maxCurrent)
	n, err := f.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("sift: read %s: %w", currentName, err)
	}
	return parseCurrent(string(buf[:n]))
}

// parseCurrent accepts exactly what writeCurrent writes: a name that it does not
// know in full never becomes a path.
func parseCurrent(s string) (uint64, error) {
	base, ended := strings.CutSuffix(s, "\n")
	if kind, num := ParseName(base); ended && kind == Manifest {
		return num, nil
	}
	return 0, key.Corruptf(currentName, 0, "it holds %q instead of the name of a manifest and a line end; "+
		"restore the file, or repair the database", s)
}

// setCurrent makes the manifest num the one that counts. The manifest and its
// name must be durable. An error that is ErrInDoubt may have had the effect all
// the same; after any other one CURRENT is as it was.
func setCurrent(fsys vfs.FS, dir string, num uint64) error {
	temp := Path(dir, CurrentTemp, 0)
	if err := writeCurrent(fsys, temp, num); err != nil {
		err = errors.Join(err, ignoreMissing(fsys.Remove(temp)))
		return fmt.Errorf("sift: write %s: %w", filepath.Base(temp), err)
	}
	err := fsys.Rename(temp, Path(dir, Current, 0))
	if err == nil {
		err = fsys.SyncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("sift: make manifest %06d current: %w: %w", num, ErrInDoubt, err)
	}
	return nil
}

func writeCurrent(fsys vfs.FS, path string, num uint64) error {
	f, err := fsys.Create(path)
	if err != nil {
		return err
	}
	if err = f.Append([]byte(name(Manifest, num) + "\n")); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
