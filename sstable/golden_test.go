package sstable

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/internal/key"
)

var update = flag.Bool("update", false, "write the golden files anew; only before a format is released")

var dumpLine = regexp.MustCompile(`(?m)^([0-9a-f]{4})  ((?:[0-9a-f]{2} ?)+)(?:  |$)`)

// The worked example of the format's page is what the writer writes.
func TestExampleOfTheFormatPage(t *testing.T) {
	page, err := os.ReadFile("../docs/formats/table.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []byte
	for _, m := range dumpLine.FindAllSubmatch(page, -1) {
		if off, _ := strconv.ParseInt(string(m[1]), 16, 64); int(off) != len(documented) {
			t.Fatalf("line %s follows %04x bytes", m[1], len(documented))
		}
		b, err := hex.DecodeString(strings.ReplaceAll(string(m[2]), " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		documented = append(documented, b...)
	}
	es := []entry{set("apple", 3, "red"), set("apple", 1, "green"), del("pear", 2)}
	written, _ := tableFile(t, WriterOptions{ID: 0x0123456789abcdef}, es)
	if !bytes.Equal(documented, written) {
		t.Errorf("documented\n%x, written\n%x", documented, written)
	}
	checkTable(t, openBytes(t, documented, ReaderOptions{}), es)
}

// goldenTables are written by one build and read by every later one, on every
// architecture: keys of all tail lengths of the hash, filters of both kinds.
func goldenTables() map[string]struct {
	o  WriterOptions
	es []entry
} {
	var es []entry
	for n := range 65 {
		user := make([]byte, n)
		for i := range user {
			user[i] = byte(37 * (i + 1))
		}
		es = append(es, set(string(user), uint64(1000+n), strings.Repeat(fmt.Sprintf("value %d ", n), 3)), del(string(user), uint64(n)))
	}
	es = sorted(es)
	return map[string]struct {
		o  WriterOptions
		es []entry
	}{
		"plain":   {WriterOptions{ID: testID, BlockSize: 512, BitsPerKey: 10}, es},
		"snappy":  {WriterOptions{ID: testID, BlockSize: 512, Compression: Snappy, RestartInterval: 4}, es},
		"classic": {WriterOptions{ID: testID, BlockSize: 1, FilterKind: bloom.Classic, BitsPerKey: 16}, es[:40]},
	}
}

// Golden tables are read in full, their filters deny no key, and today's writer
// still writes the same bytes; those of the filter are package bloom's to keep.
func TestGoldenTables(t *testing.T) {
	for name, g := range goldenTables() {
		path := "testdata/v1-" + name + ".sst"
		written, info := tableFile(t, g.o, g.es)
		if *update {
			if err := os.WriteFile(path, written, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		golden, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(withoutFilter(golden, info), withoutFilter(written, info)) {
			t.Errorf("%s: the writer no longer writes these bytes", path)
		}
		r := openBytes(t, golden, ReaderOptions{ID: testID})
		checkTable(t, r, g.es)
		if r.Filter() != info.Filter {
			t.Errorf("%s: filter at %+v, want %+v", path, r.Filter(), info.Filter)
		}
		for _, e := range g.es {
			checkGet(t, r, g.es, e.k.User, key.MaxSeq)
		}
	}
}

// withoutFilter returns the table with zeros for the filter block.
func withoutFilter(table []byte, info Info) []byte {
	table = bytes.Clone(table)
	if uint64(len(table)) >= info.Filter.end() {
		clear(table[info.Filter.Off:info.Filter.end()])
	}
	return table
}
