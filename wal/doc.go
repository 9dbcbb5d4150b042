// Package wal is a log of records that says, after a crash, exactly which of
// them survived. The database keeps its writes in one and its manifest in
// another.
//
// # Terms
//
// A record is a payload with a header. A sector is the 512 bytes that a disk
// writes as one. A sync makes all records before it durable. The mark in a
// record's header says up to which byte the log was known to be durable when
// that record was written. A seal is the last record of a log that was closed.
//
// # Torn or damaged
//
// After a power cut the end of a log may be missing, zero or garbage, in any
// of its sectors that no sync had covered. That is a torn tail: nobody was
// promised those records, and they are cut off. The same bytes lost from below
// a finished sync are damage, and must never be cut off quietly. One rule tells
// the two apart:
//
//	If a header anywhere in the file holds a mark beyond the end of
//	the last record that can be read, the log is damaged.
//	Otherwise what follows that record is a torn tail.
//
// Headers carry a checksum of their own, and the first record after a sync
// starts on a new sector, so that a reader finds the marks behind a damaged
// stretch by looking at sector starts. A seal carries the end of the log as its
// mark, and therefore a sealed log has no torn tail. Without a seal the records
// of the last sync are not covered by any mark: damage there looks torn.
//
// Starting on a new sector has a second reason: no sector that holds durable
// bytes is ever written again, so a power cut during a write cannot harm them.
//
// # Across logs
//
// The first record of a log names the log before it and where that one ended,
// and a log that follows another makes it durable before itself. So if the
// older log ends early, no mark in a newer one means that a power cut took both
// ends: the newer log is dropped whole, because replaying it would leave a hole
// in history. A mark in the newer log means damage. See Replay.
//
// The package is importable, but only package sift promises a stable API.
package wal
