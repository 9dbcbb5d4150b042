package sift_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// Every truncation, zeroed sector and extension of every file.
//
//	go test -run 'TestDamageCutsAndZeros' -flip.all -long.ledger=ledger/long.jsonl .
func TestDamageCutsAndZeros(t *testing.T) {
	for _, how := range []string{"closed", "killed"} {
		s := makeSpecimen(t, how == "closed")
		for _, name := range sortedNames(s.files) {
			t.Run(how+"/"+name, func(t *testing.T) {
				changes := s.cutsAndZeros(name)
				replay := func(uint64) string { return fmt.Sprintf("go test -run '%s' .", t.Name()) }
				run := func(n uint64, done *tally) error {
					done.add("files cut, zeroed or extended", 1)
					return s.judgeChange(name, changes[n-1])
				}
				if *flipAll {
					runLong(t, "damage/"+how+"/"+name, 1, uint64(len(changes)), replay, run)
					return
				}
				_, counts := runBlock(t, 1, uint64(len(changes)), replay, run)
				t.Log(counts)
			})
		}
	}
}

// A change is a damaged file, and the first commit at which the database may
// stand with it.
type change struct {
	what  string
	data  func() string
	least int
}

func (s *specimen) cutsAndZeros(name string) (changes []change) {
	data := s.files[name]
	change := func(what string, least int, data func() string) {
		changes = append(changes, change{what, data, least})
	}
	least := s.least
	if strings.HasSuffix(name, ".log") && !s.closed { // the manifest of a closed database says how long it is
		least = 0 // a shorter log is one that was not written further
	}
	for n := 0; n < len(data); n += cutStep(n, len(data)) {
		change(fmt.Sprintf("cut to %d of %d", n, len(data)), least, func() string { return data[:n] })
	}
	for at := 0; at < len(data); at += 512 {
		end := min(at+512, len(data))
		change(fmt.Sprintf("zeroed at %d", at), s.least, func() string { return data[:at] + string(make([]byte, end-at)) + data[end:] })
	}
	for _, more := range []string{"x", "\x00", strings.Repeat("\xa5", 4096)} {
		change(fmt.Sprintf("with %d bytes more", len(more)), s.least, func() string { return data + more })
	}
	return changes
}

func (s *specimen) judgeChange(name string, c change) error {
	data := c.data()
	if data == s.files[name] {
		return nil // zeros stood there before
	}
	fs, err := s.changed(name, data)
	if err != nil {
		return err
	}
	if err := s.judge(s.examine(fs, c.least), name, c.least); err != nil {
		return fmt.Errorf("%s: %w", c.what, err)
	}
	return nil
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
