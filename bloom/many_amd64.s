//go:build !purego

#include "textflag.h"
#include "go_asm.h"
#include "blocked_amd64.h"

// func many512(filters []*Filter, h uint64, out *bool) (others int)
//
// What the lanes look at depends on the hash alone. A probe is so short that a
// processor has those of some thirty filters under way at once; touching lines
// first only makes it longer.
TEXT ·many512(SB), NOSPLIT, $0-48
	MOVQ filters_base+0(FP), R9
	MOVQ filters_len+8(FP), R10
	MOVQ h+24(FP), BX
	MOVQ out+32(FP), R12
	XORL R11, R11                // filters that are not for us
	LEAQ (R9)(R10*8), R10        // end
	VPBROADCASTD h+24(FP), Z18
	LANES512

filter:
	MOVQ    (R9), DI
	TESTQ   DI, DI
	JEQ     other
	MOVWLZX Filter_mask(DI), CX
	TESTL   CX, CX
	JEQ     other
	MOVQ    BX, AX
	MULQ    Filter_lines(DI)
	SHLQ    $6, DX
	ADDQ    Filter_body(DI), DX
	KMOVW   Filter_mask(DI), K1
	TEST512(Z20)
	SETEQ   (R12)

next:
	INCQ R12
	ADDQ $8, R9
	CMPQ R9, R10
	JNE  filter
	MOVQ R11, others+40(FP)
	RET

other:
	MOVB $1, (R12)
	INCQ R11
	JMP  next

// func many256(filters []*Filter, h uint64, out *bool) (others int)
TEXT ·many256(SB), NOSPLIT, $0-48
	MOVQ filters_base+0(FP), R9
	MOVQ filters_len+8(FP), R10
	MOVQ h+24(FP), BX
	MOVQ out+32(FP), R12
	XORL R11, R11                // filters that are not for us
	LEAQ (R9)(R10*8), R10        // end
	VPBROADCASTD h+24(FP), Y2
	CONSTANTS256
	LANES256
	MORELANES256

filter:
	MOVQ  (R9), DI
	TESTQ DI, DI
	JEQ   other
	MOVQ  Filter_lines(DI), R8
	TESTQ R8, R8
	JEQ   other
	MOVQ  Filter_body(DI), SI
	MOVQ  BX, AX
	LINE
	MOVBQZX Filter_lanes(DI), CX
	MASKS256
	MISSING256
	CMPB Filter_lanes(DI), $8
	JLS  missing
	MOREMISSING256

missing:
	VPTEST Y9, Y9
	SETEQ (R12)

next:
	INCQ R12
	ADDQ $8, R9
	CMPQ R9, R10
	JNE  filter
	MOVQ R11, others+40(FP)
	VZEROUPPER
	RET

other:
	MOVB $1, (R12)
	INCQ R11
	JMP  next
