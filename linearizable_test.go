// Linearizability: many clients call everything that reads or writes, beside
// flushes and compactions, while the process is killed and the power cut. Every
// answer must be explained by calls that take effect one after another, each
// between its begin and its end; linearizable_model_test.go says what that means
// across a crash.
//
//	go test -run 'TestLinearizable$' .                     the short form
//	go test -run 'TestLinearizable$' -crash.seed=17 .      one seed again
//	go test -run 'TestLinearizable$' -crash.count=2000 -long.ledger=ledger/long.jsonl .
//
// The goroutines are not under the seed's control: a rare failure may need
// -count to show again.
package sift_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

func TestLinearizable(t *testing.T) {
	percent := 10
	if testing.Short() {
		percent = 3
	}
	runCounted(t, "linearizable", percent, func(seed uint64, done *tally) error {
		l := newLinearRun(seed, linearMutant{})
		l.done = done
		return l.life()
	})
}

// A linearRun is one life: generations of calls, each ended by a crash.
type linearRun struct {
	seed   uint64
	rnd    *rand.Rand // of the goroutine that runs the generations
	groups int
	mutant linearMutant
	limit  time.Duration // for a verdict
	done   *tally

	clock   atomic.Int64 // moments; no two events have the same
	numbers atomic.Int64 // of writes

	found []content    // by group, when the database was opened
	crash *linearCrash // the last one

	mu    sync.Mutex
	calls []linearCall // since then
}

// A linearCall is a finished call of a client.
type linearCall struct {
	client     int
	group      int // -1: all of them
	begin, end int64
	call       groupCall
	found      content
}

func newLinearRun(seed uint64, mutant linearMutant) *linearRun {
	l := &linearRun{seed: seed, rnd: rand.New(rand.NewPCG(seed, 8)), mutant: mutant, limit: time60}
	l.groups = pick(l.rnd, 1, 2, 4)
	return l
}

const linearClients = 6

// life runs generations, and judges each by what the next one finds.
func (l *linearRun) life() error {
	disk := vfs.NewMem()
	for gen := range 5 {
		next := l.plan(disk)
		db, err := sift.Open("db", (&crashRun{rnd: l.rnd}).options(next.fs))
		if err != nil {
			return fmt.Errorf("open %d: %w", gen, err)
		}
		if err = l.judge(db); err == nil && gen < 4 {
			next.armed.Store(true)
			err = l.callUntil(db, next, uint64(gen))
		}
		if err := errors.Join(err, db.Close()); err != nil {
			return fmt.Errorf("generation %d: %w", gen, err)
		}
		l.crash, disk = next, next.image
		if gen < 4 {
			l.done.add(pick2(next.kind == callKill, "kills", "power cuts"), 1)
		}
	}
	return nil
}

// A linearCrash takes an image of the disk between two moments, before some call
// that changes it or when the clients have done their last.
type linearCrash struct {
	fs      vfs.FS
	kind    callKind
	image   *vfs.Mem
	take    func()
	armed   atomic.Bool
	stopped atomic.Bool

	before, after int64
}

func (l *linearRun) plan(disk *vfs.Mem) *linearCrash {
	c := &linearCrash{kind: pick(l.rnd, callKill, callCut)}
	at, keep, seed := l.rnd.Int64N(400), pick(l.rnd, 0, 50, 100), l.rnd.Uint64()
	c.take = sync.OnceFunc(func() {
		c.before = l.clock.Add(1)
		if c.kind == callKill && !l.mutant.forgetful {
			c.image = disk.Kill()
		} else {
			c.image = disk.Crash(keep, seed)
		}
		c.after = l.clock.Add(1)
		c.stopped.Store(true)
	})
	var changes atomic.Int64
	c.fs = vfs.NewFault(disk, func(op vfs.Op) error {
		if c.armed.Load() && changing(op) && changes.Add(1) == at {
			c.take()
		}
		runtime.Gosched() // others call meanwhile
		return nil
	})
	return c
}

// callUntil has clients call until the crash.
func (l *linearRun) callUntil(db *sift.DB, crash *linearCrash, gen uint64) error {
	var wg sync.WaitGroup
	errs := make([]error, linearClients+1)
	for i := range errs {
		c := &linearClient{run: l, db: db, number: i, rnd: rand.New(rand.NewPCG(l.seed, gen*100+uint64(i))), seen: map[[2]int]int{}}
		work := c.step
		if i == linearClients {
			work = c.maintain
		}
		wg.Go(func() {
			for n := 0; n < 80 && !crash.stopped.Load() && errs[i] == nil; n++ {
				errs[i] = work()
			}
		})
	}
	wg.Wait()
	crash.take()
	return errors.Join(errs...)
}

// judge reads what the last crash has left, and judges the generation that it
// ended.
func (l *linearRun) judge(db *sift.DB) error {
	left := make([]content, l.groups)
	for group := range left {
		c := &linearClient{run: l, db: db, group: group}
		var err error
		if left[group], err = c.scan(db, false); err != nil {
			return err
		}
	}
	if l.crash != nil {
		for group := range left {
			g := &groupLife{l.found[group], left[group], l.settle(group)}
			l.done.add("calls judged", int64(len(g.history)))
			if err := g.check(l.limit); err != nil {
				return fmt.Errorf("before: group %d of %d: %w", group, l.groups, err)
			}
		}
	}
	l.found, l.calls = left, nil
	return nil
}

// settle returns the calls on a group as the crash at their end leaves them: what
// had ended before it has happened, a write that had only begun may have, and
// the rest has not.
func (l *linearRun) settle(group int) []porcupine.Operation {
	var history []porcupine.Operation
	add := func(c linearCall) {
		if c.group == group || c.group < 0 {
			history = append(history, porcupine.Operation{
				ClientId: c.client, Input: c.call, Output: c.found, Call: c.begin, Return: c.end,
			})
		}
	}
	for _, c := range l.calls {
		switch {
		case c.end < l.crash.before:
			add(c)
		case c.begin < l.crash.after && c.call.kind == callWrite:
			c.call.maybe, c.end = true, l.crash.after
			add(c)
		}
	}
	end := l.clock.Add(1)
	add(linearCall{client: linearClients, group: group, begin: end, end: end, call: groupCall{kind: l.crash.kind}})
	return history
}

// record notes a finished call.
func (l *linearRun) record(c linearCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, c)
}

func linearKey(group, key int) []byte { return fmt.Appendf(nil, "group%d/%d", group, key) }

// linearValue is the value of a write, recognisable in each of its bytes.
func linearValue(number int) []byte {
	mark := fmt.Sprintf("%d/", number)
	return []byte(strings.Repeat(mark, 20+number%30))
}

// linearNumber is the write that a value is from.
func linearNumber(value []byte) (int, error) {
	mark, _, _ := strings.Cut(string(value), "/")
	n, err := strconv.Atoi(mark)
	if err != nil || string(linearValue(n)) != string(value) {
		return 0, fmt.Errorf("the value %s was never written", brief(string(value)))
	}
	return n, nil
}
