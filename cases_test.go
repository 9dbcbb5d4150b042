package sift_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Tests with an id such as P083 in their names replay a fault that users of
// another engine met and reported in public. elsewhere says for the other ids
// which tests see to them, or why there is nothing to replay.
var elsewhere = map[string]string{
	"P008": "TestDamageCutsAndZeros: every truncation of every file",
	"P020": "TestUnknownTypes in wal: a record's type is covered by its header's checksum",
	"P022": "TestCrashGroup: the mark beside concurrent syncs, flushes and a power cut",
	"P031": "TestCrash: a power cut around the birth of every log",
	"P038": "TestFault: every entry point returns the error of the log",
	"P068": "none: range deletions have a kind, but no call yet",
	"P071": "TestP149_ValueTooLarge, TestP148_BatchTooLarge: limits far below 4 GiB",
	"P079": "none: there is no checkpoint yet; TestP202_CopiedDirectory for a closed one",
	"P104": "none: range deletions have a kind, but no call yet",
	"P106": "none: range deletions have a kind, but no call yet",
	"P107": "none: range deletions have a kind, but no call yet",
	"P116": "TestP116 in memtable: it never removes a key, and lets go of all at once",
	"P131": "golden files and filters in bloom and sstable, under every architecture of .ci/run",
	"P133": "TestP130_BadOptionsOneByOne: a filter is asked for in bits, within limits",
	"P134": "tests of sizes in bloom: 64-bit arithmetic",
	"P139": "TestP137_FiltersOfSmallTables: a filter is not cut into parts",
	"P142": "TestMetamorphic with and without filters; there are no comparers",
	"P158": "the run under GOARCH=386 in .ci/run",
	"P169": "TestFault/forever-writes, with ENOSPC in its turn",
	"P170": "TestP052_P053_ManifestRotationFails: CURRENT is the one file made by renaming",
	"P190": "none here: Open reads no table whole; bench measures it",
	"P191": "none here: bench measures it",
	"P197": "TestMetamorphic/the rules of Windows",
	"P203": "TestLockSameProcess, TestP193_FailedOpenKeepsTheLock: a reader beside a writer is locked out",
	"P205": "none: there are no expiry times yet",
}

// TestCasesAreTested fails if an id of elsewhere names a test of this package
// that is gone.
func TestCasesAreTested(t *testing.T) {
	tests := testFunctions(t)
	named := regexp.MustCompile(`Test[A-Za-z0-9_]+`)
	for id, where := range elsewhere {
		place, _, _ := strings.Cut(where, ":")
		for _, name := range named.FindAllString(place, -1) {
			if !tests[name] && !strings.Contains(place, " in ") {
				t.Errorf("%s is seen to by %s, which does not exist", id, name)
			}
		}
	}
}

// testFunctions are the names of this package's tests.
func testFunctions(t *testing.T) map[string]bool {
	t.Helper()
	files, err := fs.Glob(os.DirFS("."), "*_test.go")
	must(t, err)
	tests := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Clean(file))
		must(t, err)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)`).FindAllStringSubmatch(string(text), -1) {
			tests[m[1]] = true
		}
	}
	return tests
}
