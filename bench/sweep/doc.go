// Package sweep shows where filters pay and where they are wasted memory: it looks
// up the same keys with every combination of filter, size of filter, shape of the
// tables, share of absent keys and size of cache, and counts the disk reads.
//
// What is measured are the engine's tables, filters and block cache, put together
// by tables.go as a lookup of the engine goes through them, so that kinds of
// filters can be compared that a database does not build. The tables lie in
// memory: counts are exact and the same in every run, and a read costs what it
// costs to decode a block, not what a device takes.
//
// Read grid.go for what is combined, tables.go for what a lookup does, cell.go for
// what is counted and the rule by which a filter pays, and say.go for the sentences.
//
// The package is part of the project's tools: unlike package sift it promises no
// stable API.
package sweep
