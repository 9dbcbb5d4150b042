package tablecache

import "maps"

func (c *Cache) shard(num uint64) int { return int(num % numShards) }

// find returns the published table with this number, or nil.
func (c *Cache) find(num uint64) *Table { return (*c.shards[c.shard(num)].Load())[num] }

// publish makes a table findable; mu is held.
func (c *Cache) publish(tab *Table) {
	shard := &c.shards[c.shard(tab.num)]
	m := map[uint64]*Table{tab.num: tab}
	maps.Copy(m, *shard.Load())
	shard.Store(&m)
	tab.at = len(c.ring)
	c.ring = append(c.ring, tab)
}

// unpublish makes a published table unfindable; mu is held. The cache's reference
// passes to the caller.
func (c *Cache) unpublish(tab *Table) {
	shard := &c.shards[c.shard(tab.num)]
	m := maps.Clone(*shard.Load())
	delete(m, tab.num)
	shard.Store(&m)
	last := len(c.ring) - 1
	c.ring[tab.at] = c.ring[last]
	c.ring[tab.at].at = tab.at
	c.ring[last] = nil
	c.ring = c.ring[:last]
}

// evict closes idle tables until at most limit are open or none is idle, and
// returns how many it closed. By the
// clock algorithm it takes those that were not used again since it last came by,
// so that a scan over all tables does not push out those in constant use.
func (c *Cache) evict(limit int64) (closed int) {
	c.mu.Lock()
	excess := c.open.Load() - limit
	var victims []*Table
	for int64(len(victims)) < excess {
		tab := c.victim()
		if tab == nil {
			break
		}
		victims = append(victims, tab)
	}
	c.evicted += uint64(len(victims))
	c.mu.Unlock()
	for _, tab := range victims {
		c.shut(tab)
	}
	return len(victims)
}

// victim takes the next idle table out, or returns nil; mu is held. The first time
// round it passes over tables that were used since the last time.
func (c *Cache) victim() *Table {
	for range 2 * len(c.ring) {
		if c.hand >= len(c.ring) {
			c.hand = 0
		}
		tab := c.ring[c.hand]
		if !tab.used.Swap(false) && tab.take() {
			c.unpublish(tab)
			return tab
		}
		c.hand++
	}
	return nil
}

// shut closes the file of a table, unless that was done before.
func (c *Cache) shut(tab *Table) {
	if tab.shut.Swap(true) {
		return
	}
	err := tab.Close()
	c.open.Add(-1)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.obsolete, tab)
	if c.closeErr == nil {
		c.closeErr = err
	}
}
