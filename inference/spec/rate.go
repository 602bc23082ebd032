package spec

import "math/bits"

// forget is the weight of what was known against each new observation; so some
// fifty of them count.
const forget = 0.98

// rate is how many of the guessed tokens were right, the old ones counting less.
type rate struct{ right, wrong float64 }

func (r *rate) see(right bool) {
	r.right *= forget
	r.wrong *= forget
	if right {
		r.right++
	} else {
		r.wrong++
	}
}

// mean with a prior of so much weight.
func (r *rate) mean(prior, weight float64) float64 {
	return (r.right + prior*weight) / (r.right + r.wrong + weight)
}

// classes of guesses by how many tokens matched: 3, 4-7, 8-15, 16-31, 32 and more;
// and one for those of a draft model.
const (
	classes = 5
	drafted = classes
)

func class(matched int) int { return max(0, min(bits.Len(uint(matched))-2, classes-1)) }

// Rates are what is known of guesses over all streams.
type Rates struct{ of [classes + 1]rate }

// A class of which nothing is known is taken to be right half the time, as if that
// had been seen firstWeight times; what all streams saw weighs ownWeight in the
// estimate of one.
const (
	firstGuess, firstWeight = 0.5, 2
	ownWeight               = 6
)

func (r *Rates) mean(class int) float64 { return r.of[class].mean(firstGuess, firstWeight) }
