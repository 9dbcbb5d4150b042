//go:build !purego

#include "textflag.h"
#include "go_asm.h"
#include "blocked_amd64.h"

// The primes of xxHash64.
DATA primes<>+0(SB)/8, $0x9e3779b185ebca87
DATA primes<>+8(SB)/8, $0xc2b2ae3d27d4eb4f
DATA primes<>+16(SB)/8, $0x165667b19e3779f9
DATA primes<>+24(SB)/8, $0x85ebca77c2b2ae63
DATA primes<>+32(SB)/8, $0x27d4eb2f165667c5
GLOBL primes<>(SB), RODATA|NOPTR, $40

// Those that each word of a key takes are in registers: multiplying by memory
// was slower by a tenth where the filter is larger than the cache.
#define PRIME1 R10
#define PRIME2 R11
#define PRIME3 primes<>+16(SB)
#define PRIME4 R13
#define PRIME5 primes<>+32(SB)

// WORD mixes the eight bytes at an offset of the key into the hash in BX.
#define WORD(OFFSET) \
	MOVQ  OFFSET(R9), AX \
	IMULQ PRIME2, AX     \
	ROLQ  $31, AX        \
	IMULQ PRIME1, AX     \
	XORQ  AX, BX         \
	ROLQ  $27, BX        \
	IMULQ PRIME1, BX     \
	ADDQ  PRIME4, BX

// func mayContainKey(f *Filter, key []byte) bool
//
// The hash of a short key (xxHash64 of less than 32 bytes, as its specification
// has it) goes into the probe in a register, which saves a call of the two.
TEXT ·mayContainKey(SB), NOSPLIT, $0-33
	MOVQ  f+0(FP), DI
	MOVQ  key_base+8(FP), R9
	MOVQ  key_len+16(FP), CX
	CMPQ  CX, Filter_short(DI)
	JCC   other
	MOVQ  primes<>+0(SB), PRIME1
	MOVQ  primes<>+8(SB), PRIME2
	MOVQ  primes<>+24(SB), PRIME4
	MOVQ  PRIME5, BX
	ADDQ  CX, BX
	TESTB $16, CX
	JEQ   eight
	WORD(0)
	WORD(8)
	TESTB $15, CX
	JEQ   mixed
	ADDQ  $16, R9

eight:
	TESTB $8, CX
	JEQ   four
	WORD(0)
	TESTB $7, CX
	JEQ   mixed
	ADDQ  $8, R9

four:
	TESTB $4, CX
	JEQ   octets
	MOVL  (R9), AX
	IMULQ PRIME1, AX
	XORQ  AX, BX
	ROLQ  $23, BX
	IMULQ PRIME2, BX
	ADDQ  PRIME3, BX
	ADDQ  $4, R9

octets:
	ANDL $3, CX
	JEQ  mixed

octet:
	MOVBLZX (R9), AX
	IMULQ   PRIME5, AX
	XORQ    AX, BX
	ROLQ    $11, BX
	IMULQ   PRIME1, BX
	INCQ    R9
	DECL    CX
	JNE     octet

mixed:
	MOVQ    BX, AX
	SHRQ    $33, AX
	XORQ    AX, BX
	IMULQ   PRIME2, BX
	MOVQ    BX, AX
	SHRQ    $29, AX
	XORQ    AX, BX
	IMULQ   PRIME3, BX
	MOVQ    BX, AX
	SHRQ    $32, AX
	XORQ    BX, AX
	MOVWLZX Filter_mask(DI), CX
	TESTL   CX, CX
	JEQ     narrow
	VPBROADCASTD AX, Z18
	MULQ    Filter_lines(DI)
	SHLQ    $6, DX
	ADDQ    Filter_body(DI), DX
	LANES512
	KMOVW   Filter_mask(DI), K1
	TEST512(Z19)
	SETEQ   ret+32(FP)
	RET

narrow:
	MOVQ    Filter_lines(DI), R8
	TESTQ   R8, R8
	JEQ     fuse
	VMOVD   AX, X2
	VPBROADCASTD X2, Y2
	TEST256
	SETEQ   ret+32(FP)
	VZEROUPPER
	RET

fuse:
	FUSE
	SETEQ ret+32(FP)
	RET

other:
	JMP ·mayContainKeyGo(SB)
