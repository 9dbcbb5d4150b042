package bloom

import "unsafe"

// Alloc returns n zero bytes that begin on a cache line. A filter that was read
// into such a buffer costs one cache miss a lookup; anywhere else half the
// lines or more straddle two.
func Alloc(n int) []byte {
	buf := make([]byte, n+lineBytes-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(buf))) % lineBytes
	return buf[skip : int(skip)+n : int(skip)+n]
}
