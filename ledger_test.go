package sift_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	longLedger = flag.String("long.ledger", "", "long forms: file that gets a line for each finished block; what passed there is not run again")
	longCommit = flag.String("long.commit", "", "long forms: the commit under test, for the ledger; else what the build knows")
)

// A tally is what a block of cases did, by name: crashes, faults, bits flipped.
// Nil counts nothing.
type tally struct {
	mu sync.Mutex
	n  map[string]int64
}

func (t *tally) add(what string, n int64) {
	if t == nil || n == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == nil {
		t.n = map[string]int64{}
	}
	t.n[what] += n
}

// A ledgerLine is one finished block of a long form, or several blocks of one
// form that join, merged.
type ledgerLine struct {
	Test   string           `json:"test"`
	Commit string           `json:"commit"`
	First  uint64           `json:"first"`
	Cases  uint64           `json:"cases"`
	Pass   bool             `json:"pass"`
	Counts map[string]int64 `json:"counts,omitempty"`
}

func (l ledgerLine) end() uint64 { return l.First + l.Cases }

type ledger []ledgerLine

// covers says whether every one of the cases has passed.
func (l ledger) covers(test string, first, cases uint64) bool {
	next := first
	for _, line := range l.merged() {
		if line.Test == test && line.Pass && line.First <= next {
			next = max(next, line.end())
		}
	}
	return next >= first+cases
}

// merged joins the blocks of a test and commit that follow each other. Of lines
// about the same cases the last one counts.
func (l ledger) merged() ledger {
	var kept ledger
	for i, line := range l {
		again := func(later ledgerLine) bool {
			return later.Test == line.Test && later.First <= line.First && later.end() >= line.end()
		}
		if !slices.ContainsFunc(l[i+1:], again) {
			kept = append(kept, line)
		}
	}
	slices.SortStableFunc(kept, func(a, b ledgerLine) int {
		return cmp.Or(strings.Compare(a.Test, b.Test), cmp.Compare(a.First, b.First))
	})
	var joined ledger
	for _, line := range kept {
		if n := len(joined); n > 0 && joined[n-1].follows(line) {
			last := &joined[n-1]
			last.Cases += line.Cases
			last.Counts = sum(last.Counts, line.Counts)
			continue
		}
		joined = append(joined, line)
	}
	return joined
}

func (l ledgerLine) follows(next ledgerLine) bool {
	return l.Test == next.Test && l.Commit == next.Commit && l.Pass == next.Pass && l.end() == next.First
}

func sum(a, b map[string]int64) map[string]int64 {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]int64{}
	}
	for what, n := range b {
		all[what] += n
	}
	return all
}

// readLedger reads a ledger file; one that does not exist is empty. A line that
// was cut short by the end of the process is left out: its block runs again.
func readLedger(t testing.TB, path string) ledger {
	t.Helper()
	if path == "" {
		return nil
	}
	f, err := os.Open(filepath.Clean(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	must(t, err)
	defer f.Close()
	var l ledger
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var line ledgerLine
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Test != "" {
			l = append(l, line)
		}
	}
	must(t, lines.Err())
	return l
}

// writeLedger appends one line, durably, if there is a ledger.
func writeLedger(t testing.TB, line ledgerLine) {
	t.Helper()
	if *longLedger == "" {
		return
	}
	line.Commit = commitUnderTest()
	text, err := json.Marshal(line)
	must(t, err, os.MkdirAll(filepath.Dir(*longLedger), 0o755))
	f, err := os.OpenFile(*longLedger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	must(t, err)
	_, err = fmt.Fprintf(f, "%s\n", text)
	must(t, errors.Join(err, f.Sync(), f.Close()))
}

// commitUnderTest is what -long.commit says, or what the binary was stamped with.
func commitUnderTest() string {
	if *longCommit != "" {
		return *longCommit
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value[:min(len(s.Value), 12)]
			}
		}
	}
	return "unknown"
}
