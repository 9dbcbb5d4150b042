package sift_test

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

var longLedger = flag.String("long.ledger", "", "long forms: file that lists the finished blocks, which are not run again")

// blockSize is the number of seeds or cases in one line of a ledger.
const blockSize = 50

// runSeeds runs fn for the seeds that the flags ask for: one (-crash.seed), the
// long form (-crash.count) or the short one, which is the given share of
// -crash.seeds.
func runSeeds(t *testing.T, name string, percent int, fn func(seed uint64) error) {
	replay := func(seed uint64) string {
		return fmt.Sprintf("go test -run '^%s$' -crash.seed=%d .", t.Name(), seed)
	}
	switch {
	case *crashSeed != 0:
		if err := fn(*crashSeed); err != nil {
			t.Fatalf("seed %d: %v", *crashSeed, err)
		}
	case *crashCount != 0:
		runLong(t, name, *crashFrom, uint64(*crashCount), replay, fn)
	default:
		runBlock(t, *crashFrom, uint64(max(*crashSeeds*percent/100, 1)), replay, fn)
	}
}

// runLong runs count cases from first in blocks, minding the ledger.
func runLong(t *testing.T, name string, first, count uint64, replay func(uint64) string, fn func(uint64) error) {
	done := readLedger(t)
	for from := first; from < first+count; from += blockSize {
		n := min(blockSize, first+count-from)
		line := fmt.Sprintf("%s %d+%d pass", name, from, n)
		if done[line] {
			continue
		}
		if !runBlock(t, from, n, replay, fn) {
			line = strings.Replace(line, "pass", "FAIL", 1)
		}
		writeLedger(t, line)
	}
}

// runBlock runs n cases from first, as many at a time as there are processors,
// and reports every failure with the command that replays it.
func runBlock(t *testing.T, first, n uint64, replay func(uint64) string, fn func(uint64) error) bool {
	var wg sync.WaitGroup
	var mu sync.Mutex
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
				if err := fn(seed); err != nil {
					t.Errorf("case %d: %v\n\treplay: %s", seed, err, replay(seed))
					mu.Lock()
					failures++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return failures == 0
}

func readLedger(t *testing.T) map[string]bool {
	t.Helper()
	done := map[string]bool{}
	if *longLedger == "" {
		return done
	}
	f, err := os.Open(*longLedger)
	if os.IsNotExist(err) {
		return done
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		done[lines.Text()] = true
	}
	return done
}

func writeLedger(t *testing.T, line string) {
	t.Helper()
	if *longLedger == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(*longLedger), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(*longLedger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintln(f, line)
	if closeErr := f.Close(); err != nil || closeErr != nil {
		t.Fatal(err, closeErr)
	}
}
