package sift

import (
	"bytes"
	"iter"
	"slices"

	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/key"
)

// IterOptions bounds an iterator.
type IterOptions struct {
	// LowerBound is the first key that the iterator may show. Nil: no bound.
	LowerBound []byte
	// UpperBound is the first key past those that it may show. Nil: no bound.
	// Empty: the iterator shows nothing.
	UpperBound []byte
}

// Iterator walks keys in bytewise order, forward and backward, over the database
// as it was when the iterator was made: later writes, flushes and compactions do
// not change what it shows. It is for one goroutine, and must be closed: until
// then the tables that it may need stay on disk.
//
// A new Iterator stands on no key. The methods that move it report whether they
// stand on a key afterwards. Next before the first key is First, and Prev after
// the last key is Last; on an Iterator that was not moved yet, either works.
//
// After an error Valid is false, Error says why, and Next and Prev do not go on,
// so that a damaged block never looks like a gap between keys. First, Last and
// the seeks may be used to try elsewhere.
type Iterator struct {
	db           *DB
	state        *readState
	seq          uint64
	lower, upper []byte // own copies
	merged       iterator.Iterator

	at         position
	key, value []byte
	keyBuf     []byte // of the key to skip, or of the current key in reverse
	valueBuf   []byte // of the current value in reverse
	err        error
}

// position says where an Iterator stands, and with it where the merged iterator
// below does:
//
//	forward    on the version that is shown
//	reverse    on the last version of a smaller key, or before all
//	others     anywhere
type position uint8

const (
	unpositioned position = iota
	beforeFirst
	forward
	reverse
	afterLast
	failed
)

// NewIter returns an iterator. Nil options mean no bounds. The caller may change
// the bounds' bytes afterwards.
func (db *DB) NewIter(o *IterOptions) (*Iterator, error) { return db.newIter(o, latest) }

func (db *DB) newIter(o *IterOptions, seq uint64) (*Iterator, error) {
	s, ok := db.pinForIter()
	if !ok {
		return nil, ErrClosed
	}
	if seq == latest {
		seq = db.visible.Load() // after the pin: see readState
	}
	it := &Iterator{db: db, state: s, seq: seq}
	if o != nil {
		it.lower, it.upper = bytes.Clone(o.LowerBound), bytes.Clone(o.UpperBound)
	}
	merged, err := db.mergedIter(s, it.lower, it.upper)
	if err != nil {
		db.unpinIter(s)
		return nil, err
	}
	it.merged = merged
	db.iters.Add(1)
	return it, nil
}

// Valid reports whether the iterator stands on a key.
func (it *Iterator) Valid() bool { return it.at == forward || it.at == reverse }

// Key returns the current key, or nil. It is valid until the iterator moves, and
// must not be changed.
func (it *Iterator) Key() []byte { return it.key }

// Value returns the current value, or nil. It is valid until the iterator moves,
// and must not be changed.
func (it *Iterator) Value() []byte { return it.value }

// Error returns the error that ended the walk, or nil.
func (it *Iterator) Error() error { return it.err }

// First goes to the first key.
func (it *Iterator) First() bool {
	switch {
	case !it.begin():
		return false
	case it.lower != nil:
		it.merged.SeekGE(key.Seek(it.lower, it.seq))
	default:
		it.merged.First()
	}
	return it.findForward(false)
}

// Last goes to the last key.
func (it *Iterator) Last() bool {
	switch {
	case !it.begin():
		return false
	case it.upper != nil:
		it.merged.SeekLT(before(it.upper))
	default:
		it.merged.Last()
	}
	return it.findReverse()
}

// SeekGE goes to the first key at or after k.
func (it *Iterator) SeekGE(k []byte) bool {
	if !it.begin() {
		return false
	}
	if it.lower != nil && bytes.Compare(k, it.lower) < 0 {
		k = it.lower
	}
	it.merged.SeekGE(key.Seek(k, it.seq))
	return it.findForward(false)
}

// SeekLT goes to the last key before k.
func (it *Iterator) SeekLT(k []byte) bool {
	if !it.begin() {
		return false
	}
	if it.upper != nil && bytes.Compare(k, it.upper) > 0 {
		k = it.upper
	}
	it.merged.SeekLT(before(k))
	return it.findReverse()
}

// Next goes to the next key.
func (it *Iterator) Next() bool {
	if it.closedNow() {
		return false
	}
	switch it.at {
	case unpositioned, beforeFirst:
		return it.First()
	case forward:
		it.keyBuf = append(it.keyBuf[:0], it.key...)
		it.merged.Next()
		return it.findForward(true)
	case reverse:
		it.merged.SeekGE(after(it.key))
		return it.findForward(false)
	default: // past the last key, or after an error
		return false
	}
}

// Prev goes to the previous key.
func (it *Iterator) Prev() bool {
	if it.closedNow() {
		return false
	}
	switch it.at {
	case unpositioned, afterLast:
		return it.Last()
	case forward:
		it.keyBuf = append(it.keyBuf[:0], it.key...)
		it.merged.SeekLT(before(it.keyBuf))
		return it.findReverse()
	case reverse:
		return it.findReverse()
	default: // before the first key, or after an error
		return false
	}
}

// All walks the keys and values from the first on. Both slices are valid until
// the next round. Check Error after the loop.
func (it *Iterator) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		for ok := it.First(); ok; ok = it.Next() {
			if !yield(it.key, it.value) {
				return
			}
		}
	}
}

// Close lets go of what the iterator holds. It returns the error that ended the
// walk, if any. Closing again does nothing.
func (it *Iterator) Close() error {
	if it.merged == nil {
		return nil
	}
	err := it.merged.Close()
	if it.err != nil || it.db.closed.Load() {
		err = it.err
	}
	it.merged = nil
	it.stop(failed, ErrClosed)
	it.db.iters.Add(-1)
	it.db.unpinIter(it.state)
	return err
}

// before is the place before all versions of k, and after the place behind them.
func before(k []byte) key.Internal { return key.Internal{User: k, Trailer: ^key.Trailer(0)} }
func after(k []byte) key.Internal  { return key.Internal{User: k} }

// begin prepares for a move to an absolute place. It reports whether one is
// possible.
func (it *Iterator) begin() bool {
	if it.closedNow() {
		return false
	}
	it.err = nil
	return true
}

// closedNow reports, and records, that the iterator or its database is closed.
func (it *Iterator) closedNow() bool {
	if it.merged != nil && !it.db.closed.Load() {
		return false
	}
	it.stop(failed, ErrClosed)
	return true
}

// stop leaves the iterator on no key.
func (it *Iterator) stop(at position, err error) bool {
	it.at, it.key, it.value, it.err = at, nil, nil, err
	return false
}

// end is stop where the merged iterator has no further entry, or failed.
func (it *Iterator) end(at position) bool {
	err := it.merged.Error()
	if err != nil && it.db.closed.Load() {
		err = ErrClosed
	}
	if err != nil {
		at = failed
	}
	return it.stop(at, err)
}

// findForward goes on to the first version that is the newest visible one of its
// key and not a tombstone. With skip it passes the versions of the key in keyBuf.
func (it *Iterator) findForward(skip bool) bool {
	for m := it.merged; m.Valid(); m.Next() {
		k := m.Key()
		if it.upper != nil && bytes.Compare(k.User, it.upper) >= 0 {
			return it.stop(afterLast, nil)
		}
		if k.Trailer.Seq() > it.seq || skip && bytes.Equal(k.User, it.keyBuf) {
			continue
		}
		switch k.Trailer.Kind() {
		case key.Set:
			it.at, it.key, it.value = forward, clip(k.User), clip(m.Value())
			return true
		case key.Delete:
			it.keyBuf = append(it.keyBuf[:0], k.User...)
			skip = true
		default:
			return it.stop(failed, unknownKind(k.Clone()))
		}
	}
	return it.end(afterLast)
}

// findReverse goes back to the last key whose newest visible version is not a
// tombstone. Going backward the versions of a key come oldest first, so that the
// answer is known only at the next smaller key.
func (it *Iterator) findReverse() bool {
	found := false
	m := it.merged
	for ; m.Valid(); m.Prev() {
		k := m.Key()
		if found && !bytes.Equal(k.User, it.keyBuf) {
			break
		}
		if it.lower != nil && bytes.Compare(k.User, it.lower) < 0 {
			break
		}
		if k.Trailer.Seq() > it.seq {
			continue
		}
		switch k.Trailer.Kind() {
		case key.Set:
			it.keyBuf = append(it.keyBuf[:0], k.User...)
			it.valueBuf = append(it.valueBuf[:0], m.Value()...)
			found = true
		case key.Delete:
			found = false
		default:
			return it.stop(failed, unknownKind(k.Clone()))
		}
	}
	if m.Error() != nil || !found {
		return it.end(beforeFirst)
	}
	it.at, it.key, it.value = reverse, clip(it.keyBuf), clip(it.valueBuf)
	return true
}

// clip takes the spare capacity away, so that a caller who appends to the result
// cannot reach what lies behind it. An empty result is not nil.
func clip(b []byte) []byte {
	if len(b) == 0 {
		return []byte{}
	}
	return slices.Clip(b)
}
