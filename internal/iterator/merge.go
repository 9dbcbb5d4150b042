package iterator

import "github.com/siftkv/sift/internal/key"

// Merge joins sources that overlap into one Iterator over all their entries. No
// two sources may hold the same internal key. The result owns the sources: its
// Close closes them all.
//
// The first error of any source ends the walk: Valid is false, Next and Prev
// return false and Error says why, until First, Last or a seek starts anew.
func Merge(iters ...Iterator) Iterator {
	switch len(iters) {
	case 0:
		return Slice(nil)
	case 1:
		return iters[0]
	}
	m := &merge{sources: make([]source, len(iters)), heap: make([]*source, 0, len(iters))}
	for i, it := range iters {
		m.sources[i].it = it
	}
	return m
}

// source is one input of a merge and where it stands.
type source struct {
	it     Iterator
	prefix uint64 // first 8 bytes of key.User
	key    key.Internal
}

// load notes the entry that the source stands on.
func (s *source) load() {
	s.key = s.it.Key()
	s.prefix = key.Prefix(s.key.User, 0)
}

// merge is a binary heap of sources, the one with the next entry on top.
//
// A heap needs up to two comparisons a level where a tournament tree needs one,
// but it knows the runner-up: as long as the top source stays ahead of it, a
// step costs one comparison however many sources there are. Runs from one
// source are the usual case, since newer sources are smaller than older ones.
//
// Invariants:
//  1. A source is in the heap if and only if it stands on an entry.
//  2. Going forward, the sources below the top stand on their first entry after
//     the top's; going backward, on their last entry before it.
//  3. rival is the child of the top that comes before the other one, 0 if the
//     heap holds fewer than two.
//  4. After an error the heap is empty.
//
// It is for one goroutine.
type merge struct {
	sources []source
	heap    []*source
	rival   int
	back    bool  // the heap is ordered for Prev
	err     error // what ended the walk
}

func (m *merge) Valid() bool       { return len(m.heap) > 0 }
func (m *merge) Key() key.Internal { return m.heap[0].key }
func (m *merge) Value() []byte     { return m.heap[0].it.Value() }
func (m *merge) Error() error      { return m.err }

func (m *merge) First() bool {
	return m.position(false, func(it Iterator) bool { return it.First() })
}

func (m *merge) Last() bool {
	return m.position(true, func(it Iterator) bool { return it.Last() })
}

func (m *merge) SeekGE(k key.Internal) bool {
	return m.position(false, func(it Iterator) bool { return it.SeekGE(k) })
}

func (m *merge) SeekLT(k key.Internal) bool {
	return m.position(true, func(it Iterator) bool { return it.SeekLT(k) })
}

// position moves every source by move and builds the heap for one direction.
func (m *merge) position(back bool, move func(Iterator) bool) bool {
	m.back, m.err, m.heap = back, nil, m.heap[:0]
	for i := range m.sources {
		s := &m.sources[i]
		if !m.push(s, move(s.it)) {
			return false
		}
	}
	return m.build()
}

// push puts a source that was just moved into the heap, out of order, if it
// stands on an entry. It reports false on the source's error.
func (m *merge) push(s *source, ok bool) bool {
	if ok {
		s.load()
		m.heap = append(m.heap, s)
		return true
	}
	if err := s.it.Error(); err != nil {
		m.fail(err)
		return false
	}
	return true
}

func (m *merge) fail(err error) {
	m.err, m.heap, m.rival = err, m.heap[:0], 0
}

func (m *merge) Next() bool {
	if len(m.heap) == 0 {
		return false
	}
	if m.back {
		return m.turn()
	}
	return m.settle(m.heap[0].it.Next())
}

func (m *merge) Prev() bool {
	if len(m.heap) == 0 {
		return false
	}
	if !m.back {
		return m.turn()
	}
	return m.settle(m.heap[0].it.Prev())
}

// turn changes the direction and makes a step in the new one. Seeking the other
// sources, and not stepping them back, keeps this right for a memtable, which
// may have got entries between where it stands and the current key.
func (m *merge) turn() bool {
	cur := m.heap[0]
	m.back, m.heap = !m.back, m.heap[:0]
	for i := range m.sources {
		s := &m.sources[i]
		if s != cur && !m.push(s, m.seek(s.it, cur.key)) {
			return false
		}
	}
	// cur moves last: its key, which the others sought, lives in its buffer.
	if !m.push(cur, m.step(cur.it)) {
		return false
	}
	return m.build()
}

func (m *merge) seek(it Iterator, k key.Internal) bool {
	if m.back {
		return it.SeekLT(k)
	}
	return it.SeekGE(k)
}

func (m *merge) step(it Iterator) bool {
	if m.back {
		return it.Prev()
	}
	return it.Next()
}

func (m *merge) Close() error {
	var first error
	for i := range m.sources {
		if err := m.sources[i].it.Close(); err != nil && first == nil {
			first = err
		}
	}
	m.sources, m.heap = nil, nil
	return first
}
