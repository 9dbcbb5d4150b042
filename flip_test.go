// Damage tests: every bit of every file of a small database is flipped, files
// are cut, zeroed, extended and swapped. The answer is a typed error that names
// the file, or exactly the right data.
//
//	go test -run 'TestFlip' .                     the short form: one bit of some bytes
//	go test -run 'TestFlip' -flip.case=000003.log/17/4 .
//	go test -run 'TestFlip' -flip.all -long.ledger=ledger/long.jsonl .
//
// The last is the long form: every bit of a larger database, whose tables have
// all kinds of blocks, compressed and not.
//
// Three things need more than that rule. A log that was not closed may lose its
// last synced group, and a truncated one its end: the content is then that after
// an earlier commit. A damaged filter is not believed and counted. And damage
// that nothing notices must lie in padding: zeros up to the end of a sector, or
// what a recycled log left there.
package sift_test

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
)

var (
	flipCase = flag.String("flip.case", "", "flip tests: FILE/OFFSET/BIT of one flip to run")
	flipAll  = flag.Bool("flip.all", false, "flip tests: every bit of a larger database")
)

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

func TestFlipClosed(t *testing.T) { flips(t, "closed", makeSpecimen(t, true)) }
func TestFlipKilled(t *testing.T) { flips(t, "killed", makeSpecimen(t, false)) }

// flips flips the bits of each file. A case of a file is a byte, from 1.
func flips(t *testing.T, how string, s *specimen) {
	t.Helper()
	if f := s.examine(s.disk.Kill(), s.least); f.err != nil || f.bad != nil {
		t.Fatalf("the undamaged database: %v, %v", f.err, f.bad)
	}
	for _, name := range sortedNames(s.files) {
		t.Run(name, func(t *testing.T) {
			if !s.needed(t, name) {
				t.Logf("waits for its removal")
				return
			}
			replay := func(n uint64) string {
				return fmt.Sprintf("go test -run '%s' -flip.case=%s/%d/BIT .", t.Name(), name, n-1)
			}
			size := uint64(len(s.files[name]))
			flip := func(n uint64, done *tally) error { return s.flipByte(name, int(n-1), done) }
			if *flipAll && *flipCase == "" {
				runLong(t, "flip/"+how+"/"+name, 1, size, replay, flip)
				return
			}
			_, counts := runBlock(t, 1, size, replay, flip)
			t.Logf("%d bytes: %v", size, counts)
		})
	}
}

// flipByte flips the wanted bits of a byte, one at a time.
func (s *specimen) flipByte(name string, at int, done *tally) error {
	for bit := range uint(8) {
		if !wantFlip(name, at, bit, s.files[name]) {
			continue
		}
		done.add("bits flipped", 1)
		answer, err := s.flip(name, at, bit)
		if err != nil {
			return fmt.Errorf("byte %d, bit %d: %w", at, bit, err)
		}
		done.add(answer, 1)
	}
	return nil
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

// flip runs one case. The answer is a word for the ledger.
func (s *specimen) flip(name string, at int, bit uint) (answer string, err error) {
	fs, err := s.changed(name, flipped(s.files[name], at, bit))
	if err != nil {
		return "", err
	}
	f := s.examine(fs, s.least)
	if err := s.judge(f, name, s.least); err != nil {
		return "", err
	}
	switch {
	case f.err != nil:
		return "typed errors", nil //nolint:nilerr // it is the answer that was wanted
	case f.noticed || s.model.head().diff(f.got) != nil:
		return "noticed, right data", nil //nolint:nilerr // diff only tells
	case !s.padding(name, at):
		return "", errors.New("nothing noticed the damage, and it is not padding")
	}
	return "unnoticed, in padding", nil
}
