package main

import (
	"syscall"
	"unsafe"
)

const clockName = "thread CPU time"

// cpuNanos returns the CPU time of the calling thread.
func cpuNanos() int64 {
	const threadCPUTime = 3 // CLOCK_THREAD_CPUTIME_ID
	var now syscall.Timespec
	if _, _, e := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadCPUTime, uintptr(unsafe.Pointer(&now)), 0); e != 0 {
		panic(e)
	}
	return now.Nano()
}
