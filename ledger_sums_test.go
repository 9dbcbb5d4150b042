package sift_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var ledgerMerge = flag.String("ledger.merge", "", "put the tests of this ledger file into docs/ledger.jsonl, in place of what it says of them, and renew the table of docs/testing.md")

const (
	keptLedger = "docs/ledger.jsonl"
	testingDoc = "docs/testing.md"
)

var ledgerTable = regexp.MustCompile(`(?s)(<!-- ledger -->\n).*(<!-- end of ledger -->)`)

// TestLedgerSums says that the table in docs/testing.md is what the kept ledger
// adds up to. With -v it prints the table.
//
//	go test -count=1 -run '^TestLedgerSums$' -v .
//	go test -count=1 -run '^TestLedgerSums$' . -ledger.merge=ledger/long.jsonl
func TestLedgerSums(t *testing.T) {
	kept := readLedger(t, keptLedger).merged()
	doc, err := os.ReadFile(testingDoc)
	must(t, err)
	if *ledgerMerge != "" {
		kept = mergeLedger(kept, readLedger(t, *ledgerMerge))
		var text strings.Builder
		for _, line := range kept {
			data, err := json.Marshal(line)
			must(t, err)
			text.Write(append(data, '\n'))
		}
		doc = ledgerTable.ReplaceAll(doc, []byte("${1}"+kept.table()+"${2}"))
		must(t, os.WriteFile(keptLedger, []byte(text.String()), 0o644), os.WriteFile(testingDoc, doc, 0o644))
	}
	t.Logf("\n%s", kept.table())
	if len(kept) == 0 || !strings.Contains(string(doc), "<!-- ledger -->\n"+kept.table()+"<!-- end of ledger -->") {
		t.Errorf("the table in %s is not the sum of %s; -ledger.merge renews it", testingDoc, keptLedger)
	}
}

// mergeLedger takes from newer all that it says of its tests, and the rest from
// kept.
func mergeLedger(kept, newer ledger) ledger {
	about := map[string]bool{}
	for _, line := range newer {
		about[line.family()] = true
	}
	kept = slices.DeleteFunc(kept, func(l ledgerLine) bool { return about[l.family()] })
	return append(kept, newer...).merged()
}

// family is the test's name without the part that names a mode or a file. Each
// fuzz target, which a package's path names, is its own.
func (l ledgerLine) family() string {
	if strings.HasPrefix(l.Test, "fuzz ") {
		return l.Test
	}
	name, _, _ := strings.Cut(l.Test, "/")
	return name
}

// table adds up the lines of each family.
func (l ledger) table() string {
	text := "| test | cases | not passed | commits | what was done |\n|---|---|---|---|---|\n"
	for _, family := range l.families() {
		var cases, failed int64
		counts, commits := map[string]int64{}, map[string]bool{}
		for _, line := range l {
			if line.family() != family {
				continue
			}
			cases += int64(line.Cases)
			failed += pick2(line.Pass, 0, int64(line.Cases))
			counts = sum(counts, line.Counts)
			commits[line.Commit[:min(7, len(line.Commit))]] = true
		}
		var done []string
		for _, what := range slices.Sorted(maps.Keys(counts)) {
			done = append(done, what+" "+thousands(counts[what]))
		}
		text += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", family, thousands(cases), thousands(failed),
			strings.Join(slices.Sorted(maps.Keys(commits)), " "), strings.Join(done, ", "))
	}
	return text
}

func (l ledger) families() []string {
	seen := map[string]bool{}
	for _, line := range l {
		seen[line.family()] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// TestNamedTestsExist says that the tests which the README and docs/testing.md
// name are there.
func TestNamedTestsExist(t *testing.T) {
	tests := map[string]bool{}
	must(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(filepath.Clean(path))
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)`).FindAllStringSubmatch(string(text), -1) {
			tests[m[1]] = true
		}
		return err
	}))
	for _, path := range []string{"README.md", testingDoc} {
		text, err := os.ReadFile(path)
		must(t, err)
		for _, name := range regexp.MustCompile(`\bTest[A-Z]\w*`).FindAllString(string(text), -1) {
			if !tests[name] {
				t.Errorf("%s names %s, which does not exist", path, name)
			}
		}
	}
}
