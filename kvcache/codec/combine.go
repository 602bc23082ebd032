package codec

// combineGo sets dst[c] to the sum over k of weights[k] * rows[k*len(dst)+c], in
// the order of k, each product and sum rounded: the reference of what assembly
// does.
func combineGo(dst, weights, rows []float32) {
	clear(dst)
	for k, w := range weights {
		row := rows[k*len(dst) : (k+1)*len(dst)]
		for c, v := range row {
			dst[c] += float32(w * v) // the conversion forbids a fused operation
		}
	}
}
