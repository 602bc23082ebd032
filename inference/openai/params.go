package openai

import (
	"dure/inference"
	"dure/inference/front"
)

const (
	// defaultTextTokens is how long an answer of /v1/completions may get where
	// neither the request nor the model's entry says, as in OpenAI's API.
	defaultTextTokens = 16
	// defaultXTCThreshold is llama-server's.
	defaultXTCThreshold = 0.1
)

// params puts the fields of a request over the model's defaults.
func (r *request) params(defaults inference.Params) inference.Params {
	p := r.changes.Over(defaults)
	for _, tokens := range []*int{r.maxTokens, r.maxCompletion} {
		if tokens != nil {
			p.MaxTokens = *tokens
		}
	}
	if r.prompts != nil && r.maxTokens == nil && p.MaxTokens == 0 {
		p.MaxTokens = defaultTextTokens
	}
	if p.XTC.Probability > 0 && p.XTC.Threshold == 0 && !r.present["xtc_threshold"] {
		p.XTC.Threshold = defaultXTCThreshold
	}
	p.Logprobs, p.TopLogprobs = r.logprobs, r.topLogprobs
	if !r.present["seed"] && p.Seed == 0 {
		p.Seed = front.RandomSeed()
	}
	return p
}

// requests are what the model is asked: one for each choice, in the order of
// their indices, which are those of the prompts, then those of the choices of
// one prompt. The k-th choice of a prompt draws with seed + k.
func (r *request) requests(p inference.Params) []*inference.Request {
	prompts := len(r.prompts)
	var all []*inference.Request
	for i := range max(1, prompts) * r.n {
		ask := &inference.Request{Messages: r.messages, Params: p}
		if prompts > 0 {
			ask.Prompt = &r.prompts[i/r.n]
		}
		r.wishes.into(ask)
		ask.Params.Seed += uint64(i % r.n)
		all = append(all, ask)
	}
	return all
}
