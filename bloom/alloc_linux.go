package bloom

import (
	"syscall"
	"unsafe"
)

const hugePage = 2 << 20 // bytes, on most systems; a wrong guess costs nothing

// askForHugePages asks for huge pages where buf spans whole ones. It is advice:
// a system that cannot heed it says so, and a lookup is slower, not wrong.
func askForHugePages(buf []byte) error {
	const advice = 14 // MADV_HUGEPAGE of the kernel's asm-generic/mman-common.h
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(buf))) % hugePage)
	whole := (len(buf) - skip) &^ (hugePage - 1)
	return syscall.Madvise(buf[skip:skip+whole], advice)
}
