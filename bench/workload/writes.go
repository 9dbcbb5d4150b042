package workload

// fill puts keys in the order of the load.
func fill(c *client) (step, error) {
	return func(i int) error {
		c.key = c.keys.Present(c.key[:0], i)
		c.added++
		return c.put(loaded)
	}, nil
}

// fillInOrder puts keys in key order.
func fillInOrder(c *client) (step, error) {
	c.keys.Ordered(nil, 0) // some sets sort themselves now
	return func(i int) error {
		c.key = c.keys.Ordered(c.key[:0], i)
		c.added++
		return c.put(loaded)
	}, nil
}

// fillBatches puts keys in the order of the load, many at once.
func fillBatches(c *client) (step, error) {
	var b batch
	return func(i int) error {
		b.reset()
		first := i * c.spec.StepOps
		for k := first; k < min(first+c.spec.StepOps, c.cfg.Pairs); k++ {
			b.add(c.keys, k, c.cfg.ValueSize, loaded)
		}
		c.written += b.size()
		c.added += len(b.pairs)
		t := c.start()
		err := c.store.Apply(b.pairs)
		c.stop(t, len(b.pairs))
		return err
	}, nil
}

// overwrite puts loaded keys again, drawn at random.
func overwrite(c *client) (step, error) {
	return func(int) error {
		c.key = c.keys.Present(c.key[:0], c.rng.IntN(c.cfg.Pairs))
		return c.put(updated)
	}, nil
}

// deleteHalf deletes those keys that isDeleted names.
func deleteHalf(c *client) (step, error) {
	return func(i int) error {
		c.key = c.keys.Present(c.key[:0], deletedKey(c.cfg, i))
		c.written += int64(len(c.key))
		c.added--
		t := c.start()
		err := c.store.Delete(c.key)
		c.stop(t, 1)
		return err
	}, nil
}

// deletedKey returns the index of the i-th key that is deleted where half are:
// the second half of the load, which lies anywhere in the order of the keys.
func deletedKey(c *Config, i int) int { return c.Pairs - 1 - i }

// What workloads leave, as the checks after them see it.

func holdsLoaded(c *client, i int) error {
	c.key = c.keys.Present(c.key[:0], i)
	return c.get(loaded)
}

func holdsOrdered(c *client, i int) error {
	c.key = c.keys.Ordered(c.key[:0], i)
	return c.get(loaded)
}

func holdsAny(c *client, i int) error {
	c.key = c.keys.Present(c.key[:0], i%c.cfg.Pairs)
	return c.get(loaded, updated)
}

func lacksDeleted(c *client, i int) error {
	c.key = c.keys.Present(c.key[:0], deletedKey(c.cfg, i))
	return c.get()
}

// A batch is pairs with the memory that they share.
type batch struct {
	pairs []Pair
	free  []Pair // whose memory is used again
}

func (b *batch) reset() {
	b.free, b.pairs = append(b.free, b.pairs...), b.pairs[:0]
}

func (b *batch) size() (n int64) {
	for _, p := range b.pairs {
		n += int64(len(p.Key) + len(p.Value))
	}
	return n
}

// add adds the i-th key of the load.
func (b *batch) add(keys Keys, i, valueSize int, v version) {
	var p Pair
	if last := len(b.free) - 1; last >= 0 {
		p, b.free = b.free[last], b.free[:last]
	}
	p.Key = keys.Present(p.Key[:0], i)
	p.Value = appendValue(p.Value[:0], p.Key, valueSize, v)
	b.pairs = append(b.pairs, p)
}
