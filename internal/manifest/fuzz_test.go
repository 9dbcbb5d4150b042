package manifest

import (
	"errors"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/siftkv/sift/internal/key"
)

// The structures that FuzzDecode knows.
const (
	fuzzEdit = iota
	fuzzCurrent
	fuzzManifest
	fuzzStructures
)

// FuzzDecode reads any bytes as the structure that its first argument chooses.
// None panics, takes memory out of proportion, or gives an error without a type.
func FuzzDecode(f *testing.F) {
	golden := unhex(f, goldenEdit)
	for _, b := range [][]byte{
		{},
		golden,
		(&Edit{LogNum: 1}).Append(nil),
		append(unhex(f, goldenEdit), 0x81, 0x01, 2, 0, 0),
		{12, 0xff, 0xff, 0xff, 0xff, 0x0f},
	} {
		f.Add(uint8(fuzzEdit), b)
		f.Add(uint8(fuzzManifest), append([]byte{uint8(len(b))}, b...))
	}
	for _, s := range []string{"", "MANIFEST-000007\n", "MANIFEST-000007\r\n", "MANIFEST-0000007\n", "../MANIFEST-000007\n", strings.Repeat("MANIFEST-", 20)} {
		f.Add(uint8(fuzzCurrent), []byte(s))
	}
	f.Fuzz(func(t *testing.T, structure uint8, b []byte) {
		allocates(t, 1<<20+64*uint64(len(b)), func() {
			switch structure % fuzzStructures {
			case fuzzEdit:
				checkEdit(t, b)
			case fuzzCurrent:
				checkCurrent(t, string(b))
			case fuzzManifest:
				checkManifest(t, b)
			}
		})
	})
}

// checkEdit wants an error, or an edit that survives encoding. A sum over the
// record is the log's affair, so that the fuzzer is past it already.
func checkEdit(t *testing.T, b []byte) {
	e, err := DecodeEdit(b, "MANIFEST-000001", 0)
	if err != nil {
		if e != nil {
			t.Fatalf("%v with error %v", e, err)
		}
		wantVerdict(t, err)
		return
	}
	again, err := DecodeEdit(e.Append(nil), "MANIFEST-000001", 0)
	if err != nil || !reflect.DeepEqual(e, again) {
		t.Fatalf("%+v came back as %+v, %v", e, again, err)
	}
}

// currentPattern is what docs/formats/current.md says that CURRENT holds; a
// number of at most 16 digits is surely one that a file may have.
var currentPattern = regexp.MustCompile(`^MANIFEST-([0-9]{6}|[1-9][0-9]{6,15})\n$`)

// checkCurrent compares the reader of CURRENT with its format.
func checkCurrent(t *testing.T, content string) {
	m := newDir(t)
	put(t, m, currentName, content)
	num, err := readCurrent(m, "db")
	if err != nil {
		wantVerdict(t, err)
	}
	named := currentPattern.MatchString(content) && content != "MANIFEST-000000\n"
	if named && err != nil {
		t.Fatalf("CURRENT of %q: %v", content, err)
	}
	if err == nil && name(Manifest, num)+"\n" != content {
		t.Fatalf("CURRENT of %q names manifest %d", content, num)
	}
}

// checkManifest loads a manifest with these records, each behind a byte that
// says how long it is, in a log whose sums are right.
func checkManifest(t *testing.T, b []byte) {
	var records [][]byte
	for len(b) > 0 && len(records) < 100 {
		n := min(int(b[0]), len(b)-1)
		records = append(records, b[1:1+n])
		b = b[1+n:]
	}
	s, err := Load(writeManifest(t, records...), "db")
	if err != nil {
		wantVerdict(t, err)
		return
	}
	// What was loaded can be written down, and loaded again.
	e := s.Version.Snapshot()
	e.Format, e.LogNum, e.NextFileNum, e.LastSeq = 1, s.LogNum, s.NextFileNum, s.LastSeq
	again, err := Load(writeManifest(t, e.Append(nil)), "db")
	if err != nil || !reflect.DeepEqual(again.Version.Snapshot(), s.Version.Snapshot()) {
		t.Fatalf("%+v loaded again is %+v, %v", s, again, err)
	}
}

func wantVerdict(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, key.ErrCorrupt) && !errors.Is(err, key.ErrVersion) {
		t.Fatalf("not a typed error: %v", err)
	}
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
