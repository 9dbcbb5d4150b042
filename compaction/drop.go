package compaction

import (
	"bytes"
	"context"
	"slices"

	"github.com/siftkv/sift/internal/iterator"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/sstable"
)

// DropReason says why an entry need not be kept.
type DropReason uint8

// The reasons. Each leaves what every reader sees as it was.
const (
	// Shadowed: a newer value or tombstone of the key hides the entry from the
	// head and from every snapshot.
	Shadowed DropReason = iota
	// TombstoneRepeated: the next older version that is kept is a tombstone too.
	TombstoneRepeated
	// TombstoneBottom: no older version of the key is left anywhere.
	TombstoneBottom
	numDropReasons
)

var dropReasonNames = [numDropReasons]string{"shadowed", "tombstone repeated", "tombstone at the bottom"}

func (r DropReason) String() string { return dropReasonNames[r] }

// Tally counts entries and adds up their conservation sum.
type Tally struct {
	Entries uint64
	Sum     sstable.Sum
}

func (t *Tally) add(k key.Internal, value []byte) {
	t.Entries++
	t.Sum.Add(k, value)
}

func (t *Tally) plus(u Tally) {
	t.Entries += u.Entries
	t.Sum += u.Sum
}

// Drops tallies what was dropped, by reason.
type Drops [numDropReasons]Tally

// Total tallies the drops of all reasons.
func (d *Drops) Total() Tally {
	var total Tally
	for _, t := range d {
		total.plus(t)
	}
	return total
}

func (d *Drops) plus(e *Drops) {
	for i := range d {
		d[i].plus(e[i])
	}
}

// survivors walks a merge of inputs and passes on only the entries that some
// reader may still need. A reader is the head, which sees everything, or a
// snapshot, which sees the versions up to its sequence number. Each sees, of one
// key, the newest version that it may see.
//
// Versions of one key arrive newest first. Let h be the last value or tombstone
// that went by, and v the next version. If no snapshot lies in [v, h), then
// every reader that may see v may see h, and v is Shadowed. For one key:
//
//	               put@9   put@7      delete@5   put@3
//	snapshots 7 4  keep    keep       keep       keep
//	snapshot  4    keep    shadowed   shadowed   keep
//	none           keep    shadowed   shadowed   shadowed
//
// A tombstone that is not shadowed is held back until the next version of its
// key is known, for it matters only if there is something under it to hide. If
// that is a tombstone, the older one hides as much. If there is none, and no
// older table may hold the key, there is nothing to hide.
//
// A merge operand hides nothing, since it needs what lies under it. A range
// deletion, and any kind that this release does not know, hides nothing either
// and is always kept.
//
// The walk is for one goroutine. It allocates nothing per entry.
type survivors struct {
	snapshots []uint64 // ascending
	below     below
	end       []byte // the first user key that is not walked; nil: none
	sumInput  bool   // whether read.Sum is wanted; it costs a hash per entry

	read  Tally
	drops Drops

	user     []byte // the current key, an own copy
	inUser   bool
	passedOn bool   // a version of user was passed on
	hider    uint64 // the sequence number of h
	hides    bool   // there is an h

	held        bool // a tombstone of user is held back
	heldTrailer key.Trailer
	heldValue   []byte // empty, unless a later release puts something there
}

// sink takes what survives, in order. newUser says that the entry is the first
// of its user key. The entry is valid during the call.
type sink interface {
	add(k key.Internal, value []byte, newUser bool) error
}

// pollEvery is how many entries go by between two looks at the context.
const pollEvery = 1024

// run walks in from where it stands, which ok says is on an entry. It returns
// the first error of the context, of in or of out; an input that fails is never
// taken for one that ends.
func (s *survivors) run(ctx context.Context, in iterator.Iterator, ok bool, out sink) error {
	for ; ok; ok = in.Next() {
		k := in.Key()
		if !s.inUser || !bytes.Equal(k.User, s.user) {
			if s.end != nil && bytes.Compare(k.User, s.end) >= 0 {
				break
			}
			if err := s.nextUser(k.User, out); err != nil {
				return err
			}
		}
		if s.read.Entries%pollEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := s.judge(k, in.Value(), out); err != nil {
			return err
		}
	}
	if err := in.Error(); err != nil {
		return err
	}
	return s.endUser(out)
}

// nextUser turns from one user key to another.
func (s *survivors) nextUser(user []byte, out sink) error {
	if err := s.endUser(out); err != nil {
		return err
	}
	s.user = append(s.user[:0], user...)
	s.inUser, s.passedOn, s.hides = true, false, false
	return nil
}

// endUser decides on the tombstone that is held back, which is the oldest
// version of its key that is left here.
func (s *survivors) endUser(out sink) error {
	if !s.held {
		return nil
	}
	if s.below.mayHold(s.user) {
		return s.release(out)
	}
	s.dropHeld(TombstoneBottom)
	return nil
}

// judge passes one version of the current key on, drops it or holds it back.
func (s *survivors) judge(k key.Internal, value []byte, out sink) error {
	s.read.Entries++
	if s.sumInput {
		s.read.Sum.Add(k, value)
	}
	kind, seq := k.Trailer.Kind(), k.Trailer.Seq()
	switch kind {
	case key.Set, key.Delete, key.Merge, key.SetExpiring, key.SetValueFile:
		if s.hides && !s.snapshotIn(seq, s.hider) {
			s.drops[Shadowed].add(k, value)
			return nil
		}
		if kind != key.Merge {
			s.hides, s.hider = true, seq
		}
	default: // a range deletion, or a kind of a newer release: kept
	}
	if kind == key.Delete {
		s.hold(k.Trailer, value)
		return nil
	}
	if err := s.release(out); err != nil {
		return err
	}
	return s.pass(k, value, out)
}

// snapshotIn reports whether a snapshot lies in [from, to).
func (s *survivors) snapshotIn(from, to uint64) bool {
	if len(s.snapshots) == 0 {
		return false
	}
	i, _ := slices.BinarySearch(s.snapshots, from)
	return i < len(s.snapshots) && s.snapshots[i] < to
}

// hold keeps a tombstone back. One that is held back already lies right above
// it, and is not needed.
func (s *survivors) hold(t key.Trailer, value []byte) {
	if s.held {
		s.dropHeld(TombstoneRepeated)
	}
	s.held, s.heldTrailer = true, t
	s.heldValue = append(s.heldValue[:0], value...)
}

func (s *survivors) dropHeld(why DropReason) {
	s.drops[why].add(key.Internal{User: s.user, Trailer: s.heldTrailer}, s.heldValue)
	s.held = false
}

// release passes on the tombstone that is held back, if there is one.
func (s *survivors) release(out sink) error {
	if !s.held {
		return nil
	}
	s.held = false
	return s.pass(key.Internal{User: s.user, Trailer: s.heldTrailer}, s.heldValue, out)
}

func (s *survivors) pass(k key.Internal, value []byte, out sink) error {
	newUser := !s.passedOn
	s.passedOn = true
	return out.add(k, value, newUser)
}
