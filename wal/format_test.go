package wal

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/siftkv/sift/internal/coding"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/internal/vfs"
)

// goldenLog is the log 7, which follows the log 6, field by field: "hello", a
// sync, "sift", and the seal. docs/formats/log.md explains it.
var goldenLog = []struct {
	off   int64
	hex   string
	field string
}{
	{0, "5b1c1095", "crc"},
	{4, "28000000", "length 40"},
	{8, "03", "type 3, log header"},
	{9, "00000000000000", "mark 0"},
	{16, "c80de0f0", "hcrc"},
	{20, "01000000", "format version 1"},
	{24, "00000000", "flags: a fresh file"},
	{28, "175a000000000000", "salt"},
	{36, "0600000000000000", "follows log 6,"},
	{44, "1e02000000000000", "which ended at 542"},
	{52, "3c00000000000000", "and was durable up to 60"},
	{60, "fcc4d3b6", "crc"},
	{64, "05000000", "length 5"},
	{68, "01", "type 1, data"},
	{69, "00000000000000", "mark 0: no sync so far"},
	{76, "8920ffc6", "hcrc"},
	{80, "68656c6c6f", "hello"},
	{512, "129e2b98", "crc"},
	{516, "04000000", "length 4"},
	{520, "01", "type 1, data"},
	{521, "55000000000000", "mark 85: all before was durable"},
	{528, "eb3bfb47", "hcrc"},
	{532, "73696674", "sift"},
	{1024, "1c69e356", "crc"},
	{1028, "00000000", "length 0"},
	{1032, "02", "type 2, seal"},
	{1033, "18020000000000", "mark 536: the end of the log"},
	{1040, "f06e22e3", "hcrc"},
}

// exampleLog writes the log that goldenLog holds.
func exampleLog(t *testing.T) []byte {
	t.Helper()
	m := vfs.NewMem()
	old := mustCreate(t, m, "000006.log", 6, Options{})
	mustSync(t, old)
	mustAppend(t, old, []byte("0123456789"))
	w := mustCreate(t, m, logPath, 7, Options{After: old})
	mustAppend(t, w, []byte("hello"))
	mustSync(t, w)
	mustAppend(t, w, []byte("sift"))
	mustClose(t, w)
	return readFile(t, m, logPath)
}

// The format is pinned: these bytes stand on people's disks.
func TestGolden(t *testing.T) {
	got := exampleLog(t)
	want := make([]byte, len(got))
	for _, g := range goldenLog {
		b, err := hex.DecodeString(g.hex)
		if err != nil {
			t.Fatal(err)
		}
		copy(want[g.off:], b)
		if have := got[g.off:][:len(b)]; !bytes.Equal(have, b) {
			t.Errorf("offset %d, %s: %x, want %x", g.off, g.field, have, b)
		}
	}
	if !bytes.Equal(got, want) {
		t.Error("bytes outside the fields differ")
	}
	records, tail, err := readData(t, want)
	if err != nil {
		t.Fatal(err)
	}
	wantPrefix(t, "golden log", records, [][]byte{[]byte("hello"), []byte("sift")}, 2)
	if want := (Tail{End: 1044, Sealed: true, Mark: 536, Prev: PrevLog{6, 542, 60}}); tail != want {
		t.Errorf("tail %+v, want %+v", tail, want)
	}
}

// The worked example in the documentation is what the encoder writes.
func TestDocExample(t *testing.T) {
	doc, err := os.ReadFile("../docs/formats/log.md")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, g := range goldenLog {
		fmt.Fprintf(&b, "%5d  %-16s  %s\n", g.off, g.hex, g.field)
	}
	if !strings.Contains(string(doc), b.String()) {
		t.Errorf("docs/formats/log.md does not contain\n%s", b.String())
	}
}

// sign sets the checksums of a log's records, which stand at the given offsets,
// to what they must be.
func sign(data []byte, num uint64, offsets ...int64) {
	c := newCodec(num)
	var crc uint32
	for _, off := range offsets {
		b := data[off:]
		binary.LittleEndian.PutUint32(b[16:], c.hcrc(off, b[4:16]))
		n := min(int64(binary.LittleEndian.Uint32(b[4:])), int64(len(b)-headerLen))
		crc = coding.ExtendCRC(crc, b[4:headerLen+n])
		binary.LittleEndian.PutUint32(b, crc)
	}
}

// A record of any type but data, mark and seal is corruption, even with good
// checksums and whatever it holds: it is neither skipped nor taken for padding.
func TestUnknownTypes(t *testing.T) {
	pristine := exampleLog(t)
	for typ := range 256 {
		for _, signed := range []bool{false, true} {
			data := bytes.Clone(pristine)
			data[512+8] = byte(typ)
			if signed {
				sign(data, 7, 0, 60, 512, 1024)
			}
			got, _, err := readData(t, data)
			known := recordType(typ) == typeData || signed && (recordType(typ) == typeMark || recordType(typ) == typeSeal)
			if !known && (!isCorrupt(err) || len(got) != 1) {
				t.Errorf("type %d, signed %v: %d records, %v", typ, signed, len(got), err)
			}
			if known && err != nil {
				t.Errorf("type %d, signed %v: %v", typ, signed, err)
			}
		}
	}
}

// A log of a newer format is refused as such, before anything else is read of it.
// One without a sound log header is corrupt.
func TestVersions(t *testing.T) {
	pristine := exampleLog(t)
	for version, want := range map[uint32]error{0: key.ErrCorrupt, 1: nil, 2: key.ErrVersion, 1 << 31: key.ErrVersion} {
		data := bytes.Clone(pristine)
		binary.LittleEndian.PutUint32(data[headerLen:], version)
		if version > 1 { // a newer header may look different from there on
			for i := headerLen + 4; i < headerLen+logHeaderLen; i++ {
				data[i] = 0xee
			}
		}
		sign(data, 7, 0, 60, 512, 1024)
		if _, _, err := readData(t, data); !errors.Is(err, want) {
			t.Errorf("version %d: %v, want %v", version, err, want)
		}
	}
}

// The fields of a log header that make no sense are corruption.
func TestBadLogHeader(t *testing.T) {
	pristine := exampleLog(t)
	for what, change := range map[string]func(b []byte){
		"unknown flag":          func(b []byte) { b[24] = 2 },
		"synced beyond the end": func(b []byte) { b[53] = 0x10 },
		"negative end":          func(b []byte) { b[51] = 0x80 },
		"negative synced":       func(b []byte) { b[59] = 0x80 },
		"short":                 func(b []byte) { b[4] = 39 },
		"data first":            func(b []byte) { b[8] = 1 },
	} {
		data := bytes.Clone(pristine[:headerLen+logHeaderLen]) // nothing behind it tells of damage
		change(data)
		sign(data, 7, 0)
		if _, _, err := readData(t, data); !isCorrupt(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A mark beyond the records before it cannot have been written. Where it stands
// in the next record that is corruption; anywhere else it is no header.
func TestImpossibleMarks(t *testing.T) {
	for _, mark := range []int64{86, 511, 512, 513, 1 << 40} {
		data := exampleLog(t)
		binary.LittleEndian.PutUint64(data[512+8:], uint64(mark)<<8|uint64(typeData))
		sign(data, 7, 0, 60, 512, 1024)
		if got, _, err := readData(t, data); !isCorrupt(err) || len(got) != 1 {
			t.Errorf("mark %d in a record: %d records, %v", mark, len(got), err)
		}
	}
	data := exampleLog(t)[:512]
	c := newCodec(7)
	data = append(data, make([]byte, 512)...)
	data = c.appendHeader(data, 1024, header{100, typeData, 1025})
	if got, _, err := readData(t, data); err != nil || len(got) != 1 {
		t.Errorf("impossible mark in the tail: %d records, %v", len(got), err)
	}
}

// What stands behind a seal is not of this log, even if it could be.
func TestNothingAfterSeal(t *testing.T) {
	data := exampleLog(t)
	c := newCodec(7)
	data = append(c.appendHeader(data, 1044, header{4, typeData, 536}), "more"...)
	sign(data, 7, 0, 60, 512, 1024, 1044)
	got, tail, err := readData(t, data)
	if err != nil || len(got) != 2 || !tail.Sealed || tail.End != 1044 {
		t.Errorf("%d records, %+v, %v", len(got), tail, err)
	}
}

// The checksum that ends the example's first header, worked out by hand: CRC32C
// of the number, the offset, and bytes 4 to 16.
func TestHeaderChecksum(t *testing.T) {
	data := exampleLog(t)
	in := binary.LittleEndian.AppendUint64(nil, 7)
	in = binary.LittleEndian.AppendUint64(in, 512)
	in = append(in, data[512+4:512+16]...)
	if got, want := binary.LittleEndian.Uint32(data[512+16:]), coding.CRC(in); got != want {
		t.Errorf("hcrc %08x, want %08x", got, want)
	}
	all := bytes.Join([][]byte{data[4:60], data[60+4 : 85], data[512+4 : 536]}, nil)
	if got, want := binary.LittleEndian.Uint32(data[512:]), coding.CRC(all); got != want {
		t.Errorf("crc %08x, want %08x", got, want)
	}
}
