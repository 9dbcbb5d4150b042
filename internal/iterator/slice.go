package iterator

import (
	"sort"

	"github.com/siftkv/sift/internal/key"
)

// Entry is one internal key with its value.
type Entry struct {
	Key   key.Internal
	Value []byte
}

// Slice returns an Iterator over entries, which must be in order and stay
// unchanged. It never fails.
func Slice(entries []Entry) Iterator { return &slice{entries: entries, at: -1} }

// slice stands on entries[at] if at is an index of entries.
type slice struct {
	entries []Entry
	at      int
}

func (s *slice) move(to int) bool {
	s.at = to
	return s.Valid()
}

// search returns the index of the first entry at or after k.
func (s *slice) search(k key.Internal) int {
	return sort.Search(len(s.entries), func(i int) bool {
		return key.Compare(s.entries[i].Key, k) >= 0
	})
}

func (s *slice) First() bool                { return s.move(0) }
func (s *slice) Last() bool                 { return s.move(len(s.entries) - 1) }
func (s *slice) SeekGE(k key.Internal) bool { return s.move(s.search(k)) }
func (s *slice) SeekLT(k key.Internal) bool { return s.move(s.search(k) - 1) }
func (s *slice) Next() bool                 { return s.Valid() && s.move(s.at+1) }
func (s *slice) Prev() bool                 { return s.Valid() && s.move(s.at-1) }
func (s *slice) Valid() bool                { return s.at >= 0 && s.at < len(s.entries) }
func (s *slice) Key() key.Internal          { return s.entries[s.at].Key }
func (s *slice) Value() []byte              { return s.entries[s.at].Value }
func (s *slice) Error() error               { return nil }
func (s *slice) Close() error               { return nil }
