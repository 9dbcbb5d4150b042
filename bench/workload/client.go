package workload

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/siftkv/sift/bench"
)

// ErrWrongAnswer is what every answer that cannot be right is.
var ErrWrongAnswer = errors.New("wrong answer")

// A job is what the clients of a run share.
type job struct {
	spec  *Spec
	cfg   *Config
	keys  Keys
	store Store
	zipf  func() *zipf // made at its first use
	hot   permutation  // scatters what zipf draws over the keys
}

func newJob(spec *Spec, cfg *Config, keys Keys, store Store) *job {
	return &job{
		spec: spec, cfg: cfg, keys: keys, store: store,
		zipf: sync.OnceValue(func() *zipf { return newZipf(keys.Len()) }),
		hot:  newPermutation(keys.Len(), cfg.Seed+2),
	}
}

// A client is one goroutine of a run. What it does between start and stop is
// timed; making keys and checking answers is not.
type client struct {
	*job
	id      int
	rng     *rand.Rand
	latency bench.Histogram
	busy    time.Duration // the sum of what was timed
	written int64         // bytes of keys and values handed to the store
	closers []func() error
	ops     atomic.Int64 // done so far

	key, value, scratch []byte // of the present step
	inserted            int    // keys past the loaded ones
	added               int    // pairs that are there now and were not before, less those that are gone
}

func newClient(j *job, id int) *client {
	return &client{job: j, id: id, rng: rand.New(rand.NewPCG(mix(j.cfg.Seed), uint64(id)))}
}

func (c *client) start() time.Time { return time.Now() }

// stop ends what start began: so many operations.
func (c *client) stop(start time.Time, ops int) {
	d := time.Since(start)
	c.latency.Record(d)
	c.busy += d
	c.ops.Add(int64(ops))
}

func (c *client) close() error {
	var errs []error
	for _, f := range c.closers {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// newIter returns an iterator that is closed at the client's end.
func (c *client) newIter() (Iter, error) {
	it, err := c.store.NewIter()
	if err == nil {
		c.closers = append(c.closers, it.Close)
	}
	return it, err
}

// drawHot draws a number below that of the loaded keys, a few of them most of
// the time.
func (c *client) drawHot() int { return int(c.hot.at(uint64(c.zipf().draw(c.rng)))) }

// put stores the value of c.key, timed.
func (c *client) put(v version) error {
	c.value = appendValue(c.value[:0], c.key, c.cfg.ValueSize, v)
	c.written += int64(len(c.key) + len(c.value))
	t := c.start()
	err := c.store.Put(c.key, c.value, c.spec.Sync)
	c.stop(t, 1)
	return err
}

// get looks c.key up, timed, and checks that its value is of one of these
// versions, or with none of them that it has no value.
func (c *client) get(versions ...version) error {
	t := c.start()
	value, ok, err := c.store.Get(c.value[:0], c.key)
	c.stop(t, 1)
	c.value = value
	if err != nil {
		return fmt.Errorf("looking up %q: %w", c.key, err)
	}
	return c.check(ok, versions...)
}

func (c *client) check(ok bool, versions ...version) error {
	switch {
	case ok && len(versions) == 0:
		return fmt.Errorf("%w: found %q, which is not there", ErrWrongAnswer, c.key)
	case !ok && len(versions) > 0:
		return fmt.Errorf("%w: did not find %q, which is there", ErrWrongAnswer, c.key)
	case ok:
		if c.scratch, ok = rightValue(c.scratch, c.key, c.value, c.cfg.ValueSize, versions...); !ok {
			return c.badValue(c.key)
		}
	}
	return nil
}

func (c *client) badValue(key []byte) error {
	return fmt.Errorf("%w: another value than was put for %q", ErrWrongAnswer, key)
}
