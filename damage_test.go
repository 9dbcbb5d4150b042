package sift_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// Every truncation, zeroed sector and extension of every file.
func TestDamageCutsAndZeros(t *testing.T) {
	runWhole(t, "damage", func(done *tally) { cutsAndZeros(t, done) })
}

func cutsAndZeros(t *testing.T, done *tally) {
	t.Helper()
	for _, closed := range []bool{true, false} {
		s := makeSpecimen(t, closed)
		for _, name := range sortedNames(s.files) {
			data := s.files[name]
			isLog := strings.HasSuffix(name, ".log")
			judge := func(what, changed string, least int) {
				if changed == data {
					return
				}
				done.add("files cut, zeroed or extended", 1)
				f := s.examine(s.with(t, name, changed), least)
				if err := s.judge(f, name, least); err != nil {
					t.Errorf("closed %v: %s %s: %v", closed, name, what, err)
				}
			}
			for n := 0; n < len(data); n += cutStep(n, len(data)) {
				least := s.least
				if isLog && !closed { // the manifest of a closed database says how long it is
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
			fs := s.with(t, a, s.files[b])
			must(t, writeFile(fs, filepath.Join("db", b), s.files[a]))
			f := s.examine(fs, s.least)
			if f.err == nil {
				t.Errorf("%s and %s swapped: no error", a, b)
			} else if err := s.judge(f, a+" "+b, s.least); err != nil {
				t.Errorf("%s and %s swapped: %v", a, b, err)
			}
		}
	}
}
