//go:build !purego

#include "textflag.h"
#include "go_asm.h"
#include "blocked_amd64.h"

// func batch512(f *Filter, hs []uint64, out *bool)
//
// The stack holds the addresses of the next AHEAD lines in a ring.
TEXT ·batch512(SB), NOSPLIT, $512-40 // 8*AHEAD bytes
	MOVQ f+0(FP), DI
	MOVQ hs_base+8(FP), R9
	MOVQ hs_len+16(FP), R10
	MOVQ out+32(FP), R12
	MOVQ Filter_lines(DI), R8
	MOVQ Filter_body(DI), SI
	KMOVW Filter_mask(DI), K1
	VMOVDQU32 ·powers(SB), Z16
	VPBROADCASTD ·ones(SB), Z17
	LEAQ (R9)(R10*8), R10        // end of the hashes
	LEAQ -8(R10), R14            // the last of them
	MOVQ R9, R13
	XORL R11, R11                // place in the ring

first:
	MOVQ (R13), AX
	LINE
	PREFETCHT1 (DX)
	MOVQ DX, ring-512(SP)(R11*1)
	ADDQ $8, R13
	ADDQ $8, R11
	CMPQ R13, R10
	JEQ  ready
	CMPQ R11, $(8*AHEAD)
	JNE  first

ready: // R13 runs AHEAD keys before R9, and stays at the last
	XORL R11, R11
	CMPB Filter_lanes(DI), $8
	JHI  wide

// Up to eight probes. Half the lanes are less than half the work: a processor
// has more units for 256 bits than for 512. One permutation of two registers
// reaches all 16 words.
narrow:
	MOVQ ring-512(SP)(R11*1), CX
	RUNAHEAD(PREFETCHT1, ring-512, AHEAD)
	VPBROADCASTD (R9), Y18
	VPMULLD   Y16, Y18, Y18
	VPSRLD    $28, Y18, Y19
	VMOVDQU32 (CX), Y20
	VPERMI2D  32(CX), Y20, Y19
	VPSRLD    $23, Y18, Y18
	VPRORVD   Y18, Y19, Y19
	VPTESTNMD Y17, Y19, K1, K2
	KORTESTW  K2, K2
	SETEQ (R12)
	INCQ  R12
	ADDQ  $8, R9
	CMPQ  R9, R10
	JNE   narrow
	RET

wide:
	MOVQ ring-512(SP)(R11*1), CX
	RUNAHEAD(PREFETCHT1, ring-512, AHEAD)
	VPBROADCASTD (R9), Z18
	VPMULLD   Z16, Z18, Z18
	VPSRLD    $28, Z18, Z19
	VPERMD    (CX), Z19, Z19
	VPSRLD    $23, Z18, Z18
	VPRORVD   Z18, Z19, Z19
	VPTESTNMD Z17, Z19, K1, K2
	KORTESTW  K2, K2
	SETEQ (R12)
	INCQ  R12
	ADDQ  $8, R9
	CMPQ  R9, R10
	JNE   wide
	RET

// func batch256(f *Filter, hs []uint64, out *bool)
TEXT ·batch256(SB), NOSPLIT, $0-40
	MOVQ f+0(FP), DI
	MOVQ hs_base+8(FP), R9
	MOVQ hs_len+16(FP), R10
	MOVQ out+32(FP), R12
	MOVQ Filter_lines(DI), R8
	MOVQ Filter_body(DI), SI
	MOVBQZX Filter_lanes(DI), CX
	CONSTANTS256
	MASKS256
	LEAQ (R9)(R10*8), R10        // end of the hashes
	LEAQ (8*AHEAD)(R9), R11
	CMPQ R11, R10
	CMOVQHI R10, R11             // end of those to prefetch first
	MOVQ R9, R13

first:
	MOVQ (R13), AX
	LINE
	PREFETCHT1 (DX)
	ADDQ $8, R13
	CMPQ R13, R11
	JNE  first
	SUBQ $8, R10                 // the last of the hashes

key: // R13 runs AHEAD keys before R9, and stays at the last
	CMPQ R13, R10
	CMOVQHI R10, R13
	MOVQ (R13), AX
	LINE
	PREFETCHT1 (DX)
	ADDQ $8, R13
	MOVQ (R9), AX
	VPBROADCASTD (R9), Y2
	LINE
	LANES256
	MISSING256
	CMPB Filter_lanes(DI), $8
	JLS  missing
	MORELANES256
	MOREMISSING256

missing:
	VPTEST Y9, Y9
	SETEQ (R12)
	INCQ  R12
	ADDQ  $8, R9
	CMPQ  R9, R10
	JLS   key
	VZEROUPPER
	RET

// func touchLines(body *byte, lines uint64, hashes []uint64)
TEXT ·touchLines(SB), NOSPLIT, $0-40
	MOVQ body+0(FP), SI
	MOVQ lines+8(FP), R8
	MOVQ hashes_base+16(FP), R9
	MOVQ hashes_len+24(FP), R10
	LEAQ (R9)(R10*8), R10

line:
	CMPQ R9, R10
	JEQ  done
	MOVQ (R9), AX
	ADDQ $8, R9
	LINE
	PREFETCHT0 (DX)
	JMP  line

done:
	RET
