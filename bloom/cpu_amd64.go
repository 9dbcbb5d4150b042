//go:build !purego

package bloom

// What the processor can do and the operating system keeps over a context
// switch. Written once, at start; read by the assembly.
var hasAVX2, hasAVX512 = detect()

// cpuid and xgetbv execute the instructions of their names; xgetbv reads the
// low half of XCR0.
func cpuid(leaf, sub uint32) (a, b, c, d uint32)
func xgetbv() (lo uint32)

// detect follows Intel's manual, volume 1, sections 14.3 and 15.2: a processor
// may have registers that the operating system does not save.
func detect() (avx2, avx512 bool) {
	const (
		osxsave, avx       = 1 << 27, 1 << 28      // leaf 1, ECX
		bitAVX2, bitAVX512 = 1 << 5, 1<<16 | 1<<31 // leaf 7, EBX: F and VL
		vbmi2              = 1 << 6                // leaf 7, ECX
		ymmState, zmmState = 0x06, 0xe6            // XCR0
	)
	highest, _, _, _ := cpuid(0, 0)
	_, _, c1, _ := cpuid(1, 0)
	if highest < 7 || c1&osxsave == 0 || c1&avx == 0 {
		return false, false
	}
	_, b7, c7, _ := cpuid(7, 0)
	saved := xgetbv()
	avx2 = b7&bitAVX2 != 0 && saved&ymmState == ymmState
	// Before Ice Lake, which brought VBMI2, 512-bit code lowered the clock of
	// everything around it.
	avx512 = avx2 && b7&bitAVX512 == bitAVX512 && c7&vbmi2 != 0 && saved&zmmState == zmmState
	return avx2, avx512
}
