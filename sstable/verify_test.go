package sstable

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/internal/key"
)

// Tables whose checksums are right and whose contents are not, as bad memory or
// a bug of the writer would make them: Verify finds each.
func TestVerifyFindsLies(t *testing.T) {
	user := func(i int) []byte { return fmt.Appendf(nil, "key%03d", i) }
	for what, lie := range map[string]struct {
		before func(*Writer) // Finish
		want   string
	}{
		"nothing":                   {func(*Writer) {}, ""},
		"sum":                       {func(w *Writer) { w.props.Sum++ }, "conservation sum"},
		"count":                     {func(w *Writer) { w.props.Entries++ }, "field 2"},
		"deletes":                   {func(w *Writer) { w.props.Deletes++ }, "field 3"},
		"largest seq":               {func(w *Writer) { w.props.MaxSeq++ }, "field 8"},
		"smallest bound":            {func(w *Writer) { w.props.Smallest.User = []byte("l") }, "bounds"},
		"largest bound":             {func(w *Writer) { w.last = []byte("key038x") }, "after the separator"},
		"separator early":           {func(w *Writer) { w.index.keys[w.index.entries[0].keyEnd-1] = 0 }, "after the separator"},
		"separator late":            {func(w *Writer) { copy(w.index.key(0), "key999") }, "index block"},
		"separator on the next key": {func(w *Writer) { w.index.keys[w.index.entries[0].keyEnd-1]++ }, "not after the separator"},
		"filter lacks a key": {func(w *Writer) {
			w.filter, _ = bloom.NewBuilder(bloom.Blocked, 20)
			for i := range 39 {
				w.filter.Add(bloom.Hash(user(i)))
			}
		}, "filter denies"},
		"no filter": {func(w *Writer) { w.filter = nil }, ""},
		"order": {func(w *Writer) {
			w.data.add([]byte("key000"), 0, nil, 0)
			w.props.Entries++
		}, "not after"},
		"range deletions": {func(w *Writer) {
			w.ranges.block.add([]byte("b"), key.MakeTrailer(1, key.RangeDelete), []byte("a"), 0)
			w.props.RangeDeletes++
		}, "has the end"},
	} {
		f := new(memFile)
		w := NewWriter(f, WriterOptions{ID: testID, BlockSize: 100, BitsPerKey: 10})
		addAll(t, w, 40, user)
		lie.before(w)
		if _, err := w.Finish(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		r, err := Open(&bytesFile{data: f.data}, ReaderOptions{Name: "000007.sst"})
		if err == nil {
			err = r.Verify()
		}
		switch {
		case lie.want == "" && err != nil:
			t.Errorf("%s: %v", what, err)
		case lie.want != "" && (!errors.Is(err, key.ErrCorrupt) || !strings.Contains(err.Error(), lie.want)):
			t.Errorf("%s: error %v, want one about %q", what, err, lie.want)
		}
	}
}

func addAll(t *testing.T, w *Writer, n int, user func(int) []byte) {
	t.Helper()
	for i := range n {
		if err := w.Add(key.Make(user(i), 5, key.Set), []byte("value")); err != nil {
			t.Fatal(err)
		}
	}
}

// A footer with the right check must still describe blocks that fill the tail.
func TestFooterPlaces(t *testing.T) {
	const size, id = 1000 + footerLen, 7
	good := footer{
		filter: Handle{500, 100}, index: Handle{600, 200}, rangeDel: Handle{800, 0},
		properties: Handle{800, 200}, id: id, tailOff: 500,
	}
	decode := func(f footer) error {
		_, err := decodeFooter(f.appendTo(nil), "000007.sst", size)
		return err
	}
	if err := decode(good); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*footer){
		"tail begins elsewhere":       func(f *footer) { f.tailOff-- },
		"tail behind the file":        func(f *footer) { f.tailOff = 1 << 40; f.filter.Off = 1 << 40 },
		"gap before the index":        func(f *footer) { f.index.Off++ },
		"overlap":                     func(f *footer) { f.index.Off-- },
		"gap before the footer":       func(f *footer) { f.properties.Len-- },
		"overlaps the footer":         func(f *footer) { f.properties.Len++ },
		"index missing":               func(f *footer) { f.index.Len = 0; f.rangeDel.Off = 600; f.properties = Handle{600, 400} },
		"index too short":             func(f *footer) { f.index.Len = 5; f.rangeDel.Off = 605; f.properties = Handle{605, 395} },
		"length wraps around":         func(f *footer) { f.filter.Len = ^uint64(0) - 10 },
		"properties missing":          func(f *footer) { f.index.Len = 400; f.rangeDel.Off = 1000; f.properties = Handle{1000, 0} },
		"range deletions too short":   func(f *footer) { f.rangeDel.Len = 3; f.properties = Handle{803, 197} },
		"absent block at wrong place": func(f *footer) { f.rangeDel.Off = 0 },
	} {
		f := good
		change(&f)
		if err := decode(f); !typed(err) {
			t.Errorf("%s: error %v", what, err)
		}
	}
}
