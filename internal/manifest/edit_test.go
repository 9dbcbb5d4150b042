package manifest

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/siftkv/sift/internal/key"
)

// fullEdit has every field set, each to a value of its own.
func fullEdit() *Edit {
	return &Edit{
		Format: 1, LogNum: 7, NextFileNum: 300, LastSeq: 1 << 40,
		Closed:  ClosedLog{Num: 8, End: 1000},
		Deleted: []DeletedTable{{0, 3}, {6, 200}},
		Added: []NewTable{{1, &TableMeta{
			Num: 5, ID: 0x1122334455667788, Size: 4096,
			Smallest: key.Make([]byte("a"), 9, key.Set),
			Largest:  key.Make([]byte("zz"), 2, key.Delete),
			Entries:  10, Deletes: 4, RangeDeletes: 1, RawKeyBytes: 111, RawValueBytes: 222,
			MinSeq: 2, MaxSeq: 9, FilterOff: 3000, FilterLen: 64, TailOff: 2999, Sum: 0xaabbccdd00112233,
		}}},
	}
}

// goldenEdit is fullEdit in bytes, field by field.
var goldenEdit = strings.Join([]string{
	"02 01 01",                 // format 1
	"04 01 07",                 // log number 7
	"06 02 ac02",               // next file number 300
	"08 06 808080808020",       // last sequence number 2^40
	"03 03 08 e807",            // closed with log 8, which ends at 1000
	"0a 02 00 03",              // level 0 loses table 3
	"0a 03 06 c801",            // level 6 loses table 200
	"0c 36 01",                 // level 1 gets
	"05 8877665544332211",      // table 5 with its id
	"8020",                     // of 4096 bytes
	"09 61 0109000000000000",   // from "a", sequence number 9, set
	"0a 7a7a 0002000000000000", // to "zz", sequence number 2, delete
	"0a 04 01",                 // entries, deletes, range deletes
	"6f de01",                  // raw bytes of keys and values
	"02 09",                    // smallest and largest sequence number
	"b817 40 b717",             // filter at 3000, 64 long; tail at 2999
	"33221100ddccbbaa",         // sum
}, " ")

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The format is pinned: these bytes stand in people's databases.
func TestEditGolden(t *testing.T) {
	want := unhex(t, goldenEdit)
	if got := fullEdit().Append(nil); !bytes.Equal(got, want) {
		t.Errorf("encoded\n%x, want\n%x", got, want)
	}
	got, err := DecodeEdit(want, "MANIFEST-000001", 0)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, fullEdit()) {
		t.Errorf("decoded %+v", got)
	}
}

// What DecodeEdit returns stays as it is when the caller reuses its buffer.
func TestDecodeEditOwnsItsBytes(t *testing.T) {
	b := unhex(t, goldenEdit)
	got, err := DecodeEdit(b, "MANIFEST-000001", 0)
	if err != nil {
		t.Fatal(err)
	}
	clear(b)
	if !reflect.DeepEqual(got, fullEdit()) {
		t.Errorf("decoded %+v", got)
	}
}

// A field of a later release is skipped where it says that it may be, and
// otherwise stops the reader with ErrVersion, in the edit and in a table.
func TestUnknownFields(t *testing.T) {
	table := appendTable([]byte{1}, fullEdit().Added[0].Meta)
	inTable := func(field ...byte) []byte {
		return appendField(nil, tagAdded, append(bytes.Clone(table), field...))
	}
	for _, c := range []struct {
		what    string
		b       []byte
		version bool
	}{
		{"keyspace created", []byte{14, 0}, true},
		{"keyspace dropped", []byte{16, 1, 9}, true},
		{"value file added", []byte{18, 0}, true},
		{"value file deleted", []byte{20, 0}, true},
		{"garbage in a value file", []byte{23, 2, 1, 1}, false},
		{"unknown, may be skipped", []byte{0x81, 0x80, 0x04, 3, 1, 2, 3}, false},
		{"unknown", []byte{0x80, 0x80, 0x04, 3, 1, 2, 3}, true},
		{"table's keyspace", inTable(2, 1, 1), true},
		{"table's value files", inTable(4, 1, 1), true},
		{"table's expiry", inTable(7, 2, 1, 1), false},
		{"format 2", []byte{2, 1, 2}, true},
	} {
		e, err := DecodeEdit(append(c.b, tagLogNum, 1, 42), "MANIFEST-000001", 512)
		switch {
		case c.version && (!errors.Is(err, key.ErrVersion) || errors.Is(err, key.ErrCorrupt)):
			t.Errorf("%s: %v, want ErrVersion", c.what, err)
		case !c.version && err != nil:
			t.Errorf("%s: %v, want it skipped", c.what, err)
		case !c.version && e.LogNum != 42:
			t.Errorf("%s: the field after it was lost", c.what)
		}
	}
}

// Bounds of a kind that this release does not know are from a later one.
func TestUnknownKindInBounds(t *testing.T) {
	e := fullEdit()
	e.Added[0].Meta.Largest = key.Make([]byte("zz"), 2, 99)
	if _, err := DecodeEdit(e.Append(nil), "MANIFEST-000001", 0); !errors.Is(err, key.ErrVersion) {
		t.Errorf("%v, want ErrVersion", err)
	}
}

// Each impossible value is found, and the error names file and offset.
func TestDecodeEditRefuses(t *testing.T) {
	broken := func(change func(*TableMeta)) []byte {
		e := fullEdit()
		change(e.Added[0].Meta)
		return e.Append(nil)
	}
	uv := func(tag byte, nums ...uint64) []byte {
		var body []byte
		for _, n := range nums {
			body = binary.AppendUvarint(body, n)
		}
		return appendField(nil, uint64(tag), body)
	}
	for what, b := range map[string][]byte{
		"a tag alone":             {4},
		"a body cut off":          {4, 2, 1},
		"a length beyond memory":  {4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
		"an overlong tag":         {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"bytes after a number":    {4, 2, 1, 1},
		"a number cut off":        {4, 1, 0x80},
		"an empty number":         {4, 0},
		"level 7 deleted":         uv(tagDeleted, 7, 1),
		"level 2^64-1 deleted":    uv(tagDeleted, 1<<64-1, 1),
		"bytes after a deletion":  uv(tagDeleted, 1, 1, 1),
		"a table cut off":         uv(tagAdded, 1, 1),
		"level 7 added":           appendField(nil, tagAdded, appendTable([]byte{7}, fullEdit().Added[0].Meta)),
		"a stray byte in a table": appendField(nil, tagAdded, append(appendTable([]byte{1}, fullEdit().Added[0].Meta), 7)),
		"number 0":                broken(func(m *TableMeta) { m.Num = 0 }),
		"number too large":        broken(func(m *TableMeta) { m.Num = MaxFileNum + 1 }),
		"size 0":                  broken(func(m *TableMeta) { m.Size = 0 }),
		"size below 0":            broken(func(m *TableMeta) { m.Size = -1 }),
		"bounds swapped":          broken(func(m *TableMeta) { m.Smallest, m.Largest = m.Largest, m.Smallest }),
		"a key too long":          broken(func(m *TableMeta) { m.Largest.User = bytes.Repeat([]byte("z"), 1<<16) }),
		"sequence numbers":        broken(func(m *TableMeta) { m.MinSeq = m.MaxSeq + 1 }),
		"sequence number 2^56":    broken(func(m *TableMeta) { m.MaxSeq = 1 << 56 }),
		"too many deletes":        broken(func(m *TableMeta) { m.Deletes = m.Entries + 1 }),
		"filter past the end":     broken(func(m *TableMeta) { m.FilterLen = 1097 }),
		"filter length overflows": broken(func(m *TableMeta) { m.FilterLen = 1<<64 - 1 }),
		"tail past the end":       broken(func(m *TableMeta) { m.TailOff = 4097 }),
	} {
		_, err := DecodeEdit(b, "db/MANIFEST-000009", 4711)
		var corrupt *key.CorruptionError
		if !errors.As(err, &corrupt) || corrupt.File != "MANIFEST-000009" || corrupt.Offset != 4711 {
			t.Errorf("%s: %v, want a CorruptionError with file and offset", what, err)
		}
	}
}

// A prefix of an edit is an edit only where it ends with a field.
func TestDecodeEditTruncated(t *testing.T) {
	b := unhex(t, goldenEdit)
	whole := map[int]bool{0: true, 3: true, 6: true, 10: true, 18: true, 23: true, 27: true, 32: true}
	for n := range b {
		if _, err := DecodeEdit(b[:n], "MANIFEST-000001", 0); (err == nil) != whole[n] {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
