//go:build !amd64

package codec

func combine(dst, weights, rows []float32) { combineGo(dst, weights, rows) }
