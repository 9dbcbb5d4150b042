// Package sift is an embeddable key-value store: a log-structured merge tree
// whose immutable tables each carry a Bloom filter, so that a lookup for an
// absent key is answered without a disk read.
//
// # What it promises
//
// A write acknowledged with Sync, the default, survives a power cut. A write
// acknowledged with NoSync survives the end of the process, kill -9 included.
// After any crash the database holds a prefix of the writes in the order of their
// acknowledgement; a batch is there whole or not at all.
//
// A damaged file gives an error that names the file and the offset, or exactly
// the right data: never wrong data, never "not found" for a stored key. A damaged
// filter is ignored, since the table can be read without it. There is one limit:
// after a crash, the newest log deleted or cut short by somebody's hand looks like
// one whose end a power cut took. After Close it does not.
//
// Errors come back to the caller. The library never ends the process and never
// panics over what it finds on a disk.
//
// # How a lookup goes
//
// Read these files in this order; together they are the read path:
//
//	get.go                        the walk, from top to bottom
//	read_state.go                 what a reader sees, pinned without a lock
//	memtable/memtable.go          the newest writes, found by hash
//	internal/manifest/lookup.go   which tables may hold the key
//	bloom/filter.go               which of them surely do not
//	internal/tablecache           the open table
//	sstable/reader.go             its index, and the one block that is read
//
// The write path is write.go, wal, memtable, flush.go, compaction. Package
// sift is the only one whose interface is stable; the others can be imported and
// studied, and may change.
package sift
