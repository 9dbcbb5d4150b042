package sstable

import (
	"bytes"
	"fmt"

	"github.com/siftkv/sift/internal/key"
)

// rangeWriter collects the range deletions of a table: one block in the tail,
// however many there are.
type rangeWriter struct {
	block blockWriter
	first key.Internal // owned
	last  key.Internal // owned
	end   []byte       // the largest end, owned
}

// addRange adds the deletion of [k.User, end).
func (w *Writer) addRange(k key.Internal, end []byte) error {
	r := &w.ranges
	if bytes.Compare(k.User, end) >= 0 || len(end) > key.MaxKeyLen {
		return fmt.Errorf("%w: range deletion %v has the end %q", ErrEntry, k, end)
	}
	if w.props.RangeDeletes == 0 {
		r.first = k.Clone()
	} else if key.Compare(r.last, k) >= 0 {
		return outOfOrder(r.last, k)
	}
	r.block.add(k.User, k.Trailer, end, 0)
	r.last = key.Internal{User: append(r.last.User[:0], k.User...), Trailer: k.Trailer}
	if bytes.Compare(r.end, end) < 0 {
		r.end = append(r.end[:0], end...)
	}
	w.props.RangeDeletes++
	w.props.addAny(k, end)
	w.props.Sum.Add(k, end)
	return nil
}

// setBounds completes the bounds, of which count has set the smallest entry.
func (w *Writer) setBounds() {
	p := &w.props
	if p.Entries > 0 {
		p.Largest = key.Internal{User: w.last, Trailer: w.lastTrailer}.Clone()
	}
	if p.RangeDeletes == 0 {
		return
	}
	end := key.Make(w.ranges.end, key.MaxSeq, key.RangeDelete)
	if p.Entries == 0 || key.Compare(w.ranges.first, p.Smallest) < 0 {
		p.Smallest = w.ranges.first
	}
	if p.Entries == 0 || key.Compare(p.Largest, end) < 0 {
		p.Largest = end.Clone()
	}
}
