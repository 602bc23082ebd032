package sample

import "math"

// This file holds the two loops that see the whole vocabulary. Both compare
// each logit with a bound that is rarely exceeded, eight at a time, so that the
// processor predicts every branch and the loop runs at about the speed of
// reading the row. A comparison with NaN is false, which keeps NaN out of both.

// argmax returns the index of the largest logit, the lowest of equals.
func argmax(logits []float32) (int32, error) {
	best, at := float32(math.Inf(-1)), -1
	i := 0
	for ; i+8 <= len(logits); i += 8 {
		b := (*[8]float32)(logits[i:])
		if b[0] > best || b[1] > best || b[2] > best || b[3] > best ||
			b[4] > best || b[5] > best || b[6] > best || b[7] > best {
			for j, v := range b {
				if v > best {
					best, at = v, i+j
				}
			}
		}
	}
	for ; i < len(logits); i++ {
		if v := logits[i]; v > best {
			best, at = v, i
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
	i := 0
	for ; i+8 <= len(logits); i += 8 {
		b := (*[8]float32)(logits[i:])
		bound := r.bound
		if b[0] > bound || b[1] > bound || b[2] > bound || b[3] > bound ||
			b[4] > bound || b[5] > bound || b[6] > bound || b[7] > bound {
			r.take(b[:], i)
		}
	}
	r.take(logits[i:], i)
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
