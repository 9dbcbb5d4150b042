package workload

import (
	"bytes"
	"os"
	"strconv"
)

// Where Linux says what a process has used: see proc(5).
const (
	procIO        = "/proc/self/io"
	procStatus    = "/proc/self/status"
	procStat      = "/proc/self/stat"
	procAll       = "/proc/stat"
	procClearRefs = "/proc/self/clear_refs"
)

// fieldsOf reads a file of lines "name: number …" and returns these names'
// numbers. Where one is missing, so are all.
func fieldsOf(file string, names ...string) ([]uint64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, false
	}
	return parseFields(text, names...)
}

func parseFields(text []byte, names ...string) ([]uint64, bool) {
	values := make([]uint64, len(names))
	found := 0
	for line := range bytes.Lines(text) {
		name, rest, _ := bytes.Cut(line, []byte(":"))
		for i, want := range names {
			if string(name) != want {
				continue
			}
			words := bytes.Fields(rest)
			if len(words) == 0 {
				return nil, false
			}
			n, err := strconv.ParseUint(string(words[0]), 10, 64)
			if err != nil {
				return nil, false
			}
			values[i] = n
			found++
		}
	}
	return values, found == len(names)
}

const ticks = 100 // a second: USER_HZ, the same on every Linux of today

// A processorUse is processor time in the system's ticks, since it began.
type processorUse struct {
	known          bool
	own, busy, all uint64 // of this process; of everybody; busy or not
}

func readProcessorUse() processorUse {
	own, err := os.ReadFile(procStat)
	if err != nil {
		return processorUse{}
	}
	all, err := os.ReadFile(procAll)
	if err != nil {
		return processorUse{}
	}
	return parseProcessorUse(own, all)
}

func parseProcessorUse(own, all []byte) processorUse {
	const (
		userTime, systemTime = 11, 12 // of a process, after its name in brackets
		idle, waiting, guest = 3, 4, 8
	)
	var u processorUse
	_, rest, _ := bytes.Cut(own[max(bytes.LastIndexByte(own, ')'), 0):], []byte(" "))
	words := bytes.Fields(rest)
	line, _, _ := bytes.Cut(all, []byte("\n"))
	total := bytes.Fields(bytes.TrimPrefix(line, []byte("cpu ")))
	if len(words) <= systemTime || len(total) <= guest {
		return processorUse{}
	}
	number := func(word []byte) uint64 {
		n, _ := strconv.ParseUint(string(word), 10, 64) // a malformed one counts nothing
		return n
	}
	u.own = number(words[userTime]) + number(words[systemTime])
	for i, word := range total[:guest] { // what guests use is in the user time already
		n := number(word)
		u.all += n
		if i != idle && i != waiting {
			u.busy += n
		}
	}
	u.known = u.all > 0
	return u
}

// others returns the share of the machine that other processes used between two
// readings, and own the seconds that this one did.
func (u processorUse) others(before processorUse) (share, own float64, known bool) {
	if !u.known || !before.known || u.all <= before.all {
		return 0, 0, false
	}
	mine, busy := u.own-before.own, u.busy-before.busy
	theirs := busy - min(busy, mine)
	return float64(theirs) / float64(u.all-before.all), float64(mine) / ticks, true
}

// forgetPeak makes the peak of this process's memory what it is now, where the
// system can.
func forgetPeak() {
	const peakResident = "5"
	_ = os.WriteFile(procClearRefs, []byte(peakResident), 0) // then the peak is that of the whole process
}
