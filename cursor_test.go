package sift_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/siftkv/sift"
)

// A cursor walks an iterator and the view that it must show in step. The first
// difference is kept in err; after it the cursor does nothing more.
//
// at is the index in the view; -1 stands before the first entry and len(view)
// behind the last, from where one step in the other direction returns to it.
type cursor struct {
	view view
	it   *sift.Iterator
	at   int
	last string // the last call, for the error
	err  error
}

func newCursor(v view, it *sift.Iterator) *cursor { return &cursor{view: v, it: it, at: -1} }

func (c *cursor) do(call string, at int, move func()) {
	if c.err != nil {
		return
	}
	c.last, c.at = call, at
	move()
	c.compare()
}

func (c *cursor) first()        { c.do("First", 0, func() { c.it.First() }) }
func (c *cursor) lastEntry()    { c.do("Last", len(c.view)-1, func() { c.it.Last() }) }
func (c *cursor) next()         { c.do("Next", min(c.at+1, len(c.view)), func() { c.it.Next() }) }
func (c *cursor) onEntry() bool { return c.at >= 0 && c.at < len(c.view) }

func (c *cursor) seekGE(key string) {
	c.do(fmt.Sprintf("SeekGE(%q)", key), c.view.seek(key), func() { c.it.SeekGE([]byte(key)) })
}

func (c *cursor) seekLT(key string) {
	c.do(fmt.Sprintf("SeekLT(%q)", key), c.view.seek(key)-1, func() { c.it.SeekLT([]byte(key)) })
}

// prev goes back; an unpositioned iterator goes to the last entry.
func (c *cursor) prev() {
	at := max(c.at-1, -1)
	if c.last == "" {
		at = len(c.view) - 1
	}
	c.do("Prev", at, func() { c.it.Prev() })
}

// step goes one entry in a random direction.
func (c *cursor) step(rnd *rand.Rand) {
	if rnd.IntN(2) == 0 {
		c.next()
	} else {
		c.prev()
	}
}

// walk makes one random move; seeks go to keys near those of the view.
func (c *cursor) walk(rnd *rand.Rand) {
	switch rnd.IntN(10) {
	case 0:
		c.first()
	case 1:
		c.lastEntry()
	case 2, 3:
		keys := c.view.neighbours(rnd, 1)
		if key := keys[rnd.IntN(len(keys))]; rnd.IntN(2) == 0 {
			c.seekGE(key)
		} else {
			c.seekLT(key)
		}
	default:
		c.step(rnd)
	}
}

func (c *cursor) compare() {
	want := "invalid"
	if c.onEntry() {
		want = fmt.Sprintf("%q=%s", c.view[c.at].key, brief(c.view[c.at].value))
	}
	got := "invalid"
	if c.it.Valid() {
		got = fmt.Sprintf("%q=%s", c.it.Key(), brief(string(c.it.Value())))
	}
	same := got == want
	if same && c.onEntry() {
		same = string(c.it.Value()) == c.view[c.at].value
	}
	if err := c.it.Error(); err != nil || !same {
		c.err = fmt.Errorf("after %s: iterator is at %s (error %v), want %s", c.last, got, err, want)
	}
}
