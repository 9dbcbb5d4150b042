// Package bench measures what filters save: it loads the same keys into a
// database with filters and one without, looks up keys that are there and keys
// that are not, and counts the disk reads of each. Command kvbench prints what
// it finds.
//
// Read keys.go for what is loaded and looked up, shape.go for how the two
// databases come to lie on disk, lookup.go for what is counted and timed, and
// job.go for the order of it all.
//
// The package is part of the project's tools: unlike package sift it promises no
// stable API.
package bench
