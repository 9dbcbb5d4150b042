package workload

// ycsb are the six core workloads of the Yahoo! Cloud Serving Benchmark, with
// their published shares. A record is one pair here, which an update writes anew
// as a whole. Cooper, Silberstein, Tam, Ramakrishnan and Sears, "Benchmarking
// cloud serving systems with YCSB", SoCC 2010,
// https://doi.org/10.1145/1807128.1807152
func ycsb() []Spec {
	return []Spec{
		mixOf("ycsb-a", "half reads, half updates, of few keys most of the time", onePerLookup, shares{read: 50, update: 50}),
		mixOf("ycsb-b", "95 % reads, 5 % updates, of few keys most of the time", onePerLookup, shares{read: 95, update: 5}),
		mixOf("ycsb-c", "reads of few keys most of the time", onePerLookup, shares{read: 100}),
		mixOf("ycsb-d", "95 % reads of the newest keys most of the time, 5 % inserts", onePerLookup, shares{readLatest: 95, insert: 5}),
		mixOf("ycsb-e", "95 % scans of 1 to 100 pairs, 5 % inserts", onePerScan, shares{scan: 95, insert: 5}),
		mixOf("ycsb-f", "half reads, half reads that are then written back changed", onePerLookup, shares{read: 50, modify: 50}),
	}
}

// shares are the parts of a mix, in percent.
type shares struct{ read, readLatest, update, insert, scan, modify int }

func mixOf(name, what string, ops func(*Config) int, s shares) Spec {
	return Spec{
		Name: name, What: what, On: Compacted, ops: ops,
		Writes: s.update+s.insert+s.modify > 0,
		begin:  func(c *client) (step, error) { return c.mixed(s), nil },
		after:  holdsAny,
	}
}

// mixed returns a step that does one of the mix's operations.
func (c *client) mixed(s shares) step {
	c.zipf()
	if s.scan > 0 {
		c.keys.Ordered(nil, 0) // some sets sort themselves now
	}
	var pairs scan
	return func(int) error {
		x := c.rng.IntN(100)
		among := func(share int) bool {
			x -= share
			return x < 0
		}
		switch {
		case among(s.read):
			return c.readHot()
		case among(s.readLatest):
			return c.readLatest()
		case among(s.update):
			c.key = c.keys.Present(c.key[:0], c.drawHot())
			return c.put(updated)
		case among(s.insert):
			return c.insert()
		case among(s.scan):
			return c.scanHot(&pairs)
		}
		return c.modifyHot()
	}
}

func (c *client) readHot() error {
	c.key = c.keys.Present(c.key[:0], c.drawHot())
	return c.get(loaded, updated)
}

// readLatest reads what was put last most of the time.
func (c *client) readLatest() error {
	i := c.cfg.Pairs + c.inserted - 1 - c.zipf().draw(c.rng)
	c.key = c.keys.Present(c.key[:0], i)
	return c.get(loaded)
}

func (c *client) insert() error {
	c.key = c.keys.Present(c.key[:0], c.cfg.Pairs+c.inserted)
	c.inserted++
	c.added++
	return c.put(loaded)
}

// scanHot reads on from a key. It needs an iterator of its own: an older one does
// not see what was put since.
func (c *client) scanHot(pairs *scan) error {
	const longest = 100
	r := c.drawHot()
	c.key = c.keys.Ordered(c.key[:0], r)
	limit := 1 + c.rng.IntN(longest)
	t := c.start()
	it, err := c.store.NewIter()
	if err == nil {
		err = pairs.read(it, c.key, limit)
		if closeErr := it.Close(); err == nil {
			err = closeErr
		}
	}
	c.stop(t, 1)
	if err != nil {
		return err
	}
	return pairs.check(c, r, true)
}

// modifyHot reads a pair and writes it back changed: one operation.
func (c *client) modifyHot() error {
	c.key = c.keys.Present(c.key[:0], c.drawHot())
	c.scratch = appendValue(c.scratch[:0], c.key, c.cfg.ValueSize, updated)
	c.written += int64(len(c.key) + len(c.scratch))
	t := c.start()
	value, ok, err := c.store.Get(c.value[:0], c.key)
	if err == nil {
		err = c.store.Put(c.key, c.scratch, false)
	}
	c.stop(t, 1)
	c.value = value
	if err != nil {
		return err
	}
	return c.check(ok, loaded, updated)
}
