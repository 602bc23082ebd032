#include "textflag.h"

// func aboveAVX2(row *float32, n int, bound float32) int
// n is a multiple of 32. Blocks of 32 are compared with the bound at once; the result is
// the index of the first block that has one above it, n if there is none. The predicate
// is GT_OQ: a comparison with NaN is false.
TEXT ·aboveAVX2(SB), NOSPLIT, $0-32
	MOVQ row+0(FP), SI
	MOVQ n+8(FP), CX
	VBROADCASTSS bound+16(FP), Y0
	XORQ AX, AX

block:
	CMPQ AX, CX
	JGE  done
	VMOVUPS (SI)(AX*4), Y1
	VMOVUPS 32(SI)(AX*4), Y2
	VMOVUPS 64(SI)(AX*4), Y3
	VMOVUPS 96(SI)(AX*4), Y4
	VCMPPS $0x1e, Y0, Y1, Y1
	VCMPPS $0x1e, Y0, Y2, Y2
	VCMPPS $0x1e, Y0, Y3, Y3
	VCMPPS $0x1e, Y0, Y4, Y4
	VORPS Y1, Y2, Y1
	VORPS Y3, Y4, Y3
	VORPS Y1, Y3, Y1
	VMOVMSKPS Y1, DX
	TESTL DX, DX
	JNZ  done
	ADDQ $32, AX
	JMP  block

done:
	VZEROUPPER
	MOVQ AX, ret+24(FP)
	RET
