package sample

import "math"

// This file holds the two loops that see the whole vocabulary. Both look for logits
// above a bound that is rarely exceeded, many at a time (above), so that they run at
// about the speed of reading the row. A comparison with NaN is false, which keeps NaN
// out of both.

// stride is how many logits are looked at one by one where one of them is above the
// bound: a block of above.
const stride = 32

// aboveGo is the index of the first eight of which one is above a bound, or that of the
// rest, or len(row): no logit before it is above the bound.
func aboveGo(row []float32, bound float32) int {
	i := 0
	for ; i+8 <= len(row); i += 8 {
		b := (*[8]float32)(row[i:])
		if b[0] > bound || b[1] > bound || b[2] > bound || b[3] > bound ||
			b[4] > bound || b[5] > bound || b[6] > bound || b[7] > bound {
			return i
		}
	}
	for j, v := range row[i:] {
		if v > bound {
			return i + j
		}
	}
	return len(row)
}

// argmax returns the index of the largest logit, the lowest of equals.
func argmax(logits []float32) (int32, error) {
	best, at := float32(math.Inf(-1)), -1
	for i := above(logits, best); i < len(logits); i += above(logits[i:], best) {
		end := min(i+stride, len(logits))
		for ; i < end; i++ {
			if v := logits[i]; v > best {
				best, at = v, i
			}
		}
	}
	if at < 0 {
		return 0, ErrNoToken
	}
	return int32(at), nil
}

// ranking collects the k best tokens of a row. Its buffer holds more than k
// keys, so that the work of throwing out the worse ones is shared by many
// arrivals: a row of n costs O(n) plus the final sort of k, also where every
// logit is better than all before it.
//
// Tokens whose logits differ from the row's are kept out of the pass and join
// at its end with their own logits. They are looked for only where a logit is
// above the bound, so that the pass costs the same with them.
type ranking struct {
	k       int
	keys    []key
	bound   float32  // only logits above it can still be among the best k
	changes *changes // nil where the row counts as it is
}

func newRanking(k int, c *changes) *ranking {
	return &ranking{k: k, keys: make([]key, 0, k+max(k, 64)), changes: c}
}

// collect ranks the row and leaves the best k, or fewer where the row has not
// as many above -Inf, sorted from the best down in r.keys.
func (r *ranking) collect(logits []float32) {
	r.reset()
	for i := above(logits, r.bound); i < len(logits); i += above(logits[i:], r.bound) {
		end := min(i+stride, len(logits))
		r.take(logits[i:end], i)
		i = end
	}
	if r.changes != nil {
		r.takeChanged(logits)
	}
	r.shrink()
	sortKeys(r.keys)
}

func (r *ranking) reset() {
	r.keys = r.keys[:0]
	r.bound = float32(math.Inf(-1))
}

// take adds those of logits that are above the bound; first is the index of
// logits[0] in the row.
func (r *ranking) take(logits []float32, first int) {
	for j, v := range logits {
		if v > r.bound && (r.changes == nil || !r.changes.has(int32(first+j))) {
			r.add(newKey(v, int32(first+j)))
		}
	}
}

// takeChanged adds the tokens that take left out. They come in any order, so
// one that equals the bound may still win by its index.
func (r *ranking) takeChanged(logits []float32) {
	for _, c := range r.changes.slots {
		if c.id == 0 || int(c.token()) >= len(logits) {
			continue
		}
		v := r.changes.logit(c, logits[c.token()])
		if v >= r.bound && !math.IsInf(float64(v), -1) {
			r.add(newKey(v, c.token()))
		}
	}
}

func (r *ranking) add(k key) {
	r.keys = append(r.keys, k)
	if len(r.keys) == cap(r.keys) {
		r.shrink()
	}
}

// shrink keeps the best k and raises the bound to the least of them. A later
// logit equal to the bound has a higher index than those k and rightly loses.
func (r *ranking) shrink() {
	if len(r.keys) <= r.k {
		return
	}
	selectKeys(r.keys, r.k)
	r.keys = r.keys[:r.k]
	worst := r.keys[0]
	for _, x := range r.keys[1:] {
		worst = max(worst, x)
	}
	r.bound = worst.logit()
}
