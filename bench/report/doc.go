// Package report makes something to look at of what kvbench and bench/peers
// measured: it reads their JSON lines and writes tables for a terminal, one page of
// HTML with plots that needs no network, JSON and CSV.
//
// Read read.go for what lines are taken and what is said of others, data.go for
// how rounds and stores are put together, text.go for the terminal, and page.go
// for the page, whose plots are in figures_*.go on top of lines.go, bars.go and
// svg.go.
//
// The package is part of the project's tools: unlike package sift it promises no
// stable API.
package report
