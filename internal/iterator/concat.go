package iterator

import (
	"sort"

	"github.com/siftkv/sift/internal/key"
)

// Source is a run of parts that are sorted and disjoint, such as the tables of
// one level.
type Source interface {
	Len() int
	// Bounds returns keys at or outside the first and last entry of part i.
	Bounds(i int) (smallest, largest key.Internal)
	// Open returns an iterator over part i.
	Open(i int) (Iterator, error)
}

// Concat walks the parts of s one after the other. It opens a part when the walk
// reaches it and keeps one open at a time.
//
// The first error, be it from opening, reading or closing a part, ends the walk:
// Valid is false, Next and Prev return false and Error says why, until First,
// Last or a seek starts anew.
func Concat(s Source) Iterator { return &concat{parts: s} }

// concat stands on an entry if and only if cur does. After an error no part is
// open.
//
// It is for one goroutine.
type concat struct {
	parts Source
	cur   Iterator // over part at; nil: none is open
	at    int
	err   error // what ended the walk
	first error // the first error of all, for Close
}

func (c *concat) Valid() bool       { return c.cur != nil && c.cur.Valid() }
func (c *concat) Key() key.Internal { return c.cur.Key() }
func (c *concat) Value() []byte     { return c.cur.Value() }
func (c *concat) Error() error      { return c.err }

func (c *concat) First() bool {
	return c.open(0) && c.forward(c.cur.First())
}

func (c *concat) Last() bool {
	return c.open(c.parts.Len()-1) && c.backward(c.cur.Last())
}

func (c *concat) SeekGE(k key.Internal) bool {
	i := sort.Search(c.parts.Len(), func(i int) bool {
		_, largest := c.parts.Bounds(i)
		return key.Compare(largest, k) >= 0
	})
	return c.open(i) && c.forward(c.cur.SeekGE(k))
}

func (c *concat) SeekLT(k key.Internal) bool {
	i := sort.Search(c.parts.Len(), func(i int) bool {
		smallest, _ := c.parts.Bounds(i)
		return key.Compare(smallest, k) >= 0
	})
	return c.open(i-1) && c.backward(c.cur.SeekLT(k))
}

func (c *concat) Next() bool { return c.Valid() && c.forward(c.cur.Next()) }
func (c *concat) Prev() bool { return c.Valid() && c.backward(c.cur.Prev()) }

// forward goes on with the first entry of the parts that follow if the step just
// made, which ok reports on, led past the end of this one.
func (c *concat) forward(ok bool) bool {
	for !ok {
		if !c.clean() || !c.open(c.at+1) {
			return false
		}
		ok = c.cur.First()
	}
	return true
}

// backward is forward for the other direction.
func (c *concat) backward(ok bool) bool {
	for !ok {
		if !c.clean() || !c.open(c.at-1) {
			return false
		}
		ok = c.cur.Last()
	}
	return true
}

// clean reports whether the open part ended without an error. A part that failed
// is let go of at once, so that its error is not met again when it is closed.
func (c *concat) clean() bool {
	err := c.cur.Error()
	if err == nil {
		return true
	}
	_ = c.closePart()
	return c.fail(err)
}

// open makes part i the open one. It reports false, with nothing open, if there
// is no such part or on an error.
func (c *concat) open(i int) bool {
	c.err = nil
	if c.cur != nil && c.at == i {
		return true
	}
	if err := c.closePart(); err != nil {
		return c.fail(err)
	}
	if i < 0 || i >= c.parts.Len() {
		return false
	}
	it, err := c.parts.Open(i)
	if err != nil {
		return c.fail(err)
	}
	c.cur, c.at = it, i
	return true
}

func (c *concat) closePart() error {
	if c.cur == nil {
		return nil
	}
	cur := c.cur
	c.cur = nil
	return cur.Close()
}

func (c *concat) fail(err error) bool {
	c.err = err
	if c.first == nil {
		c.first = err
	}
	return false
}

func (c *concat) Close() error {
	if err := c.closePart(); err != nil && c.first == nil {
		c.first = err
	}
	return c.first
}
