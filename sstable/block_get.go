package sstable

import "github.com/siftkv/sift/internal/key"

// A found is the outcome of a point lookup in a block.
type found struct {
	value   []byte // aliases the block
	trailer key.Trailer
	ok      bool
}

// get returns the newest version of user whose trailer is at most t. It builds
// no key. It reports false for a malformed block.
//
// Of the entry that the scan stands behind it knows only how many leading bytes
// match the wanted key; match is that number. All entries passed are before
// the wanted one, and each says how many bytes it shares with its predecessor:
//
//	shared > match  it differs from user where the predecessor does: before it
//	shared < match  it leaves the matching part, upwards: behind it
//	shared = match  compare from there on
//
// A restart shares nothing, whatever its predecessor is. So the scan ends
// before the next restart; that one is not before the wanted key, or the binary
// search would have chosen it, and only remains to be tested for equality.
func (b *block) get(user []byte, t key.Trailer) (f found, ok bool) {
	r, ok := b.seekRestart(user, t)
	if !ok {
		return f, false
	}
	off, end := b.restart(r), b.restartEnd(r)
	match, prev := 0, 0 // prev is the length of the key before
	for off < end {
		h, ok := b.header(off)
		if !ok || h.shared > prev {
			return f, false
		}
		prev = h.shared + h.unshared
		if h.shared < match {
			return f, true
		}
		if h.shared == match {
			suffix, rest := b.entries[h.key:h.valueStart()], user[match:]
			n := key.CommonPrefix(suffix, rest)
			switch {
			case n < len(suffix) && (n == len(rest) || suffix[n] > rest[n]):
				return f, true
			case n == len(suffix) && n == len(rest) && b.trailer(&h) <= t:
				return b.found(&h), true
			}
			match += n
		}
		off = h.end()
	}
	if off != end || end == len(b.entries) {
		return f, off == end
	}
	h, ok := b.header(end)
	if !ok || h.shared != 0 {
		return f, false
	}
	if string(b.entries[h.key:h.valueStart()]) == string(user) && b.trailer(&h) <= t {
		return b.found(&h), true
	}
	return f, true
}

func (b *block) found(h *header) found {
	return found{b.entries[h.valueStart():h.end():h.end()], b.trailer(h), true}
}
