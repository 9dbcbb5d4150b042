// What the assembly of blocked filters shares. Every function agrees to the bit
// with its reference in Go; the tests compare them.
//
// A key's probes are lanes of 32 bits. Lane i holds x_i = C^i * low32(h); the top
// four bits of x_i choose one of the 16 words of the line, which a permutation
// of the loaded line brings into lane i, and the next five bits choose the bit.
// So a line is loaded once and nothing is gathered.
//
// A processor looks ahead by a number of instructions (512 on recent ones), so the
// fewer a lookup takes, the more cache misses of the lookups after it overlap with
// its own. That is why short code matters even where memory is what one waits for.
//
// Registers throughout:
//   DI  *Filter                  R9   hashes or filters, and R10 their end
//   SI  address of line 0        R12  out
//   R8  number of lines          DX   address of the key's line
//
// AVX-512 code uses Z16 and up only, which leave no state for VZEROUPPER to
// clear.

// AHEAD is how many keys of a batch are on their way into the cache before one is
// tested. They go to the second cache, which takes several times as many misses at
// once as the first: with 50 million keys that is a quarter faster than 16 ahead
// into the first, and nowhere slower.
#define AHEAD 64

// LINE sets DX to the address of the line of the hash in AX.
#define LINE \
	MULQ R8        \
	SHLQ $6, DX    \
	ADDQ SI, DX

// RUNAHEAD fetches the line of the hash that R13 is at into a cache, puts its
// address into the ring of N addresses on the stack, and goes on by one in both.
// At the last hash, which R14 is at, R13 stays.
#define RUNAHEAD(FETCH, RING, N) \
	CMPQ    R13, R14              \
	CMOVQHI R14, R13              \
	MOVQ    (R13), AX             \
	LINE                          \
	FETCH   (DX)                  \
	MOVQ    DX, RING(SP)(R11*1)   \
	ADDQ    $8, R13               \
	ADDQ    $8, R11               \
	ANDQ    $(8*N-1), R11

// LANES512 makes the hash in all lanes of Z18 into the word and the bit in it that
// each lane looks at, Z19 and Z18. A rotation by x_i >> 23 looks at the low five
// bits of that alone.
#define LANES512 \
	VPMULLD ·powers(SB), Z18, Z18 \
	VPSRLD  $28, Z18, Z19         \
	VPSRLD  $23, Z18, Z18

// TEST512 sets the zero flag if the line at DX has all bits that the lanes of K1
// look at. It destroys T. KORTESTW is an instruction more than to move K2 and test
// it with the mask, and three cycles less to wait for.
#define TEST512(T) \
	VPERMD         (DX), Z19, T         \
	VPRORVD        Z18, T, T            \
	VPTESTNMD.BCST ·ones(SB), T, K1, K2 \
	KORTESTW       K2, K2

// MASKS256 sets Y14 and Y15 to a one in each lane that the number of probes in
// CX uses. It destroys CX and AX.
#define MASKS256 \
	LEAQ    ·ones(SB), AX      \
	NEGQ    CX                 \
	VMOVDQU 64(AX)(CX*4), Y14  \
	VMOVDQU 96(AX)(CX*4), Y15

// LANES256 is LANES512 for the first eight probes of the hash in all lanes of Y2:
// words in Y4, of which the top bit of Y3 says in which half of the line they are,
// and bits in Y5. MORELANES256 is it for the second eight, in Y6 to Y8.
#define LANES256 \
	VPMULLD Y12, Y2, Y3  \
	VPSRLD  $28, Y3, Y4  \
	VPSLLD  $4, Y3, Y5   \
	VPSRLD  $27, Y5, Y5

#define MORELANES256 \
	VPMULLD Y13, Y2, Y6  \
	VPSRLD  $28, Y6, Y7  \
	VPSLLD  $4, Y6, Y8   \
	VPSRLD  $27, Y8, Y8

// MISSING256 sets Y9 to the bits that the lanes of LANES256 miss in the line at DX.
// A permutation reaches eight words, so both halves of the line are permuted.
#define MISSING256 \
	VPERMD    (DX), Y4, Y9      \
	VPERMD    32(DX), Y4, Y10   \
	VBLENDVPS Y3, Y10, Y9, Y9   \
	VPSLLVD   Y5, Y14, Y10      \
	VPANDN    Y10, Y9, Y9

// MOREMISSING256 adds what the lanes of MORELANES256 miss.
#define MOREMISSING256 \
	VPERMD    (DX), Y7, Y10     \
	VPERMD    32(DX), Y7, Y11   \
	VBLENDVPS Y6, Y11, Y10, Y10 \
	VPSLLVD   Y8, Y15, Y11      \
	VPANDN    Y11, Y10, Y10     \
	VPOR      Y9, Y10, Y9

// CONSTANTS256 loads the powers of C.
#define CONSTANTS256 \
	VMOVDQU ·powers+0(SB), Y12  \
	VMOVDQU ·powers+32(SB), Y13

// TEST256 sets the zero flag if the blocked filter in DI may have the hash in AX,
// which is in all lanes of Y2 too. It has a label, so a function has it once.
#define TEST256 \
	MOVQ    Filter_body(DI), SI     \
	LINE                            \
	MOVBQZX Filter_lanes(DI), CX    \
	CONSTANTS256                    \
	MASKS256                        \
	LANES256                        \
	MISSING256                      \
	CMPB    Filter_lanes(DI), $8    \
	JLS     missing                 \
	MORELANES256                    \
	MOREMISSING256                  \
missing:                           \
	VPTEST  Y9, Y9

// FUSE sets the zero flag if the fuse filter, whose slots are of 8 bits, may have
// the hash in AX: probeFuse in as many instructions as it takes.
#define FUSE \
	XORQ (Filter_header+header_seed)(DI), AX \
	MOVQ $0x9e3779b97f4a7c15, CX             \
	MULQ CX                                  \
	MOVQ AX, CX /* lo */                     \
	XORQ DX, AX /* x */                      \
	MOVQ AX, R9                              \
	MULQ Filter_span(DI) /* DX is a */       \
	MOVQ Filter_body(DI), SI                 \
	MOVQ Filter_segment(DI), R8              \
	LEAQ -1(R8), R10                         \
	MOVQ R9, R11                             \
	SHRQ $18, R11                            \
	ANDQ R10, R11                            \
	ANDQ R10, R9                             \
	LEAQ (DX)(R8*1), AX                      \
	XORQ AX, R11 /* b */                     \
	ADDQ R8, AX                              \
	XORQ AX, R9 /* c */                      \
	SHRQ $56, CX                             \
	XORB (SI)(DX*1), CX                      \
	XORB (SI)(R11*1), CX                     \
	XORB (SI)(R9*1), CX
