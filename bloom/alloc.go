package bloom

import "unsafe"

// Alloc returns n zero bytes that begin on a cache line. A filter that was read
// into such a buffer costs one cache miss a lookup; anywhere else half the
// lines or more straddle two. It panics if n is negative or more than there is
// memory, as make does.
//
// On Linux the system is asked for huge pages where n is 8 MiB or more: much of
// what a miss in a large filter costs is finding the page.
func Alloc(n int) []byte {
	buf := make([]byte, n+lineBytes-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(buf))) % lineBytes
	buf = buf[skip : int(skip)+n : int(skip)+n]
	if n >= hugeFrom {
		_ = askForHugePages(buf) // advice
	}
	return buf
}

// hugeFrom is the size from which small pages are too many for a processor to
// remember where they are: it remembers some 2,000 of 4 kB.
const hugeFrom = 8 << 20
