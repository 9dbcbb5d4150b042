// Package sstable writes and reads tables: immutable files of entries sorted by
// internal key.
//
// A lookup costs one read of one block. Open reads the table's tail once and
// keeps the index, so that Get knows the block; the block is read, verified,
// decompressed into a buffer of the block cache and searched in place. A key
// with many versions is no exception: the index tells versions apart where they
// span blocks. What a table definitely does not hold is decided by its filter,
// which lives outside this package's Reader, with whoever asks many tables.
//
// Read the files in this order:
//
//	format.go        how a file is built of blocks
//	block_writer.go  a data block          block.go, block_get.go, block_iter.go read it
//	index_writer.go  the index             index.go, index_decode.go read it
//	properties.go    footer.go             what a table holds, and where
//	writer.go        writer_range.go, writer_finish.go
//	fetch.go         bytes from the file, counted and verified
//	reader.go        iter.go, span.go, verify.go
//
// # Damage
//
// Every byte of a table is under a checksum that also covers the table's id and
// the byte's place. Damage gives a *key.CorruptionError that names file and
// offset, or is in a part that the call does not need; it never gives other
// data. A table of a newer format gives key.ErrVersion.
//
// The API of this package makes no stability promise yet; package sift does.
package sstable
