package codec

import "golang.org/x/sys/cpu"

//go:noescape
func combineAVX2(dst, weights, rows *float32, n, width int)

var hasAVX2 = cpu.X86.HasAVX2

// combine is combineGo, to the bit.
func combine(dst, weights, rows []float32) {
	if !hasAVX2 || len(dst) == 0 || len(dst)%32 != 0 || len(weights) == 0 {
		combineGo(dst, weights, rows)
		return
	}
	_ = rows[len(dst)*len(weights)-1]
	combineAVX2(&dst[0], &weights[0], &rows[0], len(weights), len(dst))
}
