package sift_test

import (
	"fmt"
	"strings"
)

// A metaModel writes the log that every database must write.
type metaModel struct {
	model *model
	snap  [3]*view
	iter  [3]*metaCursor
	log   strings.Builder
}

// A metaCursor is an iterator over a view. It is unpositioned until its first
// move; then Next goes to the first entry and Prev to the last.
type metaCursor struct {
	view       view
	at         int
	positioned bool
}

func newMetaModel() *metaModel { return &metaModel{model: newModel()} }

func (m *metaModel) run(steps []metaStep) string {
	for i, s := range steps {
		if s.kind == metaBarrier {
			m.snap, m.iter = [3]*view{}, [3]*metaCursor{}
			continue
		}
		fmt.Fprintf(&m.log, "%d %s: %s\n", i, s, m.step(s))
	}
	return m.log.String()
}

func (m *metaModel) step(s metaStep) string {
	switch s.kind {
	case metaBatch:
		m.model.apply(s.ops...)
		return errText(nil)
	case metaGet:
		return viewGetText(m.model.head(), s.key)
	case metaSnapshot:
		return m.toggleSnapshot(s.slot)
	case metaSnapGet:
		if m.snap[s.slot] == nil {
			return "none"
		}
		return viewGetText(*m.snap[s.slot], s.key)
	case metaIter:
		return m.toggleIter(s)
	case metaMove:
		return m.moveIter(s)
	default:
		return scanText(m.source(s).within(s.lo, s.hi), nil)
	}
}

func (m *metaModel) source(s metaStep) view {
	if s.ofSnap && m.snap[s.slot] != nil {
		return *m.snap[s.slot]
	}
	return m.model.head()
}

func (m *metaModel) toggleSnapshot(slot int) string {
	if m.snap[slot] != nil {
		m.snap[slot] = nil
		return "close " + errText(nil)
	}
	v := m.model.head()
	m.snap[slot] = &v
	return "open"
}

func (m *metaModel) toggleIter(s metaStep) string {
	if m.iter[s.slot] != nil {
		m.iter[s.slot] = nil
		return "close " + errText(nil)
	}
	m.iter[s.slot] = &metaCursor{view: m.source(s).within(s.lo, s.hi), at: -1}
	return "open " + errText(nil)
}

func (m *metaModel) moveIter(s metaStep) string {
	c := m.iter[s.slot]
	if c == nil {
		return "none"
	}
	c.move(s)
	if c.at < 0 || c.at >= len(c.view) {
		return "invalid " + errText(nil)
	}
	return entryText(c.view[c.at].key, c.view[c.at].value)
}

func (c *metaCursor) move(s metaStep) {
	switch s.move {
	case 0:
		c.at = 0
	case 1:
		c.at = len(c.view) - 1
	case 2:
		c.at = c.view.seek(s.key)
	case 3:
		c.at = c.view.seek(s.key) - 1
	case 4, 5, 6:
		c.at = min(c.at+1, len(c.view))
	default:
		if !c.positioned {
			c.at = len(c.view)
		}
		c.at = max(c.at-1, -1)
	}
	c.positioned = true
}

func viewGetText(v view, key string) string {
	value, ok := v.get(key)
	if !ok {
		return "not found"
	}
	return entryText(key, value)
}
