// Command filters compares sift's filters with those of other Go libraries in
// one run:
//
//	go run -C bench/filters .          # 10 thousand and 1 million keys, about a minute
//	go run -C bench/filters . -large   # and 50 million: 6 GB of memory, 15 minutes
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
	"strings"
)

func main() {
	large := flag.Bool("large", false, "measure sets of 50 million keys too")
	rounds := flag.Int("rounds", 15, "interleaved rounds")
	only := flag.String("only", "", "comma-separated parts of the run: peers, paths, many, build; all if empty")
	names := flag.String("names", "", "comma-separated beginnings of the names of the filters to compare; all if empty")
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
	sizes := []int{10_000, 1_000_000}
	if *large {
		sizes = append(sizes, 50_000_000)
	}
	if *names != "" {
		keepSubjects(strings.Split(*names, ","))
	}
	run := func(part string) bool {
		return *only == "" || strings.Contains(","+*only+",", ","+part+",")
	}
	for _, n := range sizes {
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
	if run("many") {
		for _, n := range []int{100_000, 1_000_000, 8_000_000} {
			if n <= 1_000_000 || *large {
				compareMany(n, *rounds)
			}
		}
	}
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
