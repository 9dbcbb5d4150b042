// Mutants: the engine with one of its syncs left out. The crash tests must fail
// for each of them; a sync whose absence no crash test can see is either
// redundant, and then removed, or the crash tests are blind.
//
//	go test -run 'TestMutants' -v .                      the short form: a few seeds
//	go test -run 'TestMutants' -v -mutants.seeds=20000 -long.ledger=ledger/long.jsonl .
//	go test -run 'TestMutants' -v -mutants.site='MANIFEST' -crash.seed=17 .
//
// The second is the long form: it prints the table that docs/testing.md holds.
//
// A site is a line that syncs a type of file, and the function of package sift
// from which it was reached.
package sift_test

import (
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/siftkv/sift/internal/vfs"
)

var (
	mutantSeeds = flag.Int("mutants.seeds", 0, "mutants: how many seeds may be tried for each; 0 is the short form")
	mutantSite  = flag.String("mutants.site", "", "mutants: only sites that contain this")
)

// shortMutants is how many seeds the short form tries. A site that it does not
// catch is left to the long form, where it is a failure.
const shortMutants = 12

func TestMutants(t *testing.T) {
	if *mutantSeeds == 0 {
		mutants(t, shortMutants, nil)
		return
	}
	runWhole(t, "mutants", func(done *tally) { mutants(t, *mutantSeeds, done) })
}

func mutants(t *testing.T, seeds int, done *tally) {
	t.Helper()
	caught := 0
	sites := syncSites(t)
	for _, site := range sites {
		seed, err := catchMutant(site, seeds)
		switch {
		case err != nil:
			caught++
			done.add("lives", int64(seed))
			t.Logf("| %s | %d | %s |", site, seed, firstLine(err))
		case *mutantSeeds != 0:
			t.Errorf("not caught by %d seeds: %s", seeds, site)
		default:
			t.Logf("not yet: %s", site)
		}
	}
	done.add("syncs left out", int64(len(sites)))
	done.add("caught", int64(caught))
	t.Logf("%d of %d mutants caught", caught, len(sites))
	if caught < len(sites)/2 {
		t.Errorf("only %d of %d mutants caught: the crash tests have gone blind", caught, len(sites))
	}
}

// catchMutant returns the first seed whose life fails without the site's syncs.
func catchMutant(site string, seeds int) (uint64, error) {
	leaveOut := func(op vfs.Op) bool { return siteOf(op) == site }
	first, last := uint64(1), uint64(seeds)
	if *crashSeed != 0 {
		first, last = *crashSeed, *crashSeed
	}
	for seed := first; seed <= last; seed++ {
		if err := newCrashRun(seed, leaveOut).life(); err != nil {
			return seed, err
		}
	}
	return 0, nil
}

// syncSites runs the engine as it is and returns every place from which it syncs.
func syncSites(t *testing.T) []string {
	t.Helper()
	seen := map[string]bool{}
	var mu sync.Mutex
	note := func(op vfs.Op) bool {
		site := siteOf(op)
		mu.Lock()
		defer mu.Unlock()
		seen[site] = strings.Contains(site, *mutantSite)
		return false
	}
	for seed := range uint64(16) {
		must(t, newCrashRun(1+seed, note).life())
	}
	maps.DeleteFunc(seen, func(_ string, wanted bool) bool { return !wanted })
	return slices.Sorted(maps.Keys(seen))
}

// siteOf is the site of a sync with the nearest function of package sift above
// it.
func siteOf(op vfs.Op) string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		if name, ok := strings.CutPrefix(frame.Function, "github.com/siftkv/sift."); ok {
			return fmt.Sprintf("%s from %s", op.Site, name)
		}
		if !more {
			return op.Site
		}
	}
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	if len(line) > 160 {
		line = line[:160]
	}
	return line
}
