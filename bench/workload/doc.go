// Package workload is what stores are measured by: the workloads that the field
// knows by name, from fillseq to YCSB, over any store, with the same keys, values,
// settings and checks for all. Command kvbench runs them on sift, and module
// bench/peers on other stores beside it.
//
// Read spec.go for what there is, table.go for the list, client.go for what is
// timed and what is not, state.go for the databases that the workloads find, and
// meter.go for what is counted. Every answer that a store gives is checked, or
// the fastest store would be one that forgets.
//
// The package is part of the project's tools: unlike package sift it promises no
// stable API.
package workload
