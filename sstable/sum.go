package sstable

import (
	"github.com/cespare/xxhash/v2"

	"github.com/siftkv/sift/bloom"
	"github.com/siftkv/sift/internal/key"
)

// A Sum is a fingerprint of a set of entries: the wrapping sum of one hash for
// each. The order of entries does not matter, so what a compaction reads,
// minus what it drops on purpose, must equal what it writes: a lost, doubled or
// altered entry changes the sum. Sums are added and subtracted as integers.
//
// The hash is part of the file format, as the properties store a table's sum.
type Sum uint64

// Add adds one entry.
func (s *Sum) Add(k key.Internal, value []byte) {
	s.addHashed(bloom.Hash(k.User), k.Trailer, value)
}

// addHashed is Add for a user key whose hash is known.
func (s *Sum) addHashed(userHash uint64, t key.Trailer, value []byte) {
	const a, b = 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93 // odd
	x := (userHash ^ uint64(t)) * a
	x ^= x >> 32
	x = (x ^ xxhash.Sum64(value)) * b
	*s += Sum(x ^ x>>32)
}
