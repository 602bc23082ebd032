package sample

import (
	"errors"
	"math"
	"math/rand/v2"

	"dure/inference"
)

const (
	// DefaultTopK is the cut that applies where a request asks for none
	// (TopK 0), as in llama.cpp.
	DefaultTopK = 40
	// MaxTopK is the largest cut a request may ask for.
	MaxTopK = 1024
)

// stream is the second word of every generator's seed. Any constant serves: it
// only has to be the same for all builds that promise the same text.
const stream = 0x9e3779b97f4a7c15

// ErrNoToken is returned when a row holds no token that could be drawn: it is
// empty, or every logit is NaN or -Inf. The row is broken, not the request.
var ErrNoToken = errors.New("sample: no token has a usable logit (the row is empty, NaN or -Inf throughout)")

// Sampler draws the tokens of one request. The zero value is not usable; see
// New.
type Sampler struct {
	topK        int
	topP        float64
	minP        float64
	temperature float64
	random      rand.PCG

	ranking    *ranking
	candidates []candidate // what the ranking left, sorted by falling logit
	weights    []float64   // parallel to the surviving candidates while drawing
}

// New makes the sampler of one request. It refuses values that have no meaning
// with an *inference.Error that names the field.
func New(p inference.Params) (*Sampler, error) {
	if err := validate(p); err != nil {
		return nil, err
	}
	s := &Sampler{
		topK:        p.TopK,
		topP:        float64(p.TopP),
		minP:        float64(p.MinP),
		temperature: float64(p.Temperature),
	}
	if s.topK == 0 {
		s.topK = DefaultTopK
	}
	s.random.Seed(p.Seed, stream)
	if !s.Greedy() {
		s.ranking = newRanking(s.topK)
		s.candidates = make([]candidate, 0, s.topK)
		s.weights = make([]float64, 0, s.topK)
	}
	return s, nil
}

// validate is written so that NaN fails every check.
func validate(p inference.Params) error {
	refuse := func(param, format string, args ...any) error {
		err := inference.Errorf(inference.CodeInvalidRequest, format, args...)
		err.Param = param
		return err
	}
	switch {
	case !(p.Temperature >= 0) || math.IsInf(float64(p.Temperature), 0):
		return refuse("temperature", "temperature must be a finite number of at least 0, not %v", p.Temperature)
	case !(p.TopP >= 0 && p.TopP <= 1):
		return refuse("top_p", "top_p must be between 0 and 1, not %v", p.TopP)
	case !(p.MinP >= 0 && p.MinP <= 1):
		return refuse("min_p", "min_p must be between 0 and 1, not %v", p.MinP)
	case p.TopK < 0 || p.TopK > MaxTopK:
		return refuse("top_k", "top_k must be between 0 (the default, %d) and %d, not %d", DefaultTopK, MaxTopK, p.TopK)
	}
	return nil
}

// Greedy reports whether Sample always takes the likeliest token: then no
// random number is drawn and the seed is without effect.
func (s *Sampler) Greedy() bool { return s.temperature == 0 || s.topK == 1 }

// Sample draws a token from logits, one float per token of the vocabulary, and
// returns its index. logits is only read, and not kept. A logit of NaN or -Inf
// is never drawn; +Inf takes all the probability there is, shared equally
// among such. Where logits tie, lower indices come first.
//
// It does not allocate. The only error is ErrNoToken.
func (s *Sampler) Sample(logits []float32) (int32, error) {
	if s.Greedy() {
		return argmax(logits)
	}
	left := s.survivors(logits)
	if len(left) == 0 {
		return 0, ErrNoToken
	}
	return s.draw(left), nil
}

// survivors are the candidates that every step leaves, sorted by falling logit.
// They are valid until the next call.
func (s *Sampler) survivors(logits []float32) []candidate {
	s.ranking.collect(logits)
	s.candidates = s.candidates[:0]
	for _, k := range s.ranking.keys {
		s.candidates = append(s.candidates, candidate{k.logit(), k.token()})
	}
	return keepMinP(keepTopP(s.candidates, s.topP), s.minP)
}

// draw takes one of c with the probabilities of the softmax at the request's
// temperature.
func (s *Sampler) draw(c []candidate) int32 {
	s.weights = s.weights[:0]
	sum := 0.0
	for _, x := range c {
		w := weight(x.logit, c[0].logit, s.temperature)
		s.weights = append(s.weights, w)
		sum += w
	}
	// 53 random bits: every float64 of the form n/2^53 below 1.
	u := float64(s.random.Uint64()>>11) * 0x1p-53 * sum
	last := c[0].token
	for i, w := range s.weights {
		if w == 0 {
			break // sorted: the rest weighs nothing as well
		}
		last = c[i].token
		if u -= w; u < 0 {
			break
		}
	}
	return last
}
