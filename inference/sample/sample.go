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
	// DefaultLastN is how many tokens the penalties look back where a request
	// does not say (Penalties.LastN 0), as in llama.cpp.
	DefaultLastN = 64
)

// stream is the second word of every generator's seed. Any constant serves: it
// only has to be the same for all builds that promise the same text.
const stream = 0x9e3779b97f4a7c15

// ErrNoToken is returned when a row holds no token that could be drawn: it is
// empty, or every logit is NaN, -Inf, banned by the request's bias or excluded by its
// constraint.
var ErrNoToken = errors.New("sample: no token has a usable logit (the row is empty, or NaN, -Inf, banned or excluded throughout)")

// Vocabulary is what a Sampler needs to know of the model.
type Vocabulary interface {
	// Size in tokens.
	Size() int
	// Pieces are the bytes of all tokens, special ones included, in the order
	// of their ids and without gaps: ends[i] is where token i ends in text.
	// Only New asks, and only for DRY, whose breakers are looked up here. The
	// answer should be kept by the vocabulary: asking the engine for each token
	// takes longer than all the rest of New.
	Pieces() (text string, ends []uint32)
	// Tokenize returns the tokens of a text as it stands: nothing added, no
	// special token read. Only New asks, for DRY's longer breakers.
	Tokenize(text string) ([]int32, error)
}

// Sampler draws the tokens of one request. The zero value is not usable; see
// New.
type Sampler struct {
	topK        int
	typicalP    float64
	topP        float64
	minP        float64
	xtc         inference.XTC
	temperature float64
	mirostat    *mirostat // nil is off
	random      rand.PCG

	changes *changes // nil where no option changes logits
	history *history // nil where no option looks back
	dry     *dry     // nil is off

	constraint Constraint // nil excludes nothing
	ranking    *ranking
	wide       *ranking    // of tokens that may be excluded, where there is a constraint
	candidates []candidate // what the ranking left, sorted by falling logit
	weights    []float64   // parallel to the surviving candidates while drawing
	scores     []key       // of typical
	likeliest  *ranking    // of Logprobs
}

// New makes the sampler of one request. It refuses values that have no meaning
// with an *inference.Error that names the field. Other errors are the
// vocabulary's.
func New(p inference.Params, v Vocabulary) (*Sampler, error) {
	if err := validate(p, v.Size()); err != nil {
		return nil, err
	}
	s := &Sampler{
		topK:        p.TopK,
		typicalP:    float64(p.TypicalP),
		topP:        float64(p.TopP),
		minP:        float64(p.MinP),
		temperature: float64(p.Temperature),
		mirostat:    newMirostat(p.Mirostat, v.Size()),
	}
	if s.topK == 0 {
		s.topK = DefaultTopK
	}
	if p.XTC.Threshold <= maxThreshold {
		s.xtc = p.XTC
	}
	s.random.Seed(p.Seed, stream)
	if err := s.look(p, v); err != nil {
		return nil, err
	}
	s.allocate(p.Logprobs)
	return s, nil
}

// look sets up what changes logits and what looks back for it.
func (s *Sampler) look(p inference.Params, v Vocabulary) error {
	window := 0
	if p.Penalties = effectivePenalties(p.Penalties); p.Penalties.LastN > 0 {
		window = p.Penalties.LastN
	}
	if p.DRY.Multiplier > 0 {
		d, err := newDRY(p.DRY, v)
		if err != nil {
			return err
		}
		s.dry, window = d, max(window, d.window)
	}
	if window == 0 && len(p.LogitBias) == 0 {
		return nil
	}
	s.changes = newChanges(p, s.dry)
	if window > 0 {
		s.history = newHistory(window, p.Penalties.LastN, s.changes, s.dry)
	}
	return nil
}

// allocate makes the buffers, each as large as the options can need.
func (s *Sampler) allocate(logprobs bool) {
	if logprobs {
		s.likeliest = newRanking(inference.MaxTopLogprobs, nil)
	}
	k := s.topK
	switch {
	case s.Greedy() && s.changes == nil:
		return // argmax needs none
	case s.Greedy():
		k = 1
	case s.mirostat != nil:
		k = MaxTopK
	}
	s.ranking = newRanking(k, s.changes)
	s.candidates = make([]candidate, 0, k)
	s.weights = make([]float64, 0, k)
	if s.typical() {
		s.scores = make([]key, 0, k)
	}
}

func (s *Sampler) typical() bool {
	return s.mirostat == nil && s.typicalP > 0 && s.typicalP < 1
}

// Greedy reports whether Sample always takes the likeliest token (after bias
// and penalties): then no random number is drawn and the seed is without
// effect. At temperature 0, typical and XTC still decide which tokens the
// likeliest is taken from, as in llama.cpp.
func (s *Sampler) Greedy() bool {
	if s.mirostat != nil {
		return s.temperature == 0
	}
	return s.topK == 1 || s.temperature == 0 && !s.typical() && s.xtc.Probability == 0
}

// Prompt tells the sampler which tokens are in front of the answer. Requests
// that do not look back ignore it. tokens is not kept.
func (s *Sampler) Prompt(tokens []int32) {
	if s.history == nil {
		return
	}
	// What no window reaches need not be looked at.
	for _, t := range tokens[max(0, len(tokens)-s.history.window):] {
		s.history.accept(t)
	}
}

// Accept tells the sampler which token follows: the one it drew, in most cases.
// Options that look back (penalties, DRY) see it from the next Sample on. It
// allocates only while the history grows.
func (s *Sampler) Accept(token int32) {
	if s.history != nil {
		s.history.accept(token)
	}
	if s.constraint != nil {
		s.constraint.Accept(token)
	}
}

// Sample draws a token from logits, one float per token of the vocabulary, and
// returns its index. logits is only read, and not kept. A logit of NaN or -Inf
// is never drawn; +Inf takes all the probability there is, shared equally
// among such. Where logits tie, lower indices come first.
//
// It does not allocate, but where DRY finds more continuations than ever
// before. The only error is ErrNoToken.
func (s *Sampler) Sample(logits []float32) (int32, error) {
	if s.Greedy() && s.changes == nil && !s.constrained() {
		return argmax(logits)
	}
	left := s.survivors(logits)
	switch {
	case len(left) == 0:
		return 0, ErrNoToken
	case s.temperature == 0:
		return left[0].token, nil
	}
	i, p := s.draw(left)
	if s.mirostat != nil {
		s.mirostat.observe(p)
	}
	return left[i].token, nil
}

// Distribution returns the tokens that Sample would choose from, by falling
// probability, and the logarithm of the probability with which it would take
// each: the state after all steps. It draws no token, but XTC tosses its coin.
// The only error is ErrNoToken.
func (s *Sampler) Distribution(logits []float32) ([]inference.Candidate, error) {
	if s.Greedy() && s.changes == nil && !s.constrained() {
		token, err := argmax(logits)
		if err != nil {
			return nil, err
		}
		return []inference.Candidate{{Token: token}}, nil
	}
	left := s.survivors(logits)
	switch {
	case len(left) == 0:
		return nil, ErrNoToken
	case s.temperature == 0:
		return []inference.Candidate{{Token: left[0].token}}, nil
	}
	sum := math.Log(s.weigh(left))
	out := make([]inference.Candidate, len(left))
	for i, c := range left {
		out[i] = inference.Candidate{Token: c.token, Logprob: logprob(c.logit, left[0].logit, s.temperature, sum)}
	}
	return out, nil
}

// survivors are the candidates that every step leaves, sorted by falling logit.
// They are valid until the next call.
func (s *Sampler) survivors(logits []float32) []candidate {
	if s.dry != nil {
		s.dry.mark(s.history, s.changes)
	}
	constrained := s.constrained()
	if constrained {
		s.rankAllowed(logits)
	} else {
		s.ranking.collect(logits)
	}
	s.candidates = s.candidates[:0]
	for _, k := range s.ranking.keys {
		s.candidates = append(s.candidates, candidate{k.logit(), k.token()})
	}
	c := s.candidates
	if s.Greedy() || len(c) == 0 {
		return c
	}
	if s.mirostat != nil {
		return s.mirostat.keep(c, s.temperature, func() float64 {
			if constrained {
				return s.weigh(c)
			}
			return s.changes.rowWeight(logits, c[0].logit, s.temperature)
		})
	}
	if s.typical() {
		c = keepTypical(c, s.typicalP, s.scores)
	}
	c = keepMinP(keepTopP(c, s.topP), s.minP)
	if s.xtc.Probability > 0 && len(c) > 1 && s.uniform() < float64(s.xtc.Probability) {
		c = dropTopChoices(c, float64(s.xtc.Threshold))
	}
	return c
}

// uniform is a random number from 0 to below 1: every float64 of the form
// n/2^53.
func (s *Sampler) uniform() float64 { return float64(s.random.Uint64()>>11) * 0x1p-53 }

// weigh sets s.weights to the weights of c at the request's temperature and
// returns their sum.
func (s *Sampler) weigh(c []candidate) float64 {
	s.weights = s.weights[:0]
	sum := 0.0
	for _, x := range c {
		w := weight(x.logit, c[0].logit, s.temperature)
		s.weights = append(s.weights, w)
		sum += w
	}
	return sum
}

// draw takes one of c with the probabilities of the softmax at the request's
// temperature. It returns its place in c and its probability.
func (s *Sampler) draw(c []candidate) (int, float64) {
	sum := s.weigh(c)
	u := s.uniform() * sum
	last := 0
	for i, w := range s.weights {
		if w == 0 {
			break // sorted: the rest weighs nothing as well
		}
		last = i
		if u -= w; u < 0 {
			break
		}
	}
	return last, s.weights[last] / sum
}
