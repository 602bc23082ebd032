//go:build !amd64

package sample

func above(row []float32, bound float32) int { return aboveGo(row, bound) }
