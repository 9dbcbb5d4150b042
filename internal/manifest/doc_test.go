package manifest

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/siftkv/sift/internal/key"
)

// exampleEdit is the edit that docs/formats/manifest.md explains: a memtable has
// become table 12, on level 0, and the logs before log 11 are not needed.
var exampleEdit = &Edit{
	LogNum: 11, NextFileNum: 13, LastSeq: 300,
	Added: []NewTable{{0, &TableMeta{
		Num: 12, ID: 0x0123456789abcdef, Size: 5000,
		Smallest: key.Make([]byte("ant"), 300, key.Set),
		Largest:  key.Make([]byte("bee"), 201, key.Delete),
		Entries:  100, Deletes: 40, RawKeyBytes: 1100, RawValueBytes: 6000,
		MinSeq: 201, MaxSeq: 300, FilterOff: 4096, FilterLen: 150, TailOff: 4096, Sum: 0xfeed,
	}}},
}

var exampleFields = []struct{ hex, field string }{
	{"04 01 0b", "logs before log 11 are not needed"},
	{"06 01 0d", "the next file number is 13"},
	{"08 02 ac02", "the last sequence number is 300"},
	{"0c 3d 00", "on level 0 there is a new table, 61 bytes with the level:"},
	{"0c", "number 12"},
	{"efcdab8967452301", "id"},
	{"8827", "5000 bytes long"},
	{"0b 616e74 012c010000000000", `from "ant", sequence number 300, set`},
	{"0b 626565 00c9000000000000", `to "bee", sequence number 201, delete`},
	{"64 28 00", "100 entries, 40 of them tombstones, no range deletion"},
	{"cc08 f02e", "1100 bytes of keys, 6000 of values"},
	{"c901 ac02", "sequence numbers 201 to 300"},
	{"8020 9601 8020", "filter at 4096, 150 bytes long; tail at 4096"},
	{"edfe000000000000", "conservation sum"},
}

// The bytes of CURRENT in the documentation are what setCurrent writes.
func TestDocCurrent(t *testing.T) {
	m := newDir(t)
	if err := setCurrent(m, "db", 7); err != nil {
		t.Fatal(err)
	}
	b := get(t, m, currentName)
	want := fmt.Sprintf("%x %x %x    MANIFEST-000007\n", b[:9], b[9:15], b[15:])
	doc, err := os.ReadFile("../../docs/formats/current.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), want) {
		t.Errorf("docs/formats/current.md does not contain %s", want)
	}
}

// The worked example in the documentation is what the encoder writes.
func TestDocExample(t *testing.T) {
	var all, text strings.Builder
	for _, f := range exampleFields {
		all.WriteString(f.hex)
		fmt.Fprintf(&text, "%-28s %s\n", f.hex, f.field)
	}
	if got, want := exampleEdit.Append(nil), unhex(t, all.String()); !bytes.Equal(got, want) {
		t.Errorf("encoded\n%x, want\n%x", got, want)
	}
	doc, err := os.ReadFile("../../docs/formats/manifest.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), text.String()) {
		t.Errorf("docs/formats/manifest.md does not contain\n%s", text.String())
	}
}
