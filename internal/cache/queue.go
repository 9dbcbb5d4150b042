package cache

// A queue is a first-in-first-out list of blocks, linked through the blocks
// themselves so that it allocates nothing. The shard's lock guards it.
type queue struct {
	newest *Block
	oldest *Block
	bytes  int64
}

// push adds b as the newest block.
func (q *queue) push(b *Block) {
	b.queue, b.newer, b.older = q, nil, q.newest
	if q.newest != nil {
		q.newest.newer = b
	} else {
		q.oldest = b
	}
	q.newest = b
	q.bytes += b.cost()
}

// remove takes b out, wherever it stands.
func (q *queue) remove(b *Block) {
	if b.newer != nil {
		b.newer.older = b.older
	} else {
		q.newest = b.older
	}
	if b.older != nil {
		b.older.newer = b.newer
	} else {
		q.oldest = b.newer
	}
	b.queue, b.newer, b.older = nil, nil, nil
	q.bytes -= b.cost()
}

// index finds a shard's blocks by id: a hash table chained through the blocks.
// The shard's lock guards it.
type index struct {
	buckets []*Block // a power of two of them
	n       int
}

func (x *index) bucket(h uint64) **Block { return &x.buckets[h&uint64(len(x.buckets)-1)] }

func (x *index) find(id blockID, h uint64) *Block {
	b := *x.bucket(h)
	for b != nil && b.id != id {
		b = b.chain
	}
	return b
}

// add enters b, which must not be there.
func (x *index) add(b *Block, h uint64) {
	if x.n == len(x.buckets) {
		x.grow()
	}
	p := x.bucket(h)
	b.chain, *p = *p, b
	x.n++
}

// remove takes b out, which must be there.
func (x *index) remove(b *Block, h uint64) {
	p := x.bucket(h)
	for *p != b {
		p = &(*p).chain
	}
	*p, b.chain = b.chain, nil
	x.n--
}

func (x *index) grow() {
	old := x.buckets
	x.buckets = make([]*Block, 2*len(old))
	for _, b := range old {
		for b != nil {
			next := b.chain
			p := x.bucket(b.id.hash())
			b.chain, *p = *p, b
			b = next
		}
	}
}
