// Package iterator defines the walk over internal keys that memtables, tables
// and levels offer, and the two ways of joining several into one: Merge for
// sources that overlap, Concat for sources that do not.
package iterator

import "github.com/siftkv/sift/internal/key"

// Iterator walks internal keys in order: user key ascending, newest version
// first. It shows every version and every tombstone; deciding what a reader may
// see is for the layer above.
//
// A new Iterator is not positioned. The positioning methods report whether they
// stand on an entry. Next and Prev may be called only on an entry. After an
// error every positioning method except First, Last and the seeks returns
// false, Valid is false and Error says why: an iterator never goes on past a
// gap as if nothing were there.
//
// Key and Value are valid until the next positioning call or Close.
//
// An Iterator is for one goroutine.
type Iterator interface {
	// First and Last go to the first and last entry.
	First() bool
	Last() bool
	// SeekGE goes to the first entry at or after k.
	SeekGE(k key.Internal) bool
	// SeekLT goes to the last entry before k.
	SeekLT(k key.Internal) bool
	Next() bool
	Prev() bool

	Valid() bool
	Key() key.Internal
	Value() []byte

	// Error returns the error that ended the walk, or nil at an ordinary end.
	Error() error
	// Close lets go of what the iterator holds. It returns the first error met.
	Close() error
}
