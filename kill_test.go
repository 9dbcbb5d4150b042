//go:build unix

// Kill tests: a child process writes to a real directory and is killed at a
// random moment, again and again on the same directory. What it reported as
// acknowledged, Sync or NoSync, is there afterwards, and what is there is a
// prefix of its writes.
//
//	go test -run 'TestKill' .                          the short form
//	go test -run 'TestKill$' -kill.seed=7 .            the same choices again
//	go test -run 'TestKill$' -kill.rounds=1000 -long.ledger=ledger/long.jsonl .
//
// The last is the long form, fifty kills to a directory. Some children are also
// stopped and continued before (SIGSTOP, SIGCONT).
package sift_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/siftkv/sift"
)

var (
	killRounds = flag.Int("kill.rounds", 10, "kill tests: rounds")
	killSeed   = flag.Uint64("kill.seed", 0, "kill tests: seed; 0 takes the time")
)

// A killRun is the parent's knowledge of the directory.
type killRun struct {
	t     *testing.T
	dir   string
	seed  uint64
	rnd   *rand.Rand
	model *model
	acked int // the last commit that must be there
	done  *tally

	loadName string
	load     load
	stat     func(figures string) // told what a child says of itself
}

func newKillRun(t *testing.T, loadName string, seed uint64, done *tally) *killRun {
	t.Helper()
	return &killRun{
		t: t, dir: filepath.Join(t.TempDir(), "db"), seed: seed, rnd: rand.New(rand.NewPCG(seed, 9)),
		model: newModel(), done: done, loadName: loadName, load: loadNamed(loadName),
	}
}

// roundsPerDir is how often the child on one directory is killed in the long form.
const roundsPerDir = 50

func TestKill(t *testing.T) {
	seed := *killSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	if *killRounds <= roundsPerDir {
		killDirectory(t, seed, *killRounds, nil)
		return
	}
	for i := range (*killRounds + roundsPerDir - 1) / roundsPerDir {
		if t.Failed() || !runOne(t, "kill", uint64(i+1), func(done *tally) { killDirectory(t, seed+uint64(i), roundsPerDir, done) }) {
			return
		}
	}
}

// killDirectory kills the child on a new directory a number of times.
func killDirectory(t *testing.T, seed uint64, rounds int, done *tally) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("replay: go test -run 'TestKill$' -kill.seed=%d -kill.rounds=%d .", seed, rounds)
		}
	}()
	r := newKillRun(t, "kill", seed, done)
	for round := range rounds {
		r.round(round)
		done.add("kills", 1)
		if round%2 == 1 || round == rounds-1 {
			r.verify()
		}
		r.bounded()
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
}

func (r *killRun) start(round int) *child {
	c := startChild(r.t, "write", r.dir, fmt.Sprint(r.seed), fmt.Sprint(round), r.loadName)
	if line, _ := c.line(); line != "start" {
		r.t.Fatalf("the child says %q", line)
	}
	return c
}

// round runs one child to its death.
func (r *killRun) round(round int) {
	c := r.start(round)
	killAfter := r.rnd.IntN(600) // acknowledgements
	if r.rnd.IntN(3) == 0 {
		killAfter = -1
		timer := time.AfterFunc(time.Duration(r.rnd.IntN(8_000))*time.Microsecond, func() { r.kill(c) })
		defer timer.Stop()
	}
	stopAt := pick2(killAfter > 4 && r.rnd.IntN(3) == 0, killAfter/2, -1) // after it said that it is open
	for n := 0; ; n++ {
		if n == killAfter {
			r.kill(c)
		}
		if n == stopAt {
			r.stopped(c)
		}
		line, ok := c.line()
		if !ok {
			break
		}
		r.heard(round, line)
	}
	r.dead(c, round)
}

// dead waits for the end of a child that was killed.
func (r *killRun) dead(c *child, round int) {
	var exit interface{ ExitCode() int }
	if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
		r.t.Errorf("the child ended with %v before it was killed", err)
	}
	// The commit after the last one that was reported may have been begun.
	r.begin(round, r.acked+1)
}

func (r *killRun) kill(c *child) {
	if err := c.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		r.t.Errorf("kill: %v", err)
	}
}

// stopped freezes the child for a moment: it keeps its lock and loses nothing.
func (r *killRun) stopped(c *child) {
	must(r.t, c.Process.Signal(syscall.SIGSTOP))
	db, err := sift.Open(r.dir, r.load.options())
	wantError(r.t, "open beside a stopped process", err, sift.ErrLocked)
	if err == nil {
		must(r.t, db.Close())
	}
	must(r.t, c.Process.Signal(syscall.SIGCONT))
	r.done.add("stops and continuations", 1)
}

// heard books one line of the child.
func (r *killRun) heard(round int, line string) {
	word, number, _ := strings.Cut(line, " ")
	n, err := strconv.Atoi(number)
	switch {
	case err == nil && word == "open":
		r.recovered(n)
	case err == nil && word == "ack":
		r.begin(round, n)
		r.acked = n
		r.done.add("operations", 1)
	case word == "stat" && r.stat != nil:
		r.stat(number)
	default:
		r.t.Errorf("the child says %q", line)
	}
}

// begin adds commits of a round to the model up to number n.
func (r *killRun) begin(round, n int) {
	for r.model.last < n {
		r.model.apply(r.load.ops(r.seed, round, r.model.last+1)...)
	}
}

// recovered checks the number of the last commit that Open found.
func (r *killRun) recovered(n int) {
	if n < r.acked || n > r.model.last {
		r.t.Fatalf("recovered commit %d, want %d to %d", n, r.acked, r.model.last)
	}
	r.done.add("reopenings", 1)
	r.model.truncate(n)
	r.acked = n
}

// verify opens the directory here and compares all of it.
func (r *killRun) verify() {
	defer watchdog(time60, r.t.Name)()
	db, err := sift.Open(r.dir, r.load.options())
	must(r.t, err)
	n, err := lastCommit(db)
	must(r.t, err)
	r.recovered(int(n))
	must(r.t, r.model.head().check(db, r.rnd), db.Close())
}

// bounded checks that killing leaves no growing heap of files.
func (r *killRun) bounded() {
	entries, err := os.ReadDir(r.dir)
	if errors.Is(err, os.ErrNotExist) {
		return // killed before it was created
	}
	must(r.t, err)
	var size int64
	for _, e := range entries {
		info, err := e.Info()
		must(r.t, err)
		size += info.Size()
	}
	if len(entries) > 400 || size > 16<<20 {
		r.t.Errorf("%d files of %d bytes for 200 keys", len(entries), size)
	}
}

// A process in a crash loop does not use up the disk.
func TestP029_CrashLoopUsesBoundedSpace(t *testing.T) {
	rounds := 6
	if *longForm {
		rounds = 300
	}
	dir := filepath.Join(t.TempDir(), "db")
	for range rounds {
		c := startChild(t, "hold", dir)
		if line, _ := c.line(); line != "holding <nil>" {
			t.Fatalf("the child says %q", line)
		}
		must(t, c.Process.Kill())
		_ = c.Wait() // killed
	}
	var blocks int64
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		var st syscall.Stat_t
		must(t, syscall.Stat(filepath.Join(dir, e.Name()), &st))
		blocks += st.Blocks * 512
	}
	if limit := int64(4 * 64 << 20); blocks > limit {
		t.Errorf("%d rounds left %d bytes in %d files, want at most %d", rounds, blocks, len(entries), limit)
	}
}
