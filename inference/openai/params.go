package openai

import (
	"crypto/rand"
	"encoding/binary"
	"math"

	"dure/inference"
)

const (
	// defaultTextTokens is how long an answer of /v1/completions may get where
	// neither the request nor the model's entry says, as in OpenAI's API.
	defaultTextTokens = 16
	// defaultXTCThreshold is llama-server's.
	defaultXTCThreshold = 0.1
)

// lookBackNone notes a look back of no token at all, which turns off what looks
// back. In inference.Params 0 is the default length.
const lookBackNone = math.MinInt

func lookBack(n int) int {
	if n == 0 {
		return lookBackNone
	}
	return n
}

// params puts the fields of a request over the model's defaults.
func (r *request) params(defaults inference.Params) inference.Params {
	p := defaults
	for _, change := range r.changes {
		change(&p)
	}
	for _, tokens := range []*int{r.maxTokens, r.maxCompletion} {
		if tokens != nil {
			p.MaxTokens = *tokens
		}
	}
	if r.prompts != nil && r.maxTokens == nil && p.MaxTokens == 0 {
		p.MaxTokens = defaultTextTokens
	}
	if p.Penalties.LastN == lookBackNone {
		p.Penalties = inference.Penalties{}
	}
	if p.DRY.LastN == lookBackNone {
		p.DRY = inference.DRY{}
	}
	if p.XTC.Probability > 0 && p.XTC.Threshold == 0 && !r.present["xtc_threshold"] {
		p.XTC.Threshold = defaultXTCThreshold
	}
	p.Logprobs, p.TopLogprobs = r.logprobs, r.topLogprobs
	if !r.present["seed"] && p.Seed == 0 {
		p.Seed = randomSeed()
	}
	return p
}

// requests are what the model is asked: one for each choice, in the order of
// their indices, which are those of the prompts, then those of the choices of
// one prompt. The k-th choice of a prompt draws with seed + k.
func (r *request) requests(id string, p inference.Params) []*inference.Request {
	prompts := len(r.prompts)
	var all []*inference.Request
	for i := range max(1, prompts) * r.n {
		ask := &inference.Request{ID: id, Messages: r.messages, Params: p, Caller: r.caller}
		if prompts > 0 {
			ask.Prompt = &r.prompts[i/r.n]
		}
		ask.Params.Seed += uint64(i % r.n)
		all = append(all, ask)
	}
	return all
}

// randomSeed has 53 bits: the answer tells it, and a client that keeps numbers
// as float64 can send it back unchanged.
func randomSeed() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.NativeEndian.Uint64(b[:]) >> 11
}
