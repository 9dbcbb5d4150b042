package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests, 0 for the fixed ones")

// newRand returns a generator whose seed a failing test prints.
func newRand(t *testing.T, seed uint64) *rand.Rand {
	t.Helper()
	if *seedFlag != 0 {
		seed = *seedFlag
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("replay with: go test ./wal -run '^%s$' -seed=%d", t.Name(), seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 1))
}

// payload returns n bytes that only record i has.
func payload(i, n int) []byte {
	b := make([]byte, n)
	for k := range b {
		b[k] = byte(i*31 + k*7 + k>>8)
	}
	if n >= 4 {
		binary.LittleEndian.PutUint32(b, uint32(i))
	}
	return b
}

func mustCreate(t testing.TB, fsys vfs.FS, path string, num uint64, o Options) *Writer {
	t.Helper()
	w, err := create(fsys, path, num, o, 0x5a17)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func mustAppend(t testing.TB, w *Writer, p []byte) int64 {
	t.Helper()
	end, err := w.Append(p)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

func mustSync(t testing.TB, w *Writer) {
	t.Helper()
	if err := w.SyncAll(); err != nil {
		t.Fatal(err)
	}
}

func mustClose(t testing.TB, w *Writer) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// memLog returns a file system that holds data under name.
func memLog(t testing.TB, name string, data []byte) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem()
	writeFile(t, m, name, data)
	return m
}

func writeFile(t testing.TB, fsys vfs.FS, name string, data []byte) {
	t.Helper()
	f, err := fsys.Create(name)
	if err == nil {
		err = errors.Join(f.Append(data), f.Sync(), f.Close(), fsys.SyncDir("."))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, fsys vfs.FS, name string) []byte {
	t.Helper()
	f, err := fsys.Open(name)
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
	return b
}

// read returns all payloads of a log, its tail, and how it ended: nil for
// io.EOF.
func read(t testing.TB, fsys vfs.FS, path string, num uint64) ([][]byte, Tail, error) {
	t.Helper()
	f, err := fsys.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return readFrom(t, f, path, num)
}

func readFrom(t testing.TB, f vfs.File, path string, num uint64) ([][]byte, Tail, error) {
	t.Helper()
	r, err := NewReader(f, path, num)
	if err != nil {
		return nil, Tail{}, err
	}
	var got [][]byte
	for {
		p, err := r.Next()
		if err != nil {
			if _, again := r.Next(); again != err {
				t.Fatalf("Next after %v: %v", err, again)
			}
			if err == io.EOF {
				err = nil
			}
			return got, r.Tail(), err
		}
		got = append(got, bytes.Clone(p))
	}
}

// bytesFile is a file to be read only, lighter than one of a Mem.
type bytesFile struct {
	vfs.File
	data []byte
}

func (f bytesFile) Size() (int64, error) { return int64(len(f.data)), nil }

func (f bytesFile) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, f.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// readData reads the log 7 from bytes.
func readData(t testing.TB, data []byte) ([][]byte, Tail, error) {
	t.Helper()
	return readFrom(t, bytesFile{data: data}, logPath, 7)
}

func isCorrupt(err error) bool {
	var c *key.CorruptionError
	return errors.As(err, &c) && errors.Is(err, key.ErrCorrupt)
}

// wantPrefix fails unless got is exactly the first n of want.
func wantPrefix(t testing.TB, what string, got, want [][]byte, n int) {
	t.Helper()
	if len(got) != n {
		t.Fatalf("%s: read %d records, want %d", what, len(got), n)
	}
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			t.Fatalf("%s: record %d differs: %d bytes, want %d", what, i, len(got[i]), len(want[i]))
		}
	}
}

// placed is a record of a sound log.
type placed struct {
	start, end int64
	header
}

// dissect lists the records of a sound log, control records included. It knows
// only the format, nothing of the Reader.
func dissect(t testing.TB, data []byte, num uint64) []placed {
	t.Helper()
	c := newCodec(num)
	var recs []placed
	for pos := int64(0); pos+headerLen <= int64(len(data)); {
		h, ok := c.parse(data[pos:], pos)
		if !ok {
			if pos%sectorSize == 0 {
				break
			}
			pos = nextSector(pos)
			continue
		}
		end := pos + headerLen + int64(h.length)
		recs = append(recs, placed{pos, end, h})
		pos = end
	}
	return recs
}
