package codec

import "math"

// eigen turns a symmetric n*n matrix into the rows of an orthonormal one whose
// directions are those of its variances, which it returns, largest first: cyclic
// Jacobi rotations (Golub and Van Loan, section 8.5). The matrix is overwritten.
func eigen(a []float64, n int) (variances, rows []float64) {
	v := make([]float64, n*n)
	for i := range n {
		v[i*n+i] = 1
	}
	const sweeps = 30
	for range sweeps {
		off, diagonal := 0.0, 0.0
		for p := range n {
			diagonal += a[p*n+p] * a[p*n+p]
			for q := p + 1; q < n; q++ {
				off += a[p*n+q] * a[p*n+q]
			}
		}
		if off <= 1e-16*diagonal || math.IsNaN(off) {
			break
		}
		for p := range n {
			for q := p + 1; q < n; q++ {
				rotate(a, v, n, p, q)
			}
		}
	}
	return sorted(a, v, n)
}

// rotate makes element (p, q) zero.
func rotate(a, v []float64, n, p, q int) {
	apq := a[p*n+q]
	if apq == 0 {
		return
	}
	theta := (a[q*n+q] - a[p*n+p]) / (2 * apq)
	t := 1 / (math.Abs(theta) + math.Sqrt(theta*theta+1))
	if theta < 0 {
		t = -t
	}
	c := 1 / math.Sqrt(t*t+1)
	s := t * c
	for k := range n {
		x, y := a[k*n+p], a[k*n+q]
		a[k*n+p], a[k*n+q] = c*x-s*y, s*x+c*y
	}
	ap, aq := a[p*n:(p+1)*n], a[q*n:(q+1)*n]
	vp, vq := v[p*n:(p+1)*n], v[q*n:(q+1)*n]
	for k := range n {
		x, y := ap[k], aq[k]
		ap[k], aq[k] = c*x-s*y, s*x+c*y
		x, y = vp[k], vq[k]
		vp[k], vq[k] = c*x-s*y, s*x+c*y
	}
}

func sorted(a, v []float64, n int) (variances, rows []float64) {
	used := make([]bool, n)
	for range n {
		best := -1
		for k := range n {
			if !used[k] && (best < 0 || a[k*n+k] > a[best*n+best]) {
				best = k
			}
		}
		used[best] = true
		variances = append(variances, a[best*n+best])
		rows = append(rows, v[best*n:(best+1)*n]...)
	}
	return variances, rows
}
