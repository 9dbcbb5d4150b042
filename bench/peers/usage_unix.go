//go:build unix

package main

import (
	"runtime"
	"syscall"
	"time"
)

// usage returns the processor time of this process so far, all threads, and its
// peak memory in MB.
func usage() (cpu time.Duration, megabytes float64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	unit := 1024.0 // of Maxrss, in bytes
	if runtime.GOOS == "darwin" {
		unit = 1
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), float64(u.Maxrss) * unit / 1e6
}
