package iterator

import "github.com/siftkv/sift/internal/key"

// before reports whether a comes before b in the merge's direction.
func (m *merge) before(a, b *source) bool {
	if a.prefix != b.prefix {
		return (a.prefix < b.prefix) != m.back
	}
	return (key.Compare(a.key, b.key) < 0) != m.back
}

// build orders the heap from scratch and reports whether it holds anything.
func (m *merge) build() bool {
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	m.pickRival()
	return len(m.heap) > 0
}

// settle restores the heap after the top source made a step; ok says whether
// the step led to an entry.
func (m *merge) settle(ok bool) bool {
	top := m.heap[0]
	switch {
	case ok:
		top.load()
		if m.rival == 0 || m.before(top, m.heap[m.rival]) {
			return true
		}
		m.heap[0], m.heap[m.rival] = m.heap[m.rival], top
		m.down(m.rival)
	case top.it.Error() != nil:
		m.fail(top.it.Error())
		return false
	default:
		n := len(m.heap) - 1
		m.heap[0] = m.heap[n]
		m.heap = m.heap[:n]
		m.down(0)
	}
	m.pickRival()
	return len(m.heap) > 0
}

// down moves the source at i below every source that comes before it.
func (m *merge) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(m.heap) {
			return
		}
		if c+1 < len(m.heap) && m.before(m.heap[c+1], m.heap[c]) {
			c++
		}
		if m.before(m.heap[i], m.heap[c]) {
			return
		}
		m.heap[i], m.heap[c] = m.heap[c], m.heap[i]
		i = c
	}
}

func (m *merge) pickRival() {
	switch n := len(m.heap); {
	case n < 2:
		m.rival = 0
	case n > 2 && m.before(m.heap[2], m.heap[1]):
		m.rival = 2
	default:
		m.rival = 1
	}
}
