//go:build !purego

#include "textflag.h"
#include "go_asm.h"

// The assembly of blocked filters and of fuse filters of 8 bits. Every function
// here agrees to the bit with its reference in Go; the tests compare them.
//
// A key's probes are lanes of 32 bits. Lane i holds x_i = C^i * low32(h); the top
// four bits of x_i choose one of the 16 words of the line, which a permutation
// of the loaded line brings into lane i, and the next five bits choose the bit.
// So a line is loaded once and nothing is gathered.
//
// Registers throughout:
//   DI  *Filter                  R9   hashes or filters, and R10 their end
//   SI  address of line 0        R12  out
//   R8  number of lines          DX   address of the key's line
//
// AVX-512 code uses Z16 and up only, which leave no state for VZEROUPPER to
// clear. It prefetches AHEAD keys before it tests one: about as many as the
// processor can have misses in flight.

#define AHEAD 16

// Of xxHash64.
#define PRIME1 0x9e3779b185ebca87
#define PRIME2 0xc2b2ae3d27d4eb4f
#define PRIME3 0x165667b19e3779f9
#define PRIME4 0x85ebca77c2b2ae63
#define PRIME5 0x27d4eb2f165667c5

// C^1..C^16 mod 2^32 for C = golden32.
DATA powers<>+0(SB)/4, $0x9e3779b9
DATA powers<>+4(SB)/4, $0xe35e67b1
DATA powers<>+8(SB)/4, $0x734297e9
DATA powers<>+12(SB)/4, $0x35fbe861
DATA powers<>+16(SB)/4, $0xdeb7c719
DATA powers<>+20(SB)/4, $0x0448b211
DATA powers<>+24(SB)/4, $0x3459b749
DATA powers<>+28(SB)/4, $0xab25f4c1
DATA powers<>+32(SB)/4, $0x52941879
DATA powers<>+36(SB)/4, $0x9c95e071
DATA powers<>+40(SB)/4, $0xf5ab9aa9
DATA powers<>+44(SB)/4, $0x2d6ba521
DATA powers<>+48(SB)/4, $0x8bededd9
DATA powers<>+52(SB)/4, $0x9bfb72d1
DATA powers<>+56(SB)/4, $0x3ae1c209
DATA powers<>+60(SB)/4, $0x7fca7981
GLOBL powers<>(SB), RODATA|NOPTR, $64

// Sixteen lanes of ones and sixteen of zeros. Eight lanes from byte 4*(16-k) on
// are those of the first eight probes that k probes use, eight from byte 4*(24-k)
// those of the second eight.
DATA ones<>+0(SB)/8, $-1
DATA ones<>+8(SB)/8, $-1
DATA ones<>+16(SB)/8, $-1
DATA ones<>+24(SB)/8, $-1
DATA ones<>+32(SB)/8, $-1
DATA ones<>+40(SB)/8, $-1
DATA ones<>+48(SB)/8, $-1
DATA ones<>+56(SB)/8, $-1
GLOBL ones<>(SB), RODATA|NOPTR, $128

// LINE sets DX to the address of the line of the hash in AX.
#define LINE \
	MULQ R8        \
	SHLQ $6, DX    \
	ADDQ SI, DX

// CONSTANTS512 loads what PROBE512 expects besides the mask of lanes in K1.
#define CONSTANTS512 \
	MOVL         $1, AX            \
	VPBROADCASTD AX, Z17           \
	VMOVDQU32    powers<>(SB), Z16

// PROBE512 sets the zero flag if the line at DX has all bits of the hash in BX.
// A rotation by x_i >> 23 looks at the low five bits of that alone.
#define PROBE512 \
	VPBROADCASTD BX, Z18          \
	VPMULLD      Z16, Z18, Z18    \
	VPSRLD       $28, Z18, Z19    \
	VPERMD       (DX), Z19, Z19   \
	VPSRLD       $23, Z18, Z18    \
	VPRORVD      Z18, Z19, Z19    \
	VPTESTNMD    Z17, Z19, K1, K2 \
	KORTESTW     K2, K2

// PROBE8 is PROBE512 for at most eight probes. Half the lanes are less than half
// the work: a processor has more units for 256 bits than for 512. One permutation
// of two registers reaches all 16 words.
#define PROBE8 \
	VPBROADCASTD BX, Y18           \
	VPMULLD      Y16, Y18, Y18     \
	VPSRLD       $28, Y18, Y19     \
	VMOVDQU32    (DX), Y20         \
	VPERMI2D     32(DX), Y20, Y19  \
	VPSRLD       $23, Y18, Y18     \
	VPRORVD      Y18, Y19, Y19     \
	VPTESTNMD    Y17, Y19, K1, K2  \
	KORTESTW     K2, K2

// CONSTANTS256 loads the powers of C.
#define CONSTANTS256 \
	VMOVDQU powers<>+0(SB), Y12  \
	VMOVDQU powers<>+32(SB), Y13

// LANES256 sets Y14 and Y15 to a one in each lane that the number of probes in
// CX uses. It destroys CX and AX.
#define LANES256 \
	LEAQ    ones<>(SB), AX       \
	NEGQ    CX                   \
	VMOVDQU 64(AX)(CX*4), Y14    \
	VMOVDQU 96(AX)(CX*4), Y15    \
	VPSRLD  $31, Y14, Y14        \
	VPSRLD  $31, Y15, Y15

// HALF256 sets YR to the bits that are missing in the line Y0, Y1, of the hash
// in Y2, in the lanes of ones YM, whose powers are YP. A permutation reaches
// eight words, so both halves of the line are permuted and the top bit of x_i
// picks one.
#define HALF256(YP, YM, YR) \
	VPMULLD    YP, Y2, Y3     \
	VPSRLD     $28, Y3, Y4    \
	VPERMD     Y0, Y4, Y5     \
	VPERMD     Y1, Y4, Y6     \
	VBLENDVPS  Y3, Y6, Y5, Y5 \
	VPSLLD     $4, Y3, Y3     \
	VPSRLD     $27, Y3, Y3    \
	VPSLLVD    Y3, YM, Y4     \
	VPANDN     Y4, Y5, YR

// PROBE256 sets the zero flag if the line at DX has all bits of the hash in BX.
#define PROBE256 \
	VMOVD        BX, X2     \
	VPBROADCASTD X2, Y2     \
	VMOVDQU      (DX), Y0   \
	VMOVDQU      32(DX), Y1 \
	HALF256(Y12, Y14, Y7)   \
	HALF256(Y13, Y15, Y8)   \
	VPOR         Y7, Y8, Y7 \
	VPTEST       Y7, Y7

// func mayContain(f *Filter, h uint64) bool
TEXT ·mayContain(SB), NOSPLIT, $0-17
	MOVQ  f+0(FP), DI
	MOVQ  h+8(FP), AX
	MOVQ  Filter_lines(DI), R8
	MOVQ  AX, BX
	TESTQ R8, R8
	JEQ   other
	MOVQ  Filter_body(DI), SI
	LINE
	CMPB  ·hasAVX512(SB), $0
	JEQ   avx2
	KMOVW Filter_mask(DI), K1
	CONSTANTS512
	PROBE512
	SETEQ ret+16(FP)
	RET

avx2:
	MOVBQZX Filter_lanes(DI), CX
	CONSTANTS256
	LANES256
	PROBE256
	SETEQ   ret+16(FP)
	VZEROUPPER
	RET

other:
	CMPQ Filter_span(DI), $0
	JNE  fuse
	JMP  ·mayContainGo(SB)

fuse: // of 8 bits: probeFuse in as many instructions as it takes
	XORQ (Filter_header+header_seed)(DI), AX
	MOVQ $0x9e3779b97f4a7c15, CX
	MULQ CX
	MOVQ AX, CX                  // lo
	XORQ DX, AX                  // x
	MOVQ AX, R9
	MULQ Filter_span(DI)         // DX is a
	MOVQ Filter_body(DI), SI
	MOVQ Filter_segment(DI), R8
	LEAQ -1(R8), R10
	MOVQ R9, R11
	SHRQ $18, R11
	ANDQ R10, R11
	ANDQ R10, R9
	LEAQ (DX)(R8*1), AX
	XORQ AX, R11                 // b
	ADDQ R8, AX
	XORQ AX, R9                  // c
	SHRQ $56, CX
	XORB (SI)(DX*1), CX
	XORB (SI)(R11*1), CX
	XORB (SI)(R9*1), CX
	SETEQ ret+16(FP)
	RET

// func mayContainKey(f *Filter, key []byte) bool
//
// The hash of a short key (xxHash64 of less than 32 bytes, as its specification
// has it) goes into the probe in a register, which saves a call of the two.
TEXT ·mayContainKey(SB), NOSPLIT, $0-33
	MOVQ  f+0(FP), DI
	MOVQ  key_base+8(FP), R9
	MOVQ  key_len+16(FP), CX
	MOVQ  Filter_lines(DI), R8
	TESTQ R8, R8
	JEQ   other
	CMPQ  CX, $32
	JCC   other
	MOVQ  $PRIME1, R10
	MOVQ  $PRIME2, R11
	MOVQ  $PRIME3, R12
	MOVQ  $PRIME5, R13
	LEAQ  (R13)(CX*1), BX
	SUBQ  $8, CX
	JCS   half
	MOVQ  $PRIME4, SI

word:
	MOVQ  (R9), AX
	ADDQ  $8, R9
	IMULQ R11, AX
	ROLQ  $31, AX
	IMULQ R10, AX
	XORQ  AX, BX
	ROLQ  $27, BX
	IMULQ R10, BX
	ADDQ  SI, BX
	SUBQ  $8, CX
	JCC   word

half:
	TESTQ $4, CX                 // CX is 8 less than what is left
	JEQ   octets
	MOVL  (R9), AX
	ADDQ  $4, R9
	IMULQ R10, AX
	XORQ  AX, BX
	ROLQ  $23, BX
	IMULQ R11, BX
	ADDQ  R12, BX

octets:
	ANDQ $3, CX
	JEQ  mixed

octet:
	MOVBLZX (R9), AX
	INCQ    R9
	IMULQ   R13, AX
	XORQ    AX, BX
	ROLQ    $11, BX
	IMULQ   R10, BX
	DECQ    CX
	JNE     octet

mixed:
	MOVQ  BX, AX
	SHRQ  $33, AX
	XORQ  AX, BX
	IMULQ R11, BX
	MOVQ  BX, AX
	SHRQ  $29, AX
	XORQ  AX, BX
	IMULQ R12, BX
	MOVQ  BX, AX
	SHRQ  $32, AX
	XORQ  AX, BX
	MOVQ  BX, AX
	MOVQ  Filter_body(DI), SI
	LINE
	CMPB  ·hasAVX512(SB), $0
	JEQ   avx2
	KMOVW Filter_mask(DI), K1
	CONSTANTS512
	PROBE512
	SETEQ ret+32(FP)
	RET

avx2:
	MOVBQZX Filter_lanes(DI), CX
	CONSTANTS256
	LANES256
	PROBE256
	SETEQ   ret+32(FP)
	VZEROUPPER
	RET

other:
	JMP ·mayContainKeyGo(SB)

// func batch512(f *Filter, hs []uint64, out *bool)
//
// The stack holds the addresses of the next AHEAD lines in a ring.
TEXT ·batch512(SB), NOSPLIT, $128-40 // 8*AHEAD bytes
	MOVQ f+0(FP), DI
	MOVQ hs_base+8(FP), R9
	MOVQ hs_len+16(FP), R10
	MOVQ out+32(FP), R12
	MOVQ Filter_lines(DI), R8
	MOVQ Filter_body(DI), SI
	KMOVW Filter_mask(DI), K1
	CONSTANTS512
	LEAQ (R9)(R10*8), R10        // end of the hashes
	LEAQ -8(R10), R14            // the last of them
	MOVQ R9, R13
	XORL R11, R11                // place in the ring

first:
	MOVQ (R13), AX
	LINE
	PREFETCHT0 (DX)
	MOVQ DX, ring-128(SP)(R11*1)
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

narrow:
	MOVQ ring-128(SP)(R11*1), CX
	CMPQ R13, R14
	CMOVQHI R14, R13
	MOVQ (R13), AX
	LINE
	PREFETCHT0 (DX)
	MOVQ DX, ring-128(SP)(R11*1)
	ADDQ $8, R13
	ADDQ $8, R11
	ANDQ $(8*AHEAD-1), R11
	MOVQ (R9), BX
	MOVQ CX, DX
	PROBE8
	SETEQ (R12)
	INCQ  R12
	ADDQ  $8, R9
	CMPQ  R9, R10
	JNE   narrow
	RET

wide:
	MOVQ ring-128(SP)(R11*1), CX
	CMPQ R13, R14
	CMOVQHI R14, R13
	MOVQ (R13), AX
	LINE
	PREFETCHT0 (DX)
	MOVQ DX, ring-128(SP)(R11*1)
	ADDQ $8, R13
	ADDQ $8, R11
	ANDQ $(8*AHEAD-1), R11
	MOVQ (R9), BX
	MOVQ CX, DX
	PROBE512
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
	LANES256
	LEAQ (R9)(R10*8), R10        // end of the hashes
	LEAQ (8*AHEAD)(R9), R11
	CMPQ R11, R10
	CMOVQHI R10, R11             // end of those to prefetch first
	MOVQ R9, R13

first:
	CMPQ R13, R11
	JEQ  ahead
	MOVQ (R13), AX
	LINE
	PREFETCHT0 (DX)
	ADDQ $8, R13
	JMP  first

ahead: // R13 runs AHEAD keys before R9
	CMPQ R13, R10
	JEQ  rest
	MOVQ (R13), AX
	LINE
	PREFETCHT0 (DX)
	ADDQ $8, R13
	MOVQ (R9), AX
	MOVQ AX, BX
	LINE
	PROBE256
	SETEQ (R12)
	INCQ  R12
	ADDQ  $8, R9
	JMP  ahead

rest:
	CMPQ R9, R10
	JEQ  done
	MOVQ (R9), AX
	MOVQ AX, BX
	LINE
	PROBE256
	SETEQ (R12)
	INCQ  R12
	ADDQ  $8, R9
	JMP  rest

done:
	VZEROUPPER
	RET

// func many512(filters []*Filter, h uint64, out *bool) (others int)
//
// A probe is so short that a processor has those of some twenty filters under
// way at once; touching lines first only makes it longer.
TEXT ·many512(SB), NOSPLIT, $0-48
	MOVQ filters_base+0(FP), R9
	MOVQ filters_len+8(FP), R10
	MOVQ h+24(FP), BX
	MOVQ out+32(FP), R12
	XORL R11, R11                // filters that are not for us
	LEAQ (R9)(R10*8), R10        // end
	CONSTANTS512

filter:
	CMPQ R9, R10
	JEQ  done
	MOVQ (R9), DI
	ADDQ $8, R9
	TESTQ DI, DI
	JEQ  other
	MOVQ Filter_lines(DI), R8
	TESTQ R8, R8
	JEQ  other
	MOVQ Filter_body(DI), SI
	MOVQ BX, AX
	LINE
	KMOVW Filter_mask(DI), K1
	PROBE512
	SETEQ (R12)
	INCQ R12
	JMP  filter

other:
	MOVB $1, (R12)
	INCQ R12
	INCQ R11
	JMP  filter

done:
	MOVQ R11, others+40(FP)
	RET

// func many256(filters []*Filter, h uint64, out *bool) (others int)
//
// Here a probe has twice the instructions, and the processor is an older one.
TEXT ·many256(SB), NOSPLIT, $0-48
	MOVQ filters_base+0(FP), R9
	MOVQ filters_len+8(FP), R10
	MOVQ h+24(FP), BX
	MOVQ out+32(FP), R12
	XORL R14, R14                // filters that are not for us
	CONSTANTS256

group:
	LEAQ (8*AHEAD)(R9), R11
	LEAQ (R9)(R10*8), R13
	CMPQ R10, $AHEAD
	CMOVQLT R13, R11             // end of this group
	MOVQ R9, R13

touch:
	CMPQ R13, R11
	JEQ  test
	MOVQ (R13), DI
	ADDQ $8, R13
	TESTQ DI, DI
	JEQ  touch
	MOVQ Filter_lines(DI), R8
	MOVQ Filter_body(DI), SI
	MOVQ BX, AX
	LINE
	PREFETCHT0 (DX)
	JMP  touch

test:
	CMPQ R9, R11
	JEQ  next
	MOVQ (R9), DI
	ADDQ $8, R9
	DECQ R10
	TESTQ DI, DI
	JEQ  other
	MOVQ Filter_lines(DI), R8
	TESTQ R8, R8
	JEQ  other
	MOVQ Filter_body(DI), SI
	MOVQ BX, AX
	LINE
	MOVBQZX Filter_lanes(DI), CX
	LANES256
	PROBE256
	SETEQ (R12)
	INCQ R12
	JMP  test

other:
	MOVB $1, (R12)
	INCQ R12
	INCQ R14
	JMP  test

next:
	TESTQ R10, R10
	JNE  group
	MOVQ R14, others+40(FP)
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
