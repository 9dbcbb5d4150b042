package vfs

import "slices"

// sectorSize is the unit that a disk writes whole or not at all. Within one
// write of a file, a power cut decides the fate of each sector on its own.
const sectorSize = 512

// contents are the bytes of a file, as they are and as a power cut may leave
// them.
//
//	data              size
//	|=================|- - - - - - - -|   zeros that take no memory
//	   ^pending sectors: changed since the last Sync, with what was there before
//
// Syncs may overlap with appends and with each other, so a sync is known by the
// epoch in which it began: it makes durable what was written in that epoch or
// before, and a sector that changed since keeps its image of that time.
//
// Not safe for concurrent use; Mem.mu guards it.
type contents struct {
	data    []byte // the bytes, without trailing zeros that were never written
	size    int64
	shared  int // data[:shared] belongs to clones as well and must be copied before a change
	pending map[int64]sector

	durable int64  // the size that a power cut surely leaves
	low     int64  // the least size since that
	epoch   uint64 // the number of syncs begun
	synced  uint64 // the epoch of the newest sync that has ended
}

// sector is a pending sector: what a power cut may bring back, oldest (durable)
// first. None at all stands for a single image of zeros.
type sector struct {
	epoch  uint64 // of the last write
	images []image
}

type image struct {
	epoch uint64 // of the write that made it
	data  []byte // at most one sector, zeros after it; never changed
}

func (s sector) durable() []byte {
	if len(s.images) == 0 {
		return nil
	}
	return s.images[0].data
}

// keep adds an image of the present contents of the sector.
func (s sector) keep(now []byte) sector {
	if s.images == nil {
		s.images = []image{{}}
	}
	s.images = slices.Concat(s.images, []image{{epoch: s.epoch, data: slices.Clone(now)}}) // clones share the old ones
	return s
}

// afterSync returns the sector as a sync of an epoch leaves it, and whether it
// is still pending.
func (s sector) afterSync(epoch uint64) (sector, bool) {
	if s.epoch <= epoch {
		return sector{}, false
	}
	for i := len(s.images) - 1; i > 0; i-- {
		if s.images[i].epoch <= epoch {
			s.images = slices.Clone(s.images[i:])
			break
		}
	}
	return s, true
}

// at returns the bytes of sector number i, fewer at the end of the data.
func (c *contents) at(i int64) []byte {
	lo := min(i*sectorSize, int64(len(c.data)))
	hi := min(lo+sectorSize, int64(len(c.data)))
	return c.data[lo:hi]
}

// touch notes that the sectors of [lo, hi) are about to change.
func (c *contents) touch(lo, hi int64) {
	if c.pending == nil {
		c.pending = map[int64]sector{}
	}
	for i := lo / sectorSize; i*sectorSize < hi; i++ {
		s, ok := c.pending[i]
		now := c.at(i)
		switch {
		case ok && s.epoch == c.epoch+1:
			continue // no sync began since its last write
		case ok:
			s = s.keep(now)
		case len(now) > 0:
			s.images = []image{{data: slices.Clone(now)}}
		}
		s.epoch = c.epoch + 1
		c.pending[i] = s
	}
}

// own makes data writable from off on, which clones may share. What lies behind
// data is never shared: truncate sees to it.
func (c *contents) own(off int) {
	if off < c.shared {
		c.data = slices.Clone(c.data)
		c.shared = 0
	}
}

func (c *contents) writeAt(p []byte, off int64) {
	end := off + int64(len(p))
	c.touch(off, end)
	c.own(int(off))
	if n := len(c.data); end > int64(n) {
		c.data = slices.Grow(c.data, int(end)-n)[:end]
		clear(c.data[n:])
	}
	copy(c.data[off:], p)
	c.setSize(max(c.size, end))
}

func (c *contents) truncate(n int64) {
	if have := int64(len(c.data)); n < have {
		c.touch(n, have)
		c.data = c.data[:n:n] // what lies behind may belong to a clone
	}
	c.setSize(n)
}

func (c *contents) setSize(n int64) {
	c.size = n
	c.low = min(c.low, n)
}

// readAt copies what there is at off, and returns how many bytes that was.
func (c *contents) readAt(p []byte, off int64) int {
	if off >= c.size {
		return 0
	}
	p = p[:min(int64(len(p)), c.size-off)]
	n := 0
	if off < int64(len(c.data)) {
		n = copy(p, c.data[off:])
	}
	clear(p[n:])
	return len(p)
}

// beginSync returns what endSync needs.
func (c *contents) beginSync() (epoch uint64, size int64) {
	c.epoch++
	return c.epoch, c.size
}

func (c *contents) endSync(epoch uint64, size int64) {
	if epoch <= c.synced {
		return // a sync that began later has ended before
	}
	c.synced = epoch
	c.durable = size
	c.low = min(size, c.size)
	for i, s := range c.pending {
		if s, still := s.afterSync(epoch); still {
			c.pending[i] = s
		} else {
			delete(c.pending, i)
		}
	}
}
