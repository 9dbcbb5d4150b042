// Package bloom holds the approximate membership filters of sift's tables and
// the theory that sizes them. It knows 64-bit hashes of keys and nothing of
// tables, and stands alone as a library.
//
// A filter answers "is this key in the set?" with "definitely not" or "maybe".
// "Definitely not" is never wrong. "Maybe" is wrong for an absent key with a
// known probability, the false-positive rate, which is part of this package's
// promise: [Filter.Rate] states it, [Measure] checks it.
//
// A filter is used in three steps:
//
//	b, err := bloom.NewBuilder(bloom.Blocked, 10) // 10 bits a key
//	b.Add(bloom.Hash(key))                        // every key
//	data, err := b.Finish()                       // bytes to store
//	f, err := bloom.Open(data)                    // aliases data
//	if !f.MayContain(bloom.Hash(key)) { ... }     // definitely absent
//
// Kinds trade memory for time: [Blocked] is the one to start with. [BitsForRate]
// says how many bits a key a rate takes, [Allot] divides memory among several
// filters, and docs/filters.md has what everything costs. Rates are probabilities,
// 0.01 for one in a hundred, and sizes are bytes unless they are bits a key.
//
// One hash per key serves every filter: callers hash once, at the top, and
// hand the 64 bits down. Who has one key and several filters asks them all with
// [MayContainMany], who has several keys and one filter with
// [Filter.MayContainBatch]. The hash is unseeded, so whoever chooses the keys can
// make them collide on purpose; such keys cost false positives, never wrong
// answers.
//
// The package makes no stability promise yet; package sift does.
package bloom
