package manifest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/siftkv/sift/internal/invariants"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
	"github.com/siftkv/sift/wal"
)

// writeManifest makes a database of the given records, which need not be edits.
func writeManifest(t testing.TB, records ...[]byte) *vfs.Mem {
	t.Helper()
	m := newDir(t)
	w, err := wal.Create(m, Path("db", Manifest, 7), 7, wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if _, err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := setCurrent(m, "db", 7); err != nil {
		t.Fatal(err)
	}
	return m
}

// Edits that are sound records and make no sense are corruption that names the
// manifest; what only a newer release can know is ErrVersion.
func TestLoadBadEdits(t *testing.T) {
	first := (&Edit{Format: 1}).Append(nil)
	t1 := table(1, "a", "c", 1, 2)
	t2 := table(2, "b", "d", 3, 4)
	for what, c := range map[string]struct {
		records [][]byte
		want    error
	}{
		"nothing":                {nil, key.ErrCorrupt},
		"no format":              {[][]byte{(&Edit{LogNum: 1}).Append(nil)}, key.ErrCorrupt},
		"empty first edit":       {[][]byte{{}}, key.ErrCorrupt},
		"newer format":           {[][]byte{(&Edit{Format: FormatVersion + 1}).Append(nil)}, key.ErrVersion},
		"unknown field":          {[][]byte{first, {100, 1, 0}}, key.ErrVersion},
		"garbage":                {[][]byte{first, []byte("garbage")}, key.ErrCorrupt},
		"delete of nothing":      {[][]byte{first, (&Edit{Deleted: []DeletedTable{{0, 1}}}).Append(nil)}, key.ErrCorrupt},
		"delete from elsewhere":  {[][]byte{first, add(1, t1).Append(nil), (&Edit{Deleted: []DeletedTable{{2, 1}}}).Append(nil)}, key.ErrCorrupt},
		"deleted twice":          {[][]byte{first, add(1, t1).Append(nil), (&Edit{Deleted: []DeletedTable{{1, 1}, {1, 1}}}).Append(nil)}, key.ErrCorrupt},
		"added twice":            {[][]byte{first, add(1, t1).Append(nil), add(2, t1).Append(nil)}, key.ErrCorrupt},
		"overlap in a level":     {[][]byte{first, add(1, t1, t2).Append(nil)}, key.ErrCorrupt},
		"closed with no log":     {[][]byte{first, {tagClosed, 2, 0, 0}}, key.ErrCorrupt},
		"sound":                  {[][]byte{first, add(1, t1).Append(nil), add(2, t2).Append(nil)}, nil},
		"overlap that went away": {[][]byte{first, add(1, t1).Append(nil), (&Edit{Deleted: []DeletedTable{{1, 1}}, Added: add(1, t2).Added}).Append(nil)}, nil},
	} {
		m := writeManifest(t, c.records...)
		_, err := Load(m, "db")
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), "MANIFEST-000007") {
			t.Errorf("%s: the error does not name the file: %v", what, err)
		}
		if m.OpenFiles() != 0 {
			t.Errorf("%s: %d files open", what, m.OpenFiles())
		}
	}
}

// A manifest that CURRENT names and that is missing is damage, and does not look
// like a database that is missing.
func TestLoadMissingManifest(t *testing.T) {
	m := newDir(t)
	if err := setCurrent(m, "db", 7); err != nil {
		t.Fatal(err)
	}
	_, err := Load(m, "db")
	var c *key.CorruptionError
	if !errors.As(err, &c) || c.File != "MANIFEST-000007" || errors.Is(err, key.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// damaged returns the bytes of a manifest with a few edits, sealed or not, and
// their history.
func damaged(t *testing.T, seal bool) (*history, *vfs.Mem, string, string) {
	t.Helper()
	m := newDir(t)
	h := newHistory(t, newRand(t))
	s, err := Start(m, "db", h.numbers(), h.v, h.options(0))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		e, v := h.next()
		if err := s.Log(e, v); err != nil {
			t.Fatal(err)
		}
		h.accept(e, v)
	}
	base := name(Manifest, s.Num())
	if seal {
		err = s.Close(nil)
	} else {
		err = s.w.Abandon()
	}
	if err != nil {
		t.Fatal(err)
	}
	return h, m, base, get(t, m, base)
}

// Of every flipped bit: a sealed manifest gives an error or all of its edits, one
// that was not sealed may lose the last edit.
func TestLoadBitFlips(t *testing.T) {
	step := 1
	if invariants.Enabled {
		step = 7
	}
	for _, seal := range []bool{true, false} {
		h, m, base, good := damaged(t, seal)
		last := len(h.state) - 1
		least := last
		if !seal {
			least = last - 1
		}
		for i := 0; i < len(good)*8; i += step {
			b := []byte(good)
			b[i/8] ^= 1 << (i % 8)
			put(t, m, base, string(b))
			n, err := h.load(m)
			if err != nil && !errors.Is(err, key.ErrCorrupt) || err == nil && n < least {
				t.Fatalf("sealed %v, bit %d of byte %d: state %d of %d, %v", seal, i%8, i/8, n, last, err)
			}
		}
	}
}

// A manifest cut anywhere gives an error or a state that once was; Load changes
// no byte either way.
func TestLoadTruncated(t *testing.T) {
	for _, seal := range []bool{true, false} {
		h, m, base, good := damaged(t, seal)
		for n := range good {
			put(t, m, base, good[:n])
			if _, err := h.load(m); err != nil && !errors.Is(err, key.ErrCorrupt) {
				t.Fatalf("cut to %d: %v", n, err)
			}
			if got := get(t, m, base); got != good[:n] {
				t.Fatalf("cut to %d: Load changed the file", n)
			}
		}
	}
}

// What is cut off the end is counted.
func TestLoadCountsTornTail(t *testing.T) {
	_, m, base, good := damaged(t, false)
	put(t, m, base, good[:len(good)-1])
	s, err := Load(m, "db")
	if err != nil || s.Dropped == 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// A read that fails is neither damage nor an end.
func TestLoadReadError(t *testing.T) {
	_, m, _, _ := damaged(t, true)
	for n := uint64(1); ; n++ {
		hit := false
		cause := errors.New("cable")
		fsys := vfs.NewFault(m, func(op vfs.Op) error {
			if op.Seq == n {
				hit = true
				return cause
			}
			return nil
		})
		_, err := Load(fsys, "db")
		if !hit {
			break
		}
		if !errors.Is(err, cause) && err != nil || errors.Is(err, key.ErrCorrupt) {
			t.Errorf("call %d: %v", n, err)
		}
		if m.OpenFiles() != 0 {
			t.Fatalf("call %d: %d files open", n, m.OpenFiles())
		}
	}
}

// Load writes nothing and asks for nothing that writes.
func TestLoadTouchesNothing(t *testing.T) {
	h, m, _, _ := damaged(t, false)
	fsys := vfs.NewFault(m, func(op vfs.Op) error {
		switch op.Kind {
		case vfs.OpOpen, vfs.OpRead, vfs.OpSize, vfs.OpClose:
			return nil
		}
		return fmt.Errorf("%v must not be called", op.Kind)
	})
	if n, err := h.load(fsys); n != len(h.state)-1 || err != nil {
		t.Errorf("state %d, %v", n, err)
	}
}
