// Package compaction turns memtables into tables and tables into fewer, larger
// ones. It has three parts that know nothing of each other's means:
//
//   - Pick, PickRange, Debt and Pressure are pure: the shape of the tree and the
//     options go in, a Job or a number comes out.
//   - survivors (drop.go) decides which versions of a key nobody can see any more.
//   - Run and Flush do the work: they read tables, write tables, and check the
//     conservation law before they return a result.
//
// Nothing here changes the tree. The caller installs Job.Edit, or does not.
//
// The package is importable so that it can be studied and tested alone; only
// package sift promises a stable interface.
package compaction
