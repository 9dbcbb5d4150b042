// Damage tests: every bit of every file of a small database is flipped, files
// are cut, zeroed, extended and swapped. The answer is a typed error that names
// the file, or exactly the right data.
//
//	go test -run 'TestFlip' .                     the short form: one bit of some bytes
//	go test -run 'TestFlip' -flip.case=000003.log/17/4 .
//	go test -run 'TestFlip' -flip.all .           every bit, a larger database
//
// Three things need more than that rule. A log that was not closed may lose its
// last synced group, and a truncated one its end: the content is then that after
// an earlier commit. A damaged filter is not believed and counted. And damage
// that nothing notices must lie in padding: zeros up to the end of a sector, or
// what a recycled log left there.
package sift_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

var (
	flipCase = flag.String("flip.case", "", "flip tests: FILE/OFFSET/BIT of one flip to run")
	flipAll  = flag.Bool("flip.all", false, "flip tests: every bit of a larger database")
)

// A specimen is a small database at rest, with all that may be known of it.
type specimen struct {
	files  map[string]string
	model  *model
	least  int      // the first commit at which it may stand if its log's end is damaged
	closed bool     // its log has a seal
	older  []string // former contents of its logs, which a recycled one may still hold
}

// makeSpecimen makes tables on two levels and a log with a tail of synced
// commits.
func makeSpecimen(t testing.TB, closed bool) *specimen {
	t.Helper()
	rnd := rand.New(rand.NewPCG(6, 0))
	disk := vfs.NewMem()
	o := manual()
	o.FS, o.MemTableSize = disk, 4<<10
	s := &specimen{model: newModel(), closed: closed}
	keys := 20
	if *flipAll {
		keys = 150
	}
	db, err := sift.Open("db", &o)
	must(t, err)
	fill := func(from, to int) {
		for i := from; i < to; i++ {
			write(t, db, s.model, put(fmt.Sprintf("key%03d", i), fmt.Sprintf("%d-%016x", i, rnd.Uint64())))
		}
	}
	fill(0, keys)
	s.keepLogs(t, disk)
	must(t, db.Flush(), db.Compact(nil, nil))
	fill(keys/2, keys+keys/2)
	write(t, db, s.model, del("key001"))
	s.keepLogs(t, disk)
	must(t, db.Flush())
	for i := range 5 {
		ops := []op{put("tail", fmt.Sprint(i)), put(fmt.Sprintf("tail%d", i), "x"), del("key003")}
		must(t, applyOps(db, sift.Sync, ops))
		s.model.apply(ops...)
	}
	s.least = s.model.last
	if !closed {
		s.least--
		s.files = mustFiles(t, disk.Kill(), "db")
	}
	must(t, db.Close())
	if closed {
		s.files = mustFiles(t, disk, "db")
	}
	delete(s.files, "LOCK")
	return s
}

// keepLogs remembers what the logs hold before they are done with.
func (s *specimen) keepLogs(t testing.TB, disk *vfs.Mem) {
	t.Helper()
	all := mustFiles(t, disk, "db")
	for _, log := range named(all, ".log") {
		s.older = append(s.older, all[log])
	}
}

// A finding is what a damaged database answered.
type finding struct {
	err     error // what the calls said
	got     view  // the full content, if there was no error
	bad     error // a wrong answer
	noticed bool  // a filter was counted as damaged, or a torn log reported
}

// examine opens a database, reads all of it in every way, and uses it. It may
// stand at any commit from least on.
func (s *specimen) examine(fs vfs.FS, least int) (f finding) {
	o := manual()
	o.FS = fs
	o.Events = &sift.Events{
		TornLog:   func(int64) { f.noticed = true },
		BadFilter: func(string, error) { f.noticed = true },
	}
	db, err := sift.Open("db", &o)
	if err != nil {
		return finding{err: err}
	}
	defer func() { f.err = errors.Join(f.err, db.Close()) }()
	f.got, f.err = scan(db, nil, nil)
	for key := range s.model.versions {
		v, err := db.Get([]byte(key))
		switch {
		case err != nil && !errors.Is(err, sift.ErrNotFound):
			f.err = errors.Join(f.err, err)
		case !s.everHeld(key, string(v), err == nil, least):
			f.bad = fmt.Errorf("Get(%q) = %s, %v", key, brief(string(v)), err)
		}
	}
	if f.err == nil && f.bad == nil {
		f.bad = f.got.check(db, rand.New(rand.NewPCG(1, 1)))
		f.err = db.Compact(nil, nil)
	}
	f.noticed = f.noticed || db.Metrics().Filters.Damaged > 0
	return f
}

// everHeld says whether a key had this value, or none, after one of the commits
// from least on.
func (s *specimen) everHeld(key, value string, found bool, least int) bool {
	for n := least; n <= s.model.last; n++ {
		if want, ok := s.model.get(key, n); ok == found && (!ok || want == value) {
			return true
		}
	}
	return false
}

// judge says what is wrong with a finding.
func (s *specimen) judge(f finding, damaged string, least int) error {
	if f.bad != nil {
		return f.bad
	}
	if f.err != nil {
		return typed(f.err, damaged)
	}
	for n := least; n <= s.model.last; n++ {
		if s.model.at(n).diff(f.got) == nil {
			return nil
		}
	}
	return fmt.Errorf("wrong data and no error: %w", s.model.head().diff(f.got))
}

// typed accepts a CorruptionError that names one of the damaged files, and
// ErrVersion. A manifest that lost its end may show in the files that it no longer
// describes: then any name will do.
func typed(err error, damaged string) error {
	var c *sift.CorruptionError
	switch {
	case errors.Is(err, sift.ErrVersion):
		return nil
	case !errors.As(err, &c):
		return fmt.Errorf("not a typed error: %w", err)
	}
	for name := range strings.FieldsSeq(damaged) {
		if strings.HasPrefix(name, "MANIFEST") && c.File != "" || strings.Contains(err.Error(), name) {
			return nil
		}
	}
	return fmt.Errorf("the error does not name %s: %w", damaged, err)
}

// with is a disk on which one file has other bytes.
func (s *specimen) with(t testing.TB, name, data string) *vfs.Mem {
	t.Helper()
	fs := image(t, "db", s.files)
	must(t, writeFile(fs, filepath.Join("db", name), data))
	return fs
}

func flipped(data string, at int, bit uint) string {
	b := []byte(data)
	b[at] ^= 1 << bit
	return string(b)
}

// padding says whether a byte is one of zeros, or of leftovers of an older log,
// that reach to the end of a sector or of the file.
func (s *specimen) padding(name string, at int) bool {
	data := s.files[name]
	end := min(len(data), (at/512+1)*512)
	rest := data[at:end]
	if strings.Trim(rest, "\x00") == "" {
		return true
	}
	return strings.HasSuffix(name, ".log") && slices.ContainsFunc(s.older, func(old string) bool {
		return len(old) >= end && old[at:end] == rest
	})
}

// needed says whether anything is lost without the file: a file that waits for
// its removal is not.
func (s *specimen) needed(t testing.TB, name string) bool {
	t.Helper()
	fs := image(t, "db", s.files)
	must(t, fs.Remove("db/"+name))
	f := s.examine(fs, s.model.last)
	return f.err != nil || f.bad != nil || s.model.head().diff(f.got) != nil
}

func TestFlipClosed(t *testing.T) { flips(t, makeSpecimen(t, true)) }
func TestFlipKilled(t *testing.T) { flips(t, makeSpecimen(t, false)) }

func flips(t *testing.T, s *specimen) {
	if f := s.examine(image(t, "db", s.files), s.least); f.err != nil || f.bad != nil {
		t.Fatalf("the undamaged database: %v, %v", f.err, f.bad)
	}
	for _, name := range sortedNames(s.files) {
		t.Run(name, func(t *testing.T) {
			if !s.needed(t, name) {
				t.Logf("waits for its removal")
				return
			}
			failures, silent := 0, 0
			for at := range len(s.files[name]) {
				for bit := range uint(8) {
					if !wantFlip(name, at, bit, s.files[name]) || failures > 5 {
						continue
					}
					quiet, err := s.flip(t, name, at, bit)
					if err != nil {
						failures++
						t.Errorf("%v\n\treplay: go test -run '%s' -flip.case=%s/%d/%d .", err, t.Name(), name, at, bit)
					}
					if quiet {
						silent++
					}
				}
			}
			t.Logf("%d bytes, %d flips unnoticed, all in padding", len(s.files[name]), silent)
		})
	}
}

// wantFlip chooses the flips of a run. The short form takes one bit of every
// third byte, and of a long run of zeros one byte in sixty.
func wantFlip(name string, at int, bit uint, data string) bool {
	if *flipCase != "" {
		return *flipCase == fmt.Sprintf("%s/%d/%d", name, at, bit)
	}
	if *flipAll {
		return true
	}
	if at%3 != 0 || bit != uint(at*5+at/8)%8 {
		return false
	}
	zeros := at >= 16 && at+16 < len(data) && strings.Trim(data[at-16:at+16], "\x00") == ""
	return !zeros || at%60 == 0
}

// flip runs one case. quiet says that nothing noticed the damage.
func (s *specimen) flip(t testing.TB, name string, at int, bit uint) (quiet bool, err error) {
	f := s.examine(s.with(t, name, flipped(s.files[name], at, bit)), s.least)
	if err := s.judge(f, name, s.least); err != nil {
		return false, err
	}
	same := f.err == nil && !f.noticed && s.model.head().diff(f.got) == nil
	if same && !s.padding(name, at) {
		return true, fmt.Errorf("byte %d of %s, bit %d: nothing noticed the damage, and it is not padding", at, name, bit)
	}
	return same, nil
}

func sortedNames(all map[string]string) []string {
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Every truncation, zeroed sector and extension of every file.
func TestDamageCutsAndZeros(t *testing.T) {
	for _, closed := range []bool{true, false} {
		s := makeSpecimen(t, closed)
		for _, name := range sortedNames(s.files) {
			data := s.files[name]
			isLog := strings.HasSuffix(name, ".log")
			judge := func(what, changed string, least int) {
				if changed == data {
					return
				}
				f := s.examine(s.with(t, name, changed), least)
				if err := s.judge(f, name, least); err != nil {
					t.Errorf("closed %v: %s %s: %v", closed, name, what, err)
				}
			}
			for n := 0; n < len(data); n += cutStep(n, len(data)) {
				least := s.least
				if isLog {
					least = 0 // a shorter log is one that was not written further
				}
				judge(fmt.Sprintf("cut to %d of %d", n, len(data)), data[:n], least)
			}
			for at := 0; at < len(data); at += 512 {
				end := min(at+512, len(data))
				judge(fmt.Sprintf("zeroed at %d", at), data[:at]+string(make([]byte, end-at))+data[end:], s.least)
			}
			judge("with a byte more", data+"x", s.least)
			judge("with a zero more", data+"\x00", s.least)
			judge("with 4 KiB more", data+string(bytes.Repeat([]byte{0xa5}, 4096)), s.least)
		}
	}
}

// cutStep makes every truncation in the long form, and in the short one those
// near the ends and some between.
func cutStep(n, size int) int {
	if *flipAll || n < 64 || n > size-64 {
		return 1
	}
	return min(37, size-64-n+1)
}

// Two files of a kind in each other's place.
func TestDamageSwappedFiles(t *testing.T) {
	s := makeSpecimen(t, true)
	names := sortedNames(s.files)
	for i, a := range names {
		for _, b := range names[i+1:] {
			fs := image(t, "db", s.files)
			must(t, writeFile(fs, filepath.Join("db", a), s.files[b]), writeFile(fs, filepath.Join("db", b), s.files[a]))
			f := s.examine(fs, s.least)
			if f.err == nil {
				t.Errorf("%s and %s swapped: no error", a, b)
			} else if err := s.judge(f, a+" "+b, s.least); err != nil {
				t.Errorf("%s and %s swapped: %v", a, b, err)
			}
		}
	}
}
