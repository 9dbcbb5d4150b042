// Crash tests (model, crash, reopen).
//
// One seed is one life of a database on the strict in-memory file system: five
// generations of writes, each ended by a power cut or a killed process at some
// file-system call, often inside Open, sometimes after a failed fsync. After
// each reopening the content must be a prefix of commit order that holds
// everything acknowledged, by every way of reading.
//
//	go test -run 'TestCrash$' .                               the short form
//	go test -run 'TestCrash$' -crash.seed=17 .                one seed again
//	go test -run 'TestCrash$' -crash.seed=17 -crash.trace .   and every call that it makes
//	go test -run 'TestCrash$' -crash.count=50000 \
//	        -long.ledger=ledger/long.jsonl -timeout 20m .     the long form
//
// long_test.go says how a long form is cut into blocks and goes on where it was
// stopped. The engine's own goroutines are not under the seed's control: a rare
// failure may need -count to show again.
package sift_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

var (
	crashSeeds = flag.Int("crash.seeds", 300, "crash tests: seeds in the short form")
	crashSeed  = flag.Uint64("crash.seed", 0, "crash tests: run this seed only")
	crashTrace = flag.Bool("crash.trace", false, "crash tests: print every call and commit, to read with -crash.seed")
	crashFrom  = flag.Uint64("crash.from", 1, "crash tests: first seed")
	crashCount = flag.Int("crash.count", 0, "crash tests: seeds in the long form")
)

func TestCrash(t *testing.T) {
	runCounted(t, "crash", 100, func(seed uint64, done *tally) error {
		c := newCrashRun(seed, nil)
		c.done = done
		return c.life()
	})
}

const crashDir = "db"

// A crashImage is a disk after a crash and what is known of its content.
type crashImage struct {
	disk *vfs.Mem
	cut  bool // the power was cut: all that the disk holds is durable
	// The number of the last commit found on the disk is at least kept, at
	// least durable even if the power is cut before anything else is
	// acknowledged, and at most begun.
	kept, durable, begun int64
}

// A crashRun is one life. The model holds all commits that may exist.
type crashRun struct {
	rnd      *rand.Rand
	leaveOut func(vfs.Op) bool // the syncs that a mutant lacks; nil: none
	model    *model
	failed   []int // commits whose write returned an error: there or not
	gen      int
	done     *tally

	kept, durable, begun atomic.Int64 // as in crashImage, for the live database

	once  sync.Once
	image atomic.Pointer[crashImage] // set when the crash has happened
}

func newCrashRun(seed uint64, leaveOut func(vfs.Op) bool) *crashRun {
	return &crashRun{rnd: rand.New(rand.NewPCG(seed, 0)), leaveOut: leaveOut, model: newModel()}
}

// life runs all generations and one last, undisturbed reopening.
func (c *crashRun) life() error {
	image := &crashImage{disk: vfs.NewMem(), cut: true}
	for c.gen = range 5 {
		next, err := c.generation(image)
		if err != nil {
			return fmt.Errorf("generation %d: %w", c.gen, err)
		}
		image = next
	}
	c.gen++
	c.begin(image)
	db, err := sift.Open(crashDir, c.options(image.disk))
	if err != nil {
		return fmt.Errorf("last open: %w", err)
	}
	c.done.add("reopenings", 1)
	return errors.Join(c.verify(db, image), db.Close())
}

// trace prints what happens, if that is asked for.
func (c *crashRun) trace(format string, args ...any) {
	if *crashTrace {
		fmt.Fprintf(os.Stderr, "gen %d: "+format+"\n", append([]any{c.gen}, args...)...)
	}
}

func (c *crashRun) begin(image *crashImage) {
	c.kept.Store(image.kept)
	c.durable.Store(image.durable)
	c.begun.Store(image.begun)
	c.image.Store(nil)
	c.once = sync.Once{}
}

// generation opens an image, checks it, works until the crash, and returns what
// the crash left.
func (c *crashRun) generation(image *crashImage) (*crashImage, error) {
	c.begin(image)
	plan := c.plan(image.disk)
	db, err := sift.Open(crashDir, c.options(plan.fs))
	c.trace("open: %v; it should hold commit %d to %d", err, image.kept, image.begun)
	if err != nil && !plan.faulted.Load() {
		return nil, fmt.Errorf("open: %w", err)
	}
	if c.image.Load() != nil {
		c.done.add("crashes inside Open", 1)
	}
	if err == nil {
		c.done.add("reopenings", 1)
		err = c.verify(db, image)
		if err == nil {
			err = c.work(db, plan)
		}
		closed := db.Close()
		if closed == nil && err == nil && c.image.Load() == nil {
			c.durable.Store(c.kept.Load())
			if !plan.faulted.Load() {
				err = sealed(plan.disk.Crash(0, 1))
			}
		}
		if err == nil && !plan.faulted.Load() {
			err = closed
		}
		if err != nil {
			return nil, err
		}
	}
	plan.crash()
	plan.count(c.done)
	return c.image.Load(), nil
}

// verify finds out which commits a reopened database holds, checks that they
// may be all, and compares everything with the model, which then forgets what
// was lost.
func (c *crashRun) verify(db *sift.DB, image *crashImage) error {
	n, err := lastCommit(db)
	if err != nil {
		return err
	}
	if n < image.kept || n > image.begun {
		return fmt.Errorf("recovered commit %d, want %d to %d", n, image.kept, image.begun)
	}
	got, err := scan(db, nil, nil)
	if err != nil {
		return fmt.Errorf("scan after reopening: %w", err)
	}
	lost, err := c.explain(got, int(n))
	if err != nil {
		return fmt.Errorf("recovered commit %d (%d to %d): %w", n, image.kept, image.begun, err)
	}
	c.trace("holds commit %d, without %v", n, lost)
	c.model.truncate(int(n))
	c.model.forget(lost)
	c.failed = nil
	if err := c.model.head().check(db, c.rnd); err != nil {
		return fmt.Errorf("recovered commit %d: %w", n, err)
	}
	c.begun.Store(n)
	c.kept.Store(n)
	if image.cut {
		c.durable.Store(n)
	}
	return nil
}

// explain finds the failed commits whose absence makes the first n commits
// equal to got. A commit that was acknowledged is never absent.
func (c *crashRun) explain(got view, n int) (lost []int, err error) {
	maybe := slices.DeleteFunc(slices.Clone(c.failed), func(f int) bool { return f >= n })
	for subset := range 1 << len(maybe) {
		lost = nil
		for i, f := range maybe {
			if subset&(1<<i) != 0 {
				lost = append(lost, f)
			}
		}
		diff := c.model.at(n, lost...).diff(got)
		if diff == nil {
			return lost, nil
		}
		if subset == 0 {
			err = diff
		}
	}
	return nil, err
}

// lastCommit reads the number that every commit writes.
func lastCommit(db *sift.DB) (int64, error) {
	v, err := db.Get([]byte("seq"))
	if errors.Is(err, sift.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the last commit's number: %w", err)
	}
	number, _, _ := strings.Cut(string(v), ".")
	return strconv.ParseInt(number, 10, 64)
}

// work writes, flushes and compacts until the crash has happened, or a write
// has failed several times, or it has done enough.
func (c *crashRun) work(db *sift.DB, plan *crashPlan) error {
	for range 1 + c.rnd.IntN(120) {
		if c.image.Load() != nil || len(c.failed) > 3 {
			return nil
		}
		var err error
		c.done.add("operations", 1)
		switch c.rnd.IntN(40) {
		case 0:
			err = db.Flush()
			c.trace("flush: %v", err)
		case 1:
			err = db.Compact(nil, nil)
			c.trace("compact: %v", err)
		case 2:
			kept := c.kept.Load()
			if err = db.SyncWAL(); err == nil {
				c.durable.Store(kept)
			}
			c.trace("sync the log: %v", err)
		case 3:
			if len(c.failed) == 0 {
				err = c.model.head().checkScans(db, nil, nil)
			}
		default:
			err = c.write(db)
			if err != nil {
				c.failed = append(c.failed, c.model.last)
			}
		}
		if err != nil && !plan.faulted.Load() {
			return fmt.Errorf("commit %d, with a healthy file system: %w", c.model.last, err)
		}
	}
	return nil
}

// write makes one commit. Its number is in its key "seq", with the generation,
// so that a commit that was lost and comes back later is found out.
func (c *crashRun) write(db *sift.DB) error {
	n := c.model.last + 1
	ops := []op{put("seq", fmt.Sprintf("%d.%d", n, c.gen))}
	for range c.rnd.IntN(5) {
		key := fmt.Sprintf("key%02d", c.rnd.IntN(50))
		if c.rnd.IntN(4) == 0 {
			ops = append(ops, del(key))
		} else {
			ops = append(ops, put(key, crashValue(c.rnd, n, c.gen)))
		}
	}
	c.model.apply(ops...)
	c.begun.Store(int64(n))
	how := pick(c.rnd, sift.Sync, sift.NoSync, sift.NoSync, nil)
	err := applyOps(db, how, ops)
	c.trace("commit %d, sync %v: %v", n, how != sift.NoSync, err)
	if err != nil {
		return err
	}
	c.kept.Store(int64(n))
	if how != sift.NoSync {
		c.durable.Store(int64(n))
	}
	return nil
}

// crashValue is recognisable in each of its bytes: its own number is repeated
// to its end, so that a mixture of two values equals neither.
func crashValue(rnd *rand.Rand, n, gen int) string {
	size := pick(rnd, 0, 1, 20, 100, 100, 400, 512, 1500, 6000)
	mark := fmt.Sprintf("%d.%d.%d/", n, gen, rnd.IntN(1000))
	return strings.Repeat(mark, size/len(mark)+1)[:size]
}

// applyOps writes ops as one commit: a batch, or a plain call if there is one op.
func applyOps(db *sift.DB, how *sift.WriteOptions, ops []op) error {
	if len(ops) == 1 && !ops[0].delete {
		return db.Put([]byte(ops[0].key), []byte(ops[0].value), how)
	}
	if len(ops) == 1 {
		return db.Delete([]byte(ops[0].key), how)
	}
	b := db.NewBatch()
	for _, o := range ops {
		var err error
		if o.delete {
			err = b.Delete([]byte(o.key))
		} else {
			err = b.Put([]byte(o.key), []byte(o.value))
		}
		if err != nil {
			return err
		}
	}
	return db.Apply(b, how)
}

func pick[T any](rnd *rand.Rand, from ...T) T { return from[rnd.IntN(len(from))] }
