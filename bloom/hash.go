package bloom

import "github.com/cespare/xxhash/v2"

// Hash returns the hash that every filter and index of sift is built on: the
// unseeded 64-bit xxHash of key. It is part of the file format.
func Hash(key []byte) uint64 { return xxhash.Sum64(key) }
