//go:build unix

package sift_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"testing"
	"time"
)

// Soak tests: a child writes, reads, scans, flushes and compacts some megabytes
// on a real directory and is killed after a while, again and again. Beside the
// content its heap, descriptors, goroutines, tables in level 0 and the
// directory's size are watched: all of them stay below a bound.
//
//	go test -run 'TestSoak$' -v .                     the short form, two seconds
//	go test -run 'TestSoak$' -v -soak.minutes=60 -long.ledger=ledger/long.jsonl .
//
// The last is the long form. Each ten minutes are a case with a directory of its
// own, and -long.minutes ends a run between two of them.

var soakMinutes = flag.Int("soak.minutes", 0, "soak test: minutes of the long form, in tens")

// soakShard is the length of one case of the long form.
const soakShard = 10 * time.Minute

func TestSoak(t *testing.T) {
	if *soakMinutes == 0 {
		soak(t, 1, 2*time.Second, nil)
		return
	}
	for i := range uint64(max(*soakMinutes/10, 1)) {
		if !runOne(t, "soak", 1+i, func(done *tally) { soak(t, 1+i, soakShard, done) }) {
			return
		}
	}
}

// A soakRun is a killRun whose figures are watched.
type soakRun struct {
	*killRun
	most soakFigures
}

// soakFigures are a child's, and the size of its directory.
type soakFigures struct{ heap, open, goroutines, level0, directory int64 }

// soakBounds allow for what the options ask for: two memtables and a cache are
// few megabytes, and the directory holds about ten megabytes of pairs.
var soakBounds = soakFigures{heap: 128 << 20, open: 200, goroutines: 100, level0: 16, directory: 128 << 20}

func soak(t *testing.T, seed uint64, length time.Duration, done *tally) {
	t.Helper()
	r := &soakRun{killRun: newKillRun(t, "soak", seed, done)}
	r.stat = r.watch
	start := time.Now()
	for round := 0; time.Since(start) < length && !t.Failed(); round++ {
		r.live(round, length)
		r.verify()
		r.settle()
	}
	done.add("minutes", int64(time.Since(start).Minutes()))
	t.Logf("seed %d, %d commits; at most %s", seed, r.acked, r.most)
}

// live lets one child work for a random time: the shortest is cut off in its
// Open, the longest takes a quarter of the test.
func (r *soakRun) live(round int, length time.Duration) {
	c := r.start(round)
	age := time.Duration(math.Exp(r.rnd.Float64()*math.Log(float64(length/4/time.Millisecond)))) * time.Millisecond
	timer := time.AfterFunc(age, func() { r.kill(c) })
	defer timer.Stop()
	for {
		line, ok := c.line()
		if !ok {
			break
		}
		r.heard(round, line)
	}
	r.dead(c, round)
	r.done.add("kills", 1)
}

// settle forgets the versions that no recovery may bring back.
func (r *soakRun) settle() {
	for key, vs := range r.model.versions {
		if n := len(vs); n == 0 || vs[n-1].deleted {
			delete(r.model.versions, key)
		} else {
			r.model.versions[key] = vs[n-1:]
		}
	}
}

// watch takes the figures of a child and of the directory and compares them with
// their bounds.
func (r *soakRun) watch(figures string) {
	var now soakFigures
	if _, err := fmt.Sscan(figures, &now.heap, &now.open, &now.goroutines, &now.level0); err != nil {
		r.t.Errorf("figures %q: %v", figures, err)
	}
	entries, err := os.ReadDir(r.dir)
	must(r.t, err)
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed since
		}
		must(r.t, err)
		now.directory += info.Size()
	}
	r.most = r.most.max(now)
	if r.most.max(soakBounds) != soakBounds {
		r.t.Errorf("now %s, want at most %s", now, soakBounds)
	}
}

func (f soakFigures) max(g soakFigures) soakFigures {
	return soakFigures{
		max(f.heap, g.heap), max(f.open, g.open), max(f.goroutines, g.goroutines),
		max(f.level0, g.level0), max(f.directory, g.directory),
	}
}

func (f soakFigures) String() string {
	return fmt.Sprintf("%d KiB of heap, %d descriptors, %d goroutines, %d tables in level 0, %d KiB of files",
		f.heap>>10, f.open, f.goroutines, f.level0, f.directory>>10)
}
