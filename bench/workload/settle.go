package workload

import (
	"errors"
	"fmt"
	"time"
)

// settle brings what a workload wrote to rest, notes what that took, and checks
// what is there.
func (t *trial) settle(j *job, m *meter, user int64) error {
	if err := t.timed(FlushTime, j.store.Flush); err != nil {
		return err
	}
	m.settled(t.result, user)
	if t.spec.On == Empty && !t.spec.Sync {
		if err := t.timed(CompactTime, j.store.Compact); err != nil {
			return err
		}
	}
	return t.checkAfter(j)
}

// timed notes how long a call takes that not every store has.
func (t *trial) timed(figure string, call func() error) error {
	start := time.Now()
	err := call()
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	t.result.set(figure, time.Since(start).Seconds())
	return err
}

// checkAfter asks for some of what the workload has left.
func (t *trial) checkAfter(j *job) error {
	if t.spec.after == nil {
		return nil
	}
	const asked = 1000
	c := newClient(j, 0)
	ops := t.spec.ops(t.cfg)
	for i := 0; i < ops; i += max(ops/asked, 1) {
		if err := t.spec.after(c, i); err != nil {
			return fmt.Errorf("after the workload: %w", err)
		}
	}
	return nil
}

// setSpace notes the bytes on disk for each byte of the pairs that are there.
func (t *trial) setSpace(there int) error {
	size, err := treeSize(t.dir)
	if raw := t.rawOf(there); err == nil && raw > 0 {
		t.result.set(SpaceAmplification, float64(size)/raw)
	}
	return err
}

// rawOf returns the bytes of so many pairs.
func (t *trial) rawOf(pairs int) float64 {
	const sampled = 1000 // keys: their sizes differ in some sets
	n := min(pairs, sampled)
	size := 0
	for i := range n {
		size += len(t.keys.Present(nil, i)) + t.cfg.ValueSize
	}
	return float64(size) / float64(max(n, 1)) * float64(pairs)
}

// measureOpens opens the store again and again, each time in a new copy.
func (t *trial) measureOpens() error {
	c := newClient(newJob(t.spec, t.cfg, t.keys, nil), 0)
	what := t.runner.Store + ": " + t.spec.Name
	for i := range t.cfg.Opens {
		t.cfg.progress(what, i, t.cfg.Opens)
		if err := t.ctx.Err(); err != nil {
			return err
		}
		if err := t.prepare(); err != nil {
			return err
		}
		if i == t.cfg.Opens-1 {
			return t.lastOpen(c)
		}
		store, err := t.timedOpen(c)
		if err != nil {
			return err
		}
		if err := store.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) timedOpen(c *client) (Store, error) {
	start := c.start()
	store, err := t.open()
	c.stop(start, 1)
	return store, err
}

// lastOpen is metered, and what it opened is checked.
func (t *trial) lastOpen(c *client) error {
	m := startMeter(nil, func() int64 { return 0 }, func(int64) {})
	store, err := t.timedOpen(c)
	if err != nil {
		m.sampler.end()
		return err
	}
	t.result.Operations = 1 // the meter saw only this one
	m.stop(t.result)
	t.result.Operations, t.result.Timeline = 0, nil
	t.result.setLatency([]*client{c})
	err = t.checkOpened(newClient(newJob(t.spec, t.cfg, t.keys, store), 0))
	if closeErr := store.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = t.setSpace(t.cfg.Pairs)
	}
	return err
}

// checkOpened looks up every pair. After SIGKILL some may be lost, which is
// counted; no other state loses any.
func (t *trial) checkOpened(c *client) error {
	lost := 0
	for i := range t.cfg.Pairs {
		c.key = t.keys.Present(c.key[:0], i)
		value, ok, err := c.store.Get(c.value[:0], c.key)
		if err != nil {
			return err
		}
		c.value = value
		if !ok && t.spec.On == Logged {
			lost++
			continue
		}
		if err := c.check(ok, loaded); err != nil {
			return err
		}
	}
	if t.spec.On == Logged {
		t.result.set(Lost, float64(lost))
	}
	return nil
}
