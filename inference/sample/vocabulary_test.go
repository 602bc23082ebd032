package sample

import (
	"strings"
)

// words is a vocabulary whose tokens are these texts. An empty one stands for
// a model of 300,000 tokens without text.
type words []string

func (w words) Size() int {
	if len(w) == 0 {
		return 300_000
	}
	return len(w)
}

func (w words) Pieces() (string, []uint32) {
	var ends []uint32
	end := 0
	for _, s := range w {
		end += len(s)
		ends = append(ends, uint32(end))
	}
	for len(ends) < w.Size() {
		ends = append(ends, uint32(end))
	}
	return strings.Join(w, ""), ends
}

// Tokenize takes the longest word that fits, again and again.
func (w words) Tokenize(text string) ([]int32, error) {
	var out []int32
	for text != "" {
		best := -1
		for i, s := range w {
			if s != "" && strings.HasPrefix(text, s) && (best < 0 || len(s) > len(w[best])) {
				best = i
			}
		}
		if best < 0 {
			return out, nil
		}
		out = append(out, int32(best))
		text = text[len(w[best]):]
	}
	return out, nil
}
