package vfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Crash returns what a power cut at this moment leaves: an independent clone in
// which everything is durable, nothing is open and nothing locked.
//
// Of what was pending, each sector, each file's size and each operation on names
// survives on its own with a chance of p percent. A sector that does not is, as
// seed says, what it was before, or zeros, or half new and half garbage; a size
// that does not is an older one or one on the way. At p = 0 all that was pending
// is undone; at p = 100 it is all there. The same files and the same seed give
// the same clone.
func (m *Mem) Crash(p int, seed uint64) *Mem {
	c := &crash{
		keepPercent: p,
		rng:         rand.New(rand.NewPCG(seed, uint64(p))),
		seen:        map[*inode]*inode{},
	}
	return m.clone(c.inode)
}

// Kill returns what the end of the process at this moment leaves: an independent
// clone with all bytes and names, in which nothing is open or locked. What was
// pending still is, so that a power cut later can undo it.
func (m *Mem) Kill() *Mem {
	k := kill{}
	return m.clone(k.inode)
}

func (m *Mem) clone(copyOf func(*inode) *inode) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &Mem{root: copyOf(m.root), space: m.space, windows: m.windows}
	c.latency.Store(m.latency.Load())
	for _, n := range c.inodes() {
		if n.file != nil {
			c.used += spaceOf(n.file.size)
			continue
		}
		for _, child := range n.dir.names {
			child.links++
		}
	}
	return c
}

// kill copies inodes with their pending state. It maps old inodes to new ones.
type kill map[*inode]*inode

func (k kill) inode(n *inode) *inode {
	if c := k[n]; c != nil {
		return c
	}
	if n.file != nil {
		k[n] = &inode{file: n.file.clone()}
		return k[n]
	}
	c := newDir()
	k[n] = c // before its children: names undone by a power cut may form a cycle
	c.dir.lastOp = n.dir.lastOp
	for name, child := range n.dir.names {
		c.dir.names[name] = k.inode(child)
	}
	for name, child := range n.dir.durable {
		c.dir.durable[name] = k.inode(child)
	}
	for _, op := range n.dir.pending {
		if op.node != nil {
			op.node = k.inode(op.node)
		}
		c.dir.pending = append(c.dir.pending, op)
	}
	return c
}

// clone copies a file with its pending state. The bytes are shared until one of
// the two changes them.
func (c *contents) clone() *contents {
	c.shared = len(c.data)
	clone := *c
	clone.data = slices.Clip(c.data)
	clone.pending = maps.Clone(c.pending)
	return &clone
}

// crash copies inodes as a power cut leaves them. The order in which it asks rng
// is fixed by the names.
type crash struct {
	keepPercent int
	rng         *rand.Rand
	seen        map[*inode]*inode
}

func (c *crash) inode(n *inode) *inode {
	if n.file != nil {
		if c.seen[n] == nil {
			c.seen[n] = &inode{file: c.contents(n.file)}
		}
		return c.seen[n]
	}
	dir := newDir()
	c.seen[n] = dir
	names := c.names(n.dir)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		child := names[name]
		if child.dir != nil && c.seen[child] != nil {
			continue // half a rename would leave a directory with two names
		}
		dir.dir.names[name] = c.inode(child)
	}
	dir.dir.durable = maps.Clone(dir.dir.names)
	return dir
}

func (c *crash) keep() bool { return c.rng.IntN(100) < c.keepPercent }

func (c *crash) names(d *directory) map[string]*inode {
	names := maps.Clone(d.durable)
	for _, op := range d.pending {
		if c.keep() {
			op.apply(names)
		}
	}
	return names
}

func (c *crash) contents(now *contents) *contents {
	after := now.clone()
	after.pending = nil
	for _, i := range slices.Sorted(maps.Keys(now.pending)) {
		if !c.keep() {
			after.put(i, c.lost(now.at(i), now.pending[i]))
		}
	}
	after.size = c.size(now)
	n := min(int64(len(after.data)), after.size)
	after.data = after.data[:n:n] // what lies behind belongs to now
	after.durable, after.low = after.size, after.size
	return after
}

// put replaces sector number i.
func (c *contents) put(i int64, p []byte) {
	c.own(int(i * sectorSize))
	if end := int(i+1) * sectorSize; len(c.data) < end {
		n := len(c.data)
		c.data = slices.Grow(c.data, end-n)[:end]
		clear(c.data[n:])
	}
	s := c.data[i*sectorSize : (i+1)*sectorSize]
	clear(s[copy(s, p):])
}

// lost returns what is found in a pending sector that did not survive.
func (c *crash) lost(now []byte, s sector) []byte {
	if c.keepPercent <= 0 {
		return s.durable()
	}
	switch c.rng.IntN(3) {
	case 0:
		if len(s.images) == 0 {
			return nil
		}
		return s.images[c.rng.IntN(len(s.images))].data
	case 1:
		return nil
	}
	torn := make([]byte, sectorSize)
	copy(torn, now)
	half := torn[c.rng.IntN(2)*sectorSize/2:][:sectorSize/2]
	for i := range half {
		half[i] = byte(c.rng.Uint32())
	}
	return torn
}

// size returns the size of a file after the power cut.
func (c *crash) size(now *contents) int64 {
	pending := now.size != now.durable || now.low != now.size
	switch {
	case !pending || c.keep():
		return now.size
	case c.keepPercent <= 0 || c.rng.IntN(2) == 0:
		return now.durable
	}
	return now.low + c.rng.Int64N(max(now.size, now.durable)-now.low+1)
}
