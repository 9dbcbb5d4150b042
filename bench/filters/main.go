// Command filters compares sift's filters with those of other Go libraries in
// one run:
//
//	go run -C bench/filters .                                    # about a minute
//	go run -C bench/filters . -sizes 50000000 -many 8000000      # 6 GB, 20 minutes
//
// Figures are nanoseconds of the process's CPU time for each key, hashing
// included: the median of interleaved rounds, with the best round in brackets.
// Compare within a run only. With -tags purego sift runs without assembly.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
)

func main() {
	sizes := flag.String("sizes", "10000,1000000", "numbers of keys in a set")
	many := flag.String("many", "100000,1000000", "numbers of keys in each of eight sets that are asked together")
	rounds := flag.Int("rounds", 15, "interleaved rounds")
	only := flag.String("only", "", "comma-separated parts of the run: peers, paths, many, build; all if empty")
	names := flag.String("names", "", "comma-separated beginnings of the names of the filters to compare; all if empty")
	profile := flag.String("cpuprofile", "", "file to write a profile of the whole run to, for go tool pprof")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	// CPU time is that of one thread; collections would run on others and
	// empty the caches.
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	fmt.Printf("%s, %s, %d keys of 16 bytes asked a round, %s\n", runtime.Version(), processor(), asked, clockName)
	if *names != "" {
		keepSubjects(strings.Split(*names, ","))
	}
	if *profile != "" {
		file, err := os.Create(*profile)
		must(err)
		defer file.Close()
		must(pprof.StartCPUProfile(file))
		defer pprof.StopCPUProfile()
	}
	run := func(part string) bool {
		return *only == "" || strings.Contains(","+*only+",", ","+part+",")
	}
	for _, n := range numbers(*sizes) {
		if run("peers") {
			comparePeers(n, *rounds)
		}
		if run("paths") {
			comparePaths(n, *rounds)
		}
		if run("build") {
			compareBuilds(n, *rounds)
		}
	}
	for _, n := range numbers(*many) {
		if run("many") {
			compareMany(n, *rounds)
		}
	}
}

// numbers parses a list of numbers of keys.
func numbers(list string) (ns []int) {
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 1<<30 {
			fmt.Fprintf(os.Stderr, "filters: %q is not a number of keys\n", s)
			os.Exit(2)
		}
		ns = append(ns, n)
	}
	return ns
}

// processor returns the name of the processor, where the system tells it.
func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(data)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
	}
	return runtime.GOARCH
}
