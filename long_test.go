package sift_test

import (
	"flag"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
)

// A long form is a row of numbered cases that runs in blocks. Each finished
// block is a line of the ledger (-long.ledger) and is not run again, and no
// block begins after -long.minutes, so that a form of hours is a series of short
// runs of the same command, any of which may be stopped at any time.

var longMinutes = flag.Float64("long.minutes", 10, "long forms: no new block begins after so many minutes; the next run goes on from there")

var longStart = time.Now()

// blockSize is the number of seeds or cases in a block.
const blockSize = 50

// A caseFunc runs one case and adds what it did to the tally.
type caseFunc func(n uint64, done *tally) error

// runCounted runs fn for the seeds that the flags ask for: one (-crash.seed), the
// long form (-crash.count) or the short one, which is the given share of
// -crash.seeds.
func runCounted(t *testing.T, name string, percent int, fn caseFunc) {
	t.Helper()
	replay := func(seed uint64) string {
		return fmt.Sprintf("go test -run '^%s$' -crash.seed=%d .", t.Name(), seed)
	}
	switch {
	case *crashSeed != 0:
		if err := fn(*crashSeed, nil); err != nil {
			t.Fatalf("seed %d: %v", *crashSeed, err)
		}
	case *crashCount != 0:
		runLong(t, name, *crashFrom, uint64(*crashCount), replay, fn)
	default:
		runBlock(t, *crashFrom, uint64(max(*crashSeeds*percent/100, 1)), replay, fn)
	}
}

// runLong runs count cases from first in blocks, minding the ledger and the
// clock.
func runLong(t *testing.T, name string, first, count uint64, replay func(uint64) string, fn caseFunc) {
	t.Helper()
	before := readLedger(t, *longLedger).merged()
	for from := first; from < first+count; from += blockSize {
		n := min(blockSize, first+count-from)
		if before.covers(name, from, n) {
			continue
		}
		if time.Since(longStart).Minutes() > *longMinutes {
			t.Logf("%s: from case %d on the next run goes on, up to case %d", name, from, first+count-1)
			return
		}
		pass, counts := runBlock(t, from, n, replay, fn)
		writeLedger(t, ledgerLine{Test: name, First: from, Cases: n, Pass: pass, Counts: counts})
	}
	t.Logf("%s: all %d cases are done", name, count)
}

// runBlock runs n cases from first, as many at a time as there are processors,
// and reports every failure with the command that replays it.
func runBlock(t *testing.T, first, n uint64, replay func(uint64) string, fn caseFunc) (pass bool, counts map[string]int64) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var done tally
	failures := 0
	next := first
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				mu.Lock()
				seed := next
				next++
				stop := seed >= first+n || failures >= 5
				mu.Unlock()
				if stop {
					return
				}
				if err := fn(seed, &done); err != nil {
					t.Errorf("case %d: %v\n\treplay: %s", seed, err, replay(seed))
					mu.Lock()
					failures++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return failures == 0, done.n
}

// runWhole runs a test that is one case. With a ledger it stands there too, and
// is not run again once it has passed.
func runWhole(t *testing.T, name string, fn func(done *tally)) {
	t.Helper()
	runOne(t, name, 1, fn)
}

// runOne runs one case that may end the test, as a block of its own. It is false
// if the time is up.
func runOne(t *testing.T, name string, number uint64, fn func(done *tally)) (inTime bool) {
	t.Helper()
	if *longLedger != "" && readLedger(t, *longLedger).covers(name, number, 1) {
		return true
	}
	if time.Since(longStart).Minutes() > *longMinutes {
		t.Logf("%s: from case %d on the next run goes on", name, number)
		return false
	}
	var done tally
	pass := false
	defer func() { // also when fn ends the test
		writeLedger(t, ledgerLine{Test: name, First: number, Cases: 1, Pass: pass && !t.Failed(), Counts: done.n})
	}()
	fn(&done)
	pass = true
	return true
}
