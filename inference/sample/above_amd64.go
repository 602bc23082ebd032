package sample

import "golang.org/x/sys/cpu"

//go:noescape
func aboveAVX2(row *float32, n int, bound float32) int

var hasAVX2 = cpu.X86.HasAVX2

// above is the index of a place at or before the first logit above a bound, so that
// none before it is: aboveGo, in longer strides.
func above(row []float32, bound float32) int {
	n := len(row) &^ 31
	if !hasAVX2 || n == 0 {
		return aboveGo(row, bound)
	}
	if i := aboveAVX2(&row[0], n, bound); i < n {
		return i
	}
	return n + aboveGo(row[n:], bound)
}
