//go:build !purego

#include "textflag.h"
#include "go_asm.h"
#include "blocked_amd64.h"

// C^1..C^16 mod 2^32 for C = golden32.
DATA ·powers+0(SB)/4, $0x9e3779b9
DATA ·powers+4(SB)/4, $0xe35e67b1
DATA ·powers+8(SB)/4, $0x734297e9
DATA ·powers+12(SB)/4, $0x35fbe861
DATA ·powers+16(SB)/4, $0xdeb7c719
DATA ·powers+20(SB)/4, $0x0448b211
DATA ·powers+24(SB)/4, $0x3459b749
DATA ·powers+28(SB)/4, $0xab25f4c1
DATA ·powers+32(SB)/4, $0x52941879
DATA ·powers+36(SB)/4, $0x9c95e071
DATA ·powers+40(SB)/4, $0xf5ab9aa9
DATA ·powers+44(SB)/4, $0x2d6ba521
DATA ·powers+48(SB)/4, $0x8bededd9
DATA ·powers+52(SB)/4, $0x9bfb72d1
DATA ·powers+56(SB)/4, $0x3ae1c209
DATA ·powers+60(SB)/4, $0x7fca7981
GLOBL ·powers(SB), RODATA|NOPTR, $64

// Sixteen lanes of one and sixteen of zero. Eight lanes from byte 4*(16-k) on
// are those of the first eight probes that k probes use, eight from byte 4*(24-k)
// those of the second eight.
DATA ·ones+0(SB)/8, $0x0000000100000001
DATA ·ones+8(SB)/8, $0x0000000100000001
DATA ·ones+16(SB)/8, $0x0000000100000001
DATA ·ones+24(SB)/8, $0x0000000100000001
DATA ·ones+32(SB)/8, $0x0000000100000001
DATA ·ones+40(SB)/8, $0x0000000100000001
DATA ·ones+48(SB)/8, $0x0000000100000001
DATA ·ones+56(SB)/8, $0x0000000100000001
GLOBL ·ones(SB), RODATA|NOPTR, $128

// func mayContain(f *Filter, h uint64) bool
TEXT ·mayContain(SB), NOSPLIT, $0-17
	MOVQ    f+0(FP), DI
	MOVQ    h+8(FP), AX
	MOVWLZX Filter_mask(DI), CX
	TESTL   CX, CX
	JEQ     narrow
	VPBROADCASTD h+8(FP), Z18
	MULQ    Filter_lines(DI)
	SHLQ    $6, DX
	ADDQ    Filter_body(DI), DX
	LANES512
	VPERMD  (DX), Z19, Z19       // TEST512 with an instruction less: here no chain
	VPRORVD Z18, Z19, Z19        // of a hash comes before
	VPTESTNMD.BCST ·ones(SB), Z19, K1
	KMOVW   K1, AX
	TESTL   AX, CX
	SETEQ   ret+16(FP)
	RET

narrow:
	MOVQ  Filter_lines(DI), R8
	TESTQ R8, R8
	JEQ   other
	VPBROADCASTD h+8(FP), Y2
	TEST256
	SETEQ   ret+16(FP)
	VZEROUPPER
	RET

other:
	CMPQ Filter_span(DI), $0
	JNE  fuse
	JMP  ·mayContainGo(SB)

fuse:
	FUSE
	SETEQ ret+16(FP)
	RET
