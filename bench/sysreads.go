package bench

import (
	"bytes"
	"os"
	"strconv"
)

// SystemReads is how many read calls the operating system counted for this
// process, and how many bytes they gave. Known is false where it does not count.
type SystemReads struct {
	Known bool
	Calls uint64
	Bytes uint64
}

// sysReadsFile is where Linux counts them: see proc_pid_io(5).
const sysReadsFile = "/proc/self/io"

func readSystemReads() SystemReads {
	text, err := os.ReadFile(sysReadsFile)
	if err != nil {
		return SystemReads{} // no such counter on this system
	}
	return parseSystemReads(text)
}

func parseSystemReads(text []byte) SystemReads {
	var r SystemReads
	var found int
	for line := range bytes.Lines(text) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(": "))
		n, err := strconv.ParseUint(string(value), 10, 64)
		if err != nil {
			continue
		}
		switch string(name) {
		case "rchar":
			r.Bytes = n
			found++
		case "syscr":
			r.Calls = n
			found++
		}
	}
	r.Known = found == 2
	return r
}

// A SystemReadsMeter counts from a moment on. Reading the counter is itself
// counted, so that cost is measured first, at its least, and taken off.
type SystemReadsMeter struct {
	start, cost SystemReads
}

// StartSystemReads begins to count.
func StartSystemReads() SystemReadsMeter {
	const tries = 5 // another goroutine may read during one of them
	last := readSystemReads()
	var m SystemReadsMeter
	for i := range tries {
		next := readSystemReads()
		if cost := next.minus(last); i == 0 || cost.Calls < m.cost.Calls {
			m.cost = cost
		}
		last = next
	}
	m.start = last
	return m
}

// Stop returns what was counted between the two calls.
func (m SystemReadsMeter) Stop() SystemReads {
	return readSystemReads().minus(m.start).minus(m.cost)
}

// minus subtracts, down to zero: the cost is known to a few bytes only, since
// the counter's own text grows.
func (r SystemReads) minus(o SystemReads) SystemReads {
	return SystemReads{
		Known: r.Known && o.Known,
		Calls: r.Calls - min(r.Calls, o.Calls),
		Bytes: r.Bytes - min(r.Bytes, o.Bytes),
	}
}
