package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
	"testing"

	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

const logPath = "000007.log"

// Every size around the edges of a sector and of the reader's window, and of
// the writer's choice between one call and two, comes back as it was.
func TestSizes(t *testing.T) {
	var sizes []int
	for _, edge := range []int{0, sectorSize, 4096, windowSize, maxCopied, 4 * windowSize} {
		for _, d := range []int{-headerLen - 1, -headerLen, -1, 0, 1, headerLen, headerLen + 1} {
			if edge+d >= 0 {
				sizes = append(sizes, edge+d)
			}
		}
	}
	for _, sync := range []bool{false, true} {
		m := vfs.NewMem()
		w := mustCreate(t, m, logPath, 7, Options{})
		var want [][]byte
		for i, n := range sizes {
			want = append(want, payload(i, n))
			mustAppend(t, w, want[i])
			if sync {
				mustSync(t, w)
			}
		}
		size := w.Size()
		mustClose(t, w)
		got, tail, err := read(t, m, logPath, 7)
		if err != nil {
			t.Fatal(err)
		}
		wantPrefix(t, "sealed log", got, want, len(want))
		if !tail.Sealed || tail.Dropped != 0 || tail.Mark != size {
			t.Errorf("tail %+v, want sealed with mark %d", tail, size)
		}
	}
}

// A log may end anywhere near the end of its file, or of a block of it, and
// any number of zeros may follow.
func TestEndOfFile(t *testing.T) {
	const block = 32 << 10
	for pad := range 65 {
		for _, zeros := range []int{0, 1, 6, 7, 8, headerLen - 1, headerLen, 4095, block, 1 << 20} {
			m := vfs.NewMem()
			w := mustCreate(t, m, logPath, 7, Options{})
			first := payload(0, 100)
			mustAppend(t, w, first)
			last := payload(1, block-pad-headerLen-int(w.Size()))
			if end := mustAppend(t, w, last); end != int64(block-pad) {
				t.Fatalf("last record ends at %d, want %d", end, block-pad)
			}
			data := append(readFile(t, m, logPath), make([]byte, zeros)...)
			got, tail, err := readData(t, data)
			if err != nil {
				t.Fatal(err)
			}
			wantPrefix(t, fmt.Sprintf("pad %d, %d zeros", pad, zeros), got, [][]byte{first, last}, 2)
			if tail.Dropped != 0 {
				t.Fatalf("pad %d, %d zeros: %d bytes counted as dropped", pad, zeros, tail.Dropped)
			}
		}
	}
}

// A file that never became a log is an empty one.
func TestNoHeader(t *testing.T) {
	for _, n := range []int{0, 1, headerLen, 4096, 1 << 20} {
		got, tail, err := readData(t, make([]byte, n))
		if len(got) != 0 || err != nil || tail != (Tail{}) {
			t.Errorf("%d zeros: %d records, %+v, %v", n, len(got), tail, err)
		}
	}
}

// No record starts in a sector that a sync covered, whatever the sizes, and
// records are contiguous otherwise.
func TestSectorRule(t *testing.T) {
	rng := newRand(t, 1)
	m := vfs.NewMem()
	w := mustCreate(t, m, logPath, 7, Options{})
	fences := []int64{0}
	for i := range 500 {
		mustAppend(t, w, payload(i, rng.IntN(700)))
		if rng.IntN(3) == 0 {
			mustSync(t, w)
			fences = append(fences, w.Size())
		}
	}
	mustClose(t, w)
	var before int64
	for _, r := range dissect(t, readFile(t, m, logPath), 7) {
		want := before
		if slices.Contains(fences, before) {
			want = nextSector(before)
		}
		if r.typ == typeSeal {
			want = nextSector(before)
		}
		if r.start != want {
			t.Fatalf("record after offset %d starts at %d, want %d", before, r.start, want)
		}
		before = r.end
	}
}

// A lone caller that syncs each record leaves marks that lag by one record, and
// no mark records.
func TestMarkLagsOneSync(t *testing.T) {
	m := vfs.NewMem()
	w := mustCreate(t, m, logPath, 7, Options{})
	want := []int64{0} // of the log header
	var durable int64
	for i := range 20 {
		want = append(want, durable)
		durable = mustAppend(t, w, payload(i, 100))
		mustSync(t, w)
	}
	for i, r := range dissect(t, readFile(t, m, logPath), 7) {
		if r.mark != want[i] {
			t.Errorf("record %d has mark %d, want %d", i, r.mark, want[i])
		}
	}
}

// A reused file shows nothing of its former log, wherever the new one ends, not
// even when that had the same number.
func TestReuse(t *testing.T) {
	for _, oldNum := range []uint64{3, 7} {
		for n := range 60 {
			m := vfs.NewMem()
			old := mustCreate(t, m, "old", oldNum, Options{})
			for i := range 50 {
				mustAppend(t, old, payload(1000+i, 77))
			}
			if err := old.Abandon(); err != nil {
				t.Fatal(err)
			}
			w, err := Create(m, logPath, 7, Options{Reuse: "old"})
			if err != nil {
				t.Fatal(err)
			}
			var want [][]byte
			for i := range n {
				want = append(want, payload(i, 77))
				mustAppend(t, w, want[i])
			}
			got, tail, err := read(t, m, logPath, 7)
			if err != nil {
				t.Fatal(err)
			}
			wantPrefix(t, fmt.Sprintf("reused log, was %d", oldNum), got, want, n)
			if oldNum != 7 && tail.Dropped != 0 {
				t.Fatalf("%d bytes of the old log counted as torn off", tail.Dropped)
			}
			if _, err := m.Stat("old"); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("old name: %v", err)
			}
		}
	}
}

// Bytes of another log behind the live end are neither read nor damage.
func TestForeignTail(t *testing.T) {
	m := vfs.NewMem()
	old := mustCreate(t, m, "old", 3, Options{})
	for i := range 1000 {
		mustAppend(t, old, payload(i, 200))
		if i%10 == 0 {
			mustSync(t, old)
		}
	}
	mustClose(t, old)
	foreign := readFile(t, m, "old")[64<<10:][:64<<10]
	w := mustCreate(t, m, logPath, 7, Options{Preallocate: 256 << 10})
	var want [][]byte
	for i := range 100 {
		want = append(want, payload(i, 300))
		mustAppend(t, w, want[i])
	}
	mustSync(t, w)
	live := readFile(t, m, logPath)
	for shift := int64(0); shift < 2*sectorSize; shift += 37 {
		data := slices.Clone(live)
		copy(data[w.Size()+shift:], foreign)
		got, _, err := readData(t, data)
		if err != nil {
			t.Fatal(err)
		}
		wantPrefix(t, "log with a foreign tail", got, want, len(want))
	}
}

// Reserved space is grown ahead of the log, and given back by Trim.
func TestPreallocate(t *testing.T) {
	m := vfs.NewMem()
	w := mustCreate(t, m, logPath, 7, Options{Preallocate: 64 << 10})
	var want [][]byte
	for i := range 300 {
		want = append(want, payload(i, 1000))
		mustAppend(t, w, want[i])
		info, err := m.Stat(logPath)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size < w.Size() || info.Size > w.Size()+64<<10 {
			t.Fatalf("log of %d bytes in a file of %d", w.Size(), info.Size)
		}
	}
	end := nextSector(w.Size())
	if err := w.Trim(); err != nil {
		t.Fatal(err)
	}
	if info, _ := m.Stat(logPath); info.Size != end {
		t.Errorf("after Trim the file has %d bytes, want %d", info.Size, end)
	}
	mustClose(t, w)
	got, tail, err := read(t, m, logPath, 7)
	if err != nil || !tail.Sealed {
		t.Fatal(tail, err)
	}
	wantPrefix(t, "trimmed log", got, want, len(want))
}

// Whatever fails in Create, it leaves no file and no handle.
func TestCreateFails(t *testing.T) {
	for _, reuse := range []string{"", "old"} {
		for _, cause := range []error{syscall.EIO, vfs.Done(syscall.EIO)} {
			for n := uint64(1); ; n++ {
				m := memLog(t, "old", payload(0, 1000))
				closed, hit := false, vfs.Op{}
				fsys := vfs.NewFault(m, func(op vfs.Op) error {
					closed = closed || op.Kind == vfs.OpClose
					if op.Seq == n {
						hit = op
						return cause
					}
					return nil
				})
				_, err := Create(fsys, logPath, 7, Options{Reuse: reuse})
				if hit.Seq == 0 {
					break
				}
				if err == nil && hit.Kind == vfs.OpStat {
					continue // there was no such file, which is all that Create asks
				}
				_, statErr := m.Stat(logPath)
				if !errors.Is(err, syscall.EIO) || !errors.Is(statErr, fs.ErrNotExist) || hit.Kind == vfs.OpAppend && !closed {
					t.Errorf("%v fails with %v: %v; file: %v, closed: %v", hit.Kind, cause, err, statErr, closed)
				}
			}
		}
	}
}

// Create leaves an existing file alone.
func TestCreateExisting(t *testing.T) {
	m := memLog(t, logPath, []byte("precious"))
	if _, err := Create(m, logPath, 7, Options{}); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("got %v", err)
	}
	if got := readFile(t, m, logPath); string(got) != "precious" {
		t.Fatalf("file holds %q", got)
	}
}

// The largest payload is legal, one byte more is not.
func TestTooLarge(t *testing.T) {
	if err := checkSize(MaxPayload); err != nil {
		t.Error(err)
	}
	if err := checkSize(MaxPayload + 1); !errors.Is(err, key.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

// Every method has an answer after Close, and none of them harms the log.
func TestAfterClose(t *testing.T) {
	m := vfs.NewMem()
	w := mustCreate(t, m, logPath, 7, Options{})
	end := mustAppend(t, w, payload(0, 10))
	mustClose(t, w)
	if m.OpenFiles() != 0 {
		t.Errorf("%d files open", m.OpenFiles())
	}
	before := readFile(t, m, logPath)
	if err := w.Sync(end); err != nil {
		t.Errorf("Sync of durable bytes: %v", err)
	}
	_, err := w.Append([]byte("x"))
	for name, err := range map[string]error{"Append": err, "Close": w.Close(), "Abandon": w.Abandon(), "Trim": w.Trim()} {
		if !errors.Is(err, key.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if string(readFile(t, m, logPath)) != string(before) {
		t.Error("the file changed after Close")
	}
}

// nullFile takes everything and keeps nothing.
type nullFile struct{ vfs.File }

func (nullFile) Append([]byte) error  { return nil }
func (nullFile) Skip(int64) error     { return nil }
func (nullFile) Allocate(int64) error { return nil }
func (nullFile) Sync() error          { return nil }

// nullWriter returns a Writer over nothing.
func nullWriter(t testing.TB) *Writer {
	w := &Writer{fs: vfs.NewMem(), f: nullFile{}, path: logPath, num: 7, codec: newCodec(7)}
	w.group.init(&w.mu)
	return w
}

// Append and Sync do not allocate once the buffer has grown, and the buffer
// does not keep the size of the largest record.
func TestAppendDoesNotAllocate(t *testing.T) {
	w := nullWriter(t)
	p := payload(1, 140)
	if n := testing.AllocsPerRun(1000, func() {
		end, err := w.Append(p)
		if err == nil {
			err = w.Sync(end)
		}
		if err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations an append", n)
	}
	mustAppend(t, w, make([]byte, 8<<20))
	if cap(w.buf) > 2*maxCopied {
		t.Errorf("buffer of %d bytes after a huge record", cap(w.buf))
	}
}
