package manifest

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

// put makes a durable file in the directory.
func put(t testing.TB, fsys vfs.FS, base, content string) {
	t.Helper()
	f, err := fsys.Create("db/" + base)
	if err == nil {
		err = errors.Join(f.Append([]byte(content)), f.Sync(), f.Close(), fsys.SyncDir("db"))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, fsys vfs.FS, base string) string {
	t.Helper()
	f, err := fsys.Open("db/" + base)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, n)
	if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return string(b)
}

// The bytes of CURRENT are pinned.
func TestCurrentGolden(t *testing.T) {
	m := newDir(t)
	for num, want := range map[uint64]string{7: "MANIFEST-000007\n", 1234567: "MANIFEST-1234567\n"} {
		if err := setCurrent(m, "db", num); err != nil {
			t.Fatal(err)
		}
		if got := get(t, m, currentName); got != want {
			t.Errorf("CURRENT holds %q, want %q", got, want)
		}
		if got, err := readCurrent(m, "db"); got != num || err != nil {
			t.Errorf("read %d, %v", got, err)
		}
	}
}

// Anything else in CURRENT is corruption that names CURRENT. No more than a few
// bytes of it are read, and no file that it seems to name is opened.
func TestBadCurrent(t *testing.T) {
	const good = "MANIFEST-000007"
	for _, content := range []string{
		"", "\n", good, good + "\r\n", good + "\n\n", good + "\n" + good + "\n", good + " \n", " " + good + "\n",
		good + good + "\n", "../" + good + "\n", "/db/" + good + "\n", "db/" + good + "\n", "MANIFEST-\n",
		"MANIFEST-7\n", "MANIFEST-0000007\n", "MANIFEST-000000\n", "MANIFEST--00001\n", "MANIFEST-+00007\n",
		"MANIFEST-99999999999999999999\n", "manifest-000007\n", "000007.sst\n", "CURRENT\n", good + "\x00\n",
		strings.Repeat("x", 1<<20), strings.Repeat("\n", 1<<20), "MANIFEST-" + strings.Repeat("0", 1<<20) + "7\n",
	} {
		m := newDir(t)
		put(t, m, good, "never to be read")
		put(t, m, currentName, content)
		fsys := vfs.NewFault(m, func(op vfs.Op) error {
			switch {
			case op.Kind == vfs.OpOpen && op.Name != Path("db", Current, 0):
				return fmt.Errorf("%s must not be opened", op.Name)
			case op.Kind == vfs.OpRead && op.Len > maxCurrent:
				return errors.New("read too much")
			}
			return nil
		})
		_, err := Load(fsys, "db")
		var c *key.CorruptionError
		if !errors.As(err, &c) || c.File != currentName {
			t.Errorf("%.40q: %v", content, err)
		}
		if len(fmt.Sprint(err)) > 1000 {
			t.Errorf("%.40q: an error of %d bytes", content, len(fmt.Sprint(err)))
		}
		if got := get(t, m, currentName); got != content {
			t.Errorf("%.40q: the file was changed", content)
		}
	}
}

// Every bit of CURRENT that flips is found, or leads to a manifest that is not
// there, which is found as well.
func TestCurrentBitFlips(t *testing.T) {
	m := newDir(t)
	h := newHistory(t, newRand(t))
	s, err := Start(m, "db", h.numbers(), h.v, h.options(0))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(nil); err != nil {
		t.Fatal(err)
	}
	good := get(t, m, currentName)
	for i := range len(good) * 8 {
		b := []byte(good)
		b[i/8] ^= 1 << (i % 8)
		put(t, m, currentName, string(b))
		if _, err := Load(m, "db"); !errors.Is(err, key.ErrCorrupt) {
			t.Errorf("bit %d: %v", i, err)
		}
	}
}

func TestNoCurrent(t *testing.T) {
	if _, err := Load(newDir(t), "db"); !errors.Is(err, key.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if !errors.Is(ErrNoCurrent, key.ErrCorrupt) {
		t.Error("ErrNoCurrent is not a corruption")
	}
}

// A failure up to the rename leaves CURRENT as it was and no temporary file; one
// in or after the rename is in doubt, and leaves one name or the other.
func TestSetCurrentFailures(t *testing.T) {
	const old, next = "MANIFEST-000001\n", "MANIFEST-000002\n"
	for _, f := range faults {
		for n := 1; ; n++ {
			m := newDir(t)
			put(t, m, currentName, old)
			var hit vfs.Op
			fsys := vfs.NewFault(m, func(op vfs.Op) error {
				if op.Seq == uint64(n) {
					hit = op
					return f.error
				}
				return nil
			})
			err := setCurrent(fsys, "db", 2)
			if hit.Seq == 0 {
				break
			}
			what := fmt.Sprintf("%v of %s %s", hit.Kind, hit.Name, f.name)
			if !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%s: %v", what, err)
			}
			inDoubt := hit.Kind == vfs.OpRename || hit.Kind == vfs.OpSyncDir
			if errors.Is(err, ErrInDoubt) != inDoubt {
				t.Errorf("%s: %v", what, err)
			}
			got := get(t, m.Crash(0, 0), currentName)
			if got != old && !(inDoubt && got == next) {
				t.Errorf("%s: CURRENT holds %q", what, got)
			}
			if _, err := m.Stat(Path("db", CurrentTemp, 0)); err == nil && !inDoubt {
				t.Errorf("%s: the temporary file is still there", what)
			}
		}
	}
}
