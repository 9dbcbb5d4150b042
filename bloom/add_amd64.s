//go:build !purego

#include "textflag.h"
#include "go_asm.h"
#include "blocked_amd64.h"

// The numbers of the lanes, 0 to 15.
DATA lanes<>+0(SB)/8, $0x0000000100000000
DATA lanes<>+8(SB)/8, $0x0000000300000002
DATA lanes<>+16(SB)/8, $0x0000000500000004
DATA lanes<>+24(SB)/8, $0x0000000700000006
DATA lanes<>+32(SB)/8, $0x0000000900000008
DATA lanes<>+40(SB)/8, $0x0000000b0000000a
DATA lanes<>+48(SB)/8, $0x0000000d0000000c
DATA lanes<>+56(SB)/8, $0x0000000f0000000e
GLOBL lanes<>(SB), RODATA|NOPTR, $64

// func add512(body []byte, probes uint64, hashes []uint64)
//
// Which word of the line a probe is for and the bit of it come from the lanes, as
// in a lookup. They go to the stack and from there to all lanes, one probe after
// the other: the lane whose number is the word's takes the bit. So a line is
// loaded and stored once.
//
// The stack holds, from its end, the addresses of the next ADDAHEAD lines in a
// ring, 16 bits and 16 words.
#define ADDAHEAD 32
TEXT ·add512(SB), NOSPLIT, $384-56
	MOVQ body_base+0(FP), SI
	MOVQ body_len+8(FP), R8
	SHRQ $6, R8
	MOVQ probes+24(FP), BX
	MOVQ hashes_base+32(FP), R9
	MOVQ hashes_len+40(FP), R10
	VMOVDQU32 ·powers(SB), Z16
	VPBROADCASTD ·ones(SB), Z17
	VMOVDQU32 lanes<>(SB), Z20
	LEAQ (R9)(R10*8), R10        // end of the hashes
	LEAQ -8(R10), R14            // the last of them
	MOVQ R9, R13
	XORL R11, R11                // place in the ring

first:
	MOVQ (R13), AX
	LINE
	PREFETCHT0 (DX)
	MOVQ DX, ring-256(SP)(R11*1)
	ADDQ $8, R13
	ADDQ $8, R11
	CMPQ R13, R10
	JEQ  ready
	CMPQ R11, $(8*ADDAHEAD)
	JNE  first

ready: // R13 runs ADDAHEAD keys before R9, and stays at the last
	XORL R11, R11

key:
	VPBROADCASTD (R9), Z18
	VPMULLD   Z16, Z18, Z18
	VPSRLD    $28, Z18, Z19
	VMOVDQU32 Z19, words-384(SP)
	VPSRLD    $23, Z18, Z18
	VPROLVD   Z18, Z17, Z18
	VMOVDQU32 Z18, bits-320(SP)
	MOVQ ring-256(SP)(R11*1), CX
	RUNAHEAD(PREFETCHT0, ring-256, ADDAHEAD)
	VMOVDQU32 (CX), Z18
	XORL AX, AX

probe:
	VPCMPEQD.BCST words-384(SP)(AX*4), Z20, K1
	VPORD.BCST bits-320(SP)(AX*4), Z18, K1, Z18
	INCQ AX
	CMPQ AX, BX
	JNE  probe
	VMOVDQU32 Z18, (CX)
	ADDQ $8, R9
	CMPQ R9, R10
	JNE  key
	RET
