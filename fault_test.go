// Fault tests: the N-th call to the file system fails, for every N of the life
// of a database, once or for ever, with several errors. No call panics or
// hangs, a read never gives wrong data or loses a key, and after reopening on a
// healthy disk everything that was acknowledged is there.
//
//	go test -run 'TestFault$' .                          the short form: late calls in one mode each
//	go test -run 'TestFault$' -fault.case=once/37 .      one case again
//	go test -run 'TestFault$' -fault.all -long.ledger=ledger/long.jsonl .
//
// The last is the long form: every mode and error for every call of a life of
// 300 operations. To run one of its cases again, give -fault.case and -fault.all.
package sift_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

var (
	faultCase  = flag.String("fault.case", "", "fault tests: run this case only, as the failure named it")
	faultAll   = flag.Bool("fault.all", false, "fault tests: a longer life, and every error for every call")
	faultTrace = flag.Bool("fault.trace", false, "fault tests: print each case before it runs")
)

// faultErrors are what a failing disk says.
var faultErrors = []error{syscall.EIO, syscall.ENOSPC, syscall.EMFILE, syscall.EACCES}

// A faultKey is what is known of one pair of keys: the value that every reader
// must find, or one of those that a failed write may have left.
type faultKey struct {
	acked  string   // of the last acknowledged write; "" is absent
	synced string   // of the last write acknowledged as durable
	later  []string // of all writes after synced
	maybe  []string // of failed writes after acked
}

// A faultRun is the workload and its oracle. Each commit writes the same value
// to two keys, so that half a batch shows.
type faultRun struct {
	disk *vfs.Mem
	plan *faultPlan
	rnd  *rand.Rand
	keys [8]faultKey
	n    int

	lives, length int          // how often it is opened, and for how many steps
	size          int          // of a value
	steps         atomic.Int64 // done, to tell slow from hung
}

// newFaultRun makes the short life of two times 25 steps, or the long one of
// three times 100, whose values are smaller so that it makes fewer calls a step.
func newFaultRun(plan *faultPlan) *faultRun {
	r := &faultRun{disk: vfs.NewMem(), plan: plan, rnd: rand.New(rand.NewPCG(uint64(plan.at), 3)), lives: 2, length: 25, size: 300}
	if *faultAll {
		r.lives, r.length, r.size = 3, 100, 100
	}
	return r
}

func (r *faultRun) options(fs vfs.FS) *sift.Options {
	o := small()
	o.MemTableSize, o.ManifestSize, o.FS = 4<<10, 1<<10, fs
	return &o
}

// run is the life. Errors are allowed once the fault has struck; what is never
// allowed is returned.
func (r *faultRun) run() error {
	fs := vfs.NewFault(r.disk, r.plan.hook)
	for life := range r.lives {
		db, err := sift.Open("db", r.options(fs))
		r.steps.Add(1)
		if err != nil {
			if !r.plan.struck() {
				return fmt.Errorf("open: %w", err)
			}
			continue
		}
		err = r.live(db)
		if closeErr := db.Close(); closeErr != nil && !r.plan.struck() {
			err = errors.Join(err, closeErr)
		}
		r.steps.Add(1)
		if err != nil {
			return fmt.Errorf("life %d: %w", life, err)
		}
	}
	return nil
}

// live writes, flushes, compacts and reads: one of them a step.
func (r *faultRun) live(db *sift.DB) error {
	for i := range r.length {
		var err error
		switch i % 25 {
		case 7:
			err = r.allowed(db.Flush())
		case 11, 20:
			err = r.read(db)
		case 13:
			if err = db.SyncWAL(); err == nil {
				r.sync()
			}
			err = r.allowed(err)
		case 16:
			err = r.allowed(db.Compact(nil, nil))
		default:
			err = r.write(db, i)
		}
		r.steps.Add(1)
		if err != nil {
			return err
		}
	}
	return r.read(db)
}

// allowed passes an error on if no fault explains it.
func (r *faultRun) allowed(err error) error {
	if err != nil && r.plan.struck() {
		return nil
	}
	return err
}

// write makes one commit and books its outcome.
func (r *faultRun) write(db *sift.DB, i int) error {
	key := &r.keys[i%len(r.keys)]
	r.n++
	value := fmt.Sprintf("%d-%0*d", r.n, r.size, r.rnd.Int64())
	ops := r.pair(i%len(r.keys), value)
	if i%7 == 6 {
		value = ""
		for j := range ops {
			ops[j].delete = true
		}
	}
	how := sift.NoSync
	if i%3 == 0 {
		how = sift.Sync
	}
	key.later = append(key.later, value)
	err := applyOps(db, how, ops)
	if err != nil {
		key.maybe = append(key.maybe, value)
		return r.allowed(err)
	}
	key.acked, key.maybe = value, nil
	if how == sift.Sync {
		r.sync()
	}
	return nil
}

// sync books that everything acknowledged is durable.
func (r *faultRun) sync() {
	for i := range r.keys {
		k := &r.keys[i]
		k.synced, k.later = k.acked, slices.Clone(k.maybe)
	}
}

func (r *faultRun) pair(i int, value string) []op {
	return []op{put(fmt.Sprintf("a%d", i), value), put(fmt.Sprintf("b%d", i), value)}
}

// read compares all keys, by Get and by an iterator.
func (r *faultRun) read(db *sift.DB) error {
	for i := range r.keys {
		for _, o := range r.pair(i, "") {
			v, err := db.Get([]byte(o.key))
			if err != nil && !errors.Is(err, sift.ErrNotFound) {
				if r.allowed(err) != nil {
					return err
				}
				continue
			}
			if !r.keys[i].mayBe(string(v)) {
				return fmt.Errorf("Get(%s) = %s, %v; want %s", o.key, brief(string(v)), err, &r.keys[i])
			}
		}
	}
	v, err := scan(db, nil, nil)
	if err != nil {
		return r.allowed(err)
	}
	return r.compare(v, (*faultKey).mayBe)
}

func (k *faultKey) String() string {
	s := brief(k.acked)
	for _, m := range k.maybe {
		s += " or " + brief(m)
	}
	return s
}

func (k *faultKey) mayBe(value string) bool {
	return value == k.acked || slices.Contains(k.maybe, value)
}

func (k *faultKey) mayBeAfterCut(value string) bool {
	return value == k.synced || slices.Contains(k.later, value)
}

// compare checks the content against what is allowed, and that no batch is half
// there.
func (r *faultRun) compare(v view, allowed func(*faultKey, string) bool) error {
	for i := range r.keys {
		a, _ := v.get(fmt.Sprintf("a%d", i))
		b, _ := v.get(fmt.Sprintf("b%d", i))
		if a != b {
			return fmt.Errorf("keys a%d and b%d of one batch differ: %s and %s", i, i, brief(a), brief(b))
		}
		if !allowed(&r.keys[i], a) {
			return fmt.Errorf("key a%d is %s, want %s (durable %s)", i, brief(a), &r.keys[i], brief(r.keys[i].synced))
		}
	}
	return nil
}

// healthy opens what the run left on a disk that works, checks it, and sees
// whether the database can be used.
func (r *faultRun) healthy(disk *vfs.Mem, allowed func(*faultKey, string) bool) error {
	db, err := sift.Open("db", r.options(disk))
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	v, err := scan(db, nil, nil)
	if err == nil {
		err = r.compare(v, allowed)
	}
	if err == nil {
		err = v.check(db, r.rnd)
	}
	if err == nil {
		err = errors.Join(applyOps(db, sift.Sync, r.pair(0, "new")), db.Flush(), db.Compact(nil, nil))
	}
	return errors.Join(err, db.Close())
}
