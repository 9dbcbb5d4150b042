package memtable

import (
	"bytes"
	"math"

	"github.com/siftkv/sift/internal/key"
)

// commonPrefix is the leading bytes that most user keys of a memtable share. The
// tree compares the 8 bytes that follow it before anything else.
//
// A key without the prefix sorts before or after every key with it, so it maps to
// the least or the greatest value, and equal values are told apart by whole keys:
// the order is right whatever keys come later. Too many outsiders cost time, not
// correctness, so the prefix is chosen anew at a few checkpoints only and not
// whenever a key shortens it.
type commonPrefix []byte

// of returns the first thing to compare of user. It never decreases as user
// increases.
func (c commonPrefix) of(user []byte) uint64 {
	switch {
	case len(c) == 0 || bytes.HasPrefix(user, c):
		return key.Prefix(user, len(c))
	case bytes.Compare(user, c) < 0:
		return 0
	default:
		return math.MaxUint64
	}
}

// checkpoints are the numbers of entries at which the prefix is chosen anew, at
// a rebuild of the tree if it has changed. All rebuilds together move 18,688
// items, the largest takes about 2 ms. They end where a rebuild would be felt.
var checkpoints = [...]int{256, 2048, 16384}

// prefixTracker follows what the keys have in common up to the last checkpoint.
type prefixTracker struct {
	first  []byte // the first key; aliases the arena
	shared int    // leading bytes of first that every key has
	count  int
}

// note adds a key and reports whether the number of keys is a checkpoint. user
// must stay unchanged.
func (t *prefixTracker) note(user []byte) bool {
	if t.count == checkpoints[len(checkpoints)-1] {
		return false
	}
	if t.count == 0 {
		t.first, t.shared = user, len(user)
	}
	t.count++
	if t.shared > 0 {
		t.shared = key.CommonPrefix(t.first[:t.shared], user)
	}
	for _, n := range checkpoints {
		if t.count == n {
			return true
		}
	}
	return false
}

// headroom is how many bytes the chosen prefix is shorter than what the keys have
// in common so far. Keys that count upwards soon change the last of those bytes,
// and would all be outsiders.
const headroom = 2

// common returns the prefix to choose.
func (t *prefixTracker) common() commonPrefix { return t.first[:max(0, t.shared-headroom)] }
