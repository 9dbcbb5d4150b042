// Package model says what a database of sift would be like at sizes that cannot
// be run: its levels, what its writes cost, what its filters take, and how many
// disk reads a lookup expects.
//
// There are two models. [Simulate] drives the real picker of package compaction
// with tables that have bounds, sizes and densities but no content, put by put of
// a load. [Estimate] is formulas that say the same of any size, with their papers;
// it also says what a policy would cost that the engine does not have. docs/model.md
// describes both, and the tests hold them against the engine.
//
// Read the files in this order: config.go, memtable.go and sample.go (how much of a
// load makes how large a table), span.go and merge.go (tables without content),
// simulate.go, reads.go, formula.go, plan.go.
package model
