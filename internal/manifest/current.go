package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

// CURRENT names the manifest in use, and holds nothing else:
//
//	current = "MANIFEST-" digits "\n"
//
// It is replaced by renaming CURRENT.tmp over it, so that it is always one name
// or the other, whole.

// maxCurrent is more than a CURRENT can have, in bytes.
const maxCurrent = 64

// ErrNoCurrent says that a directory holds tables or logs, but no CURRENT that
// tells what they are. Nothing must be created over them.
var ErrNoCurrent error = &key.CorruptionError{
	File: currentName, Offset: -1,
	What: "the file is missing, though there are tables or logs; restore it or repair the database",
}

// readCurrent returns the number of the manifest in use.
func readCurrent(fsys vfs.FS, dir string) (uint64, error) {
	path := Path(dir, Current, 0)
	f, err := fsys.Open(path)
	if err != nil {
		return 0, fmt.Errorf("sift: %w", err)
	}
	defer f.Close()
	var buf [maxCurrent]byte
	n, err := f.ReadAt(buf[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("sift: read %s: %w", path, err)
	}
	base, ended := strings.CutSuffix(string(buf[:n]), "\n")
	kind, num := ParseName(base)
	if !ended || kind != Manifest {
		return 0, key.Corruptf(path, 0, "it must hold the name of a manifest and a newline, and starts with %.40q", buf[:n])
	}
	return num, nil
}

// setCurrent makes CURRENT name a manifest, which must be durable, and returns
// once that is durable too.
func setCurrent(fsys vfs.FS, dir string, num uint64) error {
	tmp := Path(dir, CurrentTemp, 0)
	if err := writeFile(fsys, tmp, []byte(name(Manifest, num)+"\n")); err != nil {
		return errors.Join(err, ignoreMissing(fsys.Remove(tmp)))
	}
	if err := fsys.Rename(tmp, Path(dir, Current, 0)); err != nil {
		return errors.Join(err, ignoreMissing(fsys.Remove(tmp)))
	}
	return fsys.SyncDir(dir)
}

// writeFile makes a durable file with the given content. Its name is not durable
// yet.
func writeFile(fsys vfs.FS, path string, content []byte) error {
	f, err := fsys.Create(path)
	if err != nil {
		return err
	}
	if err = f.Append(content); err == nil {
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
