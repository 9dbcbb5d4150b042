package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"github.com/siftkv/sift/internal/coding"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

// reference reads a log the way docs/formats/log.md says it, with the whole file
// in hand and no thought of speed.
func reference(data []byte, num uint64) (payloads [][]byte, end int64, damaged bool) {
	c := newCodec(num)
	var crc uint32
	header := func(pos int64) (header, bool) {
		if pos+headerLen > int64(len(data)) {
			return header{}, false
		}
		return c.parse(data[pos:], pos)
	}
	for {
		pos := end
		h, ok := header(pos)
		if !ok {
			pos = nextSector(end)
			h, ok = header(pos)
		}
		next := pos + headerLen + int64(h.length)
		if !ok || next > int64(len(data)) || h.length > MaxPayload {
			break
		}
		sum := coding.ExtendCRC(crc, data[pos+4:next])
		if sum != binary.LittleEndian.Uint32(data[pos:]) {
			break
		}
		payload := data[pos+headerLen : next]
		bad := h.mark > end || (h.typ == typeLogHeader) != (pos == 0) || h.typ == 0 || h.typ > typeMark
		if pos == 0 && !bad {
			_, err := decodeLogHeader(payload)
			bad = err != nil || binary.LittleEndian.Uint32(payload) != formatVersion
		}
		if bad {
			return payloads, end, true
		}
		crc, end = sum, next
		if h.typ == typeSeal {
			return payloads, end, false
		}
		if h.typ == typeData {
			payloads = append(payloads, payload)
		}
	}
	for pos := end; pos < int64(len(data)); {
		h, ok := header(pos)
		if !ok {
			pos = nextSector(pos + 1)
			continue
		}
		if h.mark > end {
			return payloads, end, true
		}
		pos += headerLen + int64(h.length)
	}
	return payloads, end, false
}

// resign sets the checksums of whatever stands where records may stand, so that
// the fuzzer gets past them. A record that is all zeros up to its type is a gap.
func resign(data []byte, num uint64) {
	var offsets []int64
	for pos := int64(0); pos+headerLen <= int64(len(data)); {
		if binary.LittleEndian.Uint64(data[pos:]) == 0 && data[pos+8] == 0 {
			pos = nextSector(pos + 1)
			continue
		}
		offsets = append(offsets, pos)
		pos += headerLen + int64(binary.LittleEndian.Uint32(data[pos+4:]))
	}
	sign(data, num, offsets...)
}

// Any bytes, with good checksums or bad ones, are read without a panic, and as
// the format says.
func FuzzReader(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s.data, false)
		f.Add(s.data, true)
		f.Add(s.data[:len(s.data)/2], true)
	}
	f.Fuzz(func(t *testing.T, data []byte, signed bool) {
		if signed {
			resign(data, 7)
		}
		var got [][]byte
		var tail Tail
		var err error
		// The payloads are copied, once; the reader has windows and a buffer.
		allocates(t, 16*windowSize+4*uint64(len(data)), func() { got, tail, err = readData(t, data) })
		if errors.Is(err, key.ErrVersion) {
			return
		}
		want, end, damaged := reference(data, 7)
		if damaged != isCorrupt(err) || !damaged && err != nil {
			t.Fatalf("error %v, the reference says damaged: %v", err, damaged)
		}
		wantPrefix(t, "fuzzed log", got, want, len(want))
		if !damaged && (tail.End != end || tail.Dropped < 0 || tail.End+tail.Dropped > int64(len(data))) {
			t.Fatalf("tail %+v, want end %d in %d bytes", tail, end, len(data))
		}
	})
}

// allocates fails the test if f allocates more than limit bytes in all.
func allocates(t *testing.T, limit uint64, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > limit {
		t.Fatalf("%d bytes allocated, the limit is %d", n, limit)
	}
}

// A file that is all headers, each of which claims as much as it can, or
// nothing, costs one pass and no memory.
func TestHostileLengths(t *testing.T) {
	const size = 1 << 20
	for _, length := range []uint32{0, 1, 1000, sectorSize - headerLen, size, MaxPayload, MaxPayload + 1, 1<<32 - 1} {
		c := newCodec(7)
		data := make([]byte, 0, size)
		for len(data) < size-sectorSize {
			data = c.appendHeader(data, int64(len(data)), header{length, typeData, 0})
			if length > 0 {
				data = append(data, make([]byte, nextSector(int64(len(data)))-int64(len(data)))...)
			}
		}
		f := &countingFile{bytesFile: bytesFile{data: data}}
		if _, _, err := readFrom(t, f, logPath, 7); err != nil {
			t.Errorf("length %d: %v", length, err)
		}
		if f.read > 2*size+2*windowSize || f.largest > size {
			t.Errorf("length %d: read %d bytes of %d, at most %d at once", length, f.read, size, f.largest)
		}
	}
}

// The torn tail is counted to its last byte, wherever that lies between the
// pieces that are read.
func TestDroppedAtWindowEdges(t *testing.T) {
	m := vfs.NewMem()
	w := mustCreate(t, m, logPath, 7, Options{})
	end := mustAppend(t, w, payload(0, 100))
	log := readFile(t, m, logPath)
	for d := int64(-sectorSize); d <= sectorSize; d += 11 {
		data := append(bytes.Clone(log), make([]byte, 2*windowSize)...)
		data[end+windowSize+d] = 1
		_, tail, err := readData(t, data)
		if want := windowSize + d + 1; err != nil || tail.Dropped != want {
			t.Fatalf("dropped %d, want %d, %v", tail.Dropped, want, err)
		}
	}
}

// A huge record does not leave the reader with a huge buffer.
func TestBufferShrinks(t *testing.T) {
	m := vfs.NewMem()
	w := mustCreate(t, m, logPath, 7, Options{})
	mustAppend(t, w, payload(0, 8*windowSize))
	for i := range 3 {
		mustAppend(t, w, payload(i, windowSize))
	}
	f, err := m.Open(logPath)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := NewReader(f, logPath, 7)
	for range 4 {
		if err == nil {
			_, err = r.Next()
		}
	}
	if err != nil || cap(r.win.buf) > 4*windowSize {
		t.Errorf("buffer of %d bytes, %v", cap(r.win.buf), err)
	}
}

// countingFile counts what is read of it.
type countingFile struct {
	bytesFile
	read, largest int
}

func (f *countingFile) ReadAt(p []byte, off int64) (int, error) {
	f.read += len(p)
	f.largest = max(f.largest, len(p))
	return f.bytesFile.ReadAt(p, off)
}

// A log is read in few and large pieces, and hardly any byte twice.
func TestReadsAreLarge(t *testing.T) {
	w := nullWriter(t)
	log := &appendFile{}
	w.f = log
	if err := w.append(typeLogHeader, logHeader{version: formatVersion}.encode()); err != nil {
		t.Fatal(err)
	}
	for i := range 20000 {
		mustAppend(t, w, payload(i, 140))
	}
	f := &countingFile{bytesFile: bytesFile{data: log.data}}
	got, _, err := readFrom(t, f, logPath, 7)
	if err != nil || len(got) != 20000 {
		t.Fatal(len(got), err)
	}
	if f.read > len(log.data)*11/10 {
		t.Errorf("read %d bytes of a log of %d", f.read, len(log.data))
	}
}

// appendFile keeps what is appended.
type appendFile struct {
	nullFile
	data []byte
}

func (f *appendFile) Append(p []byte) error {
	f.data = append(f.data, p...)
	return nil
}
