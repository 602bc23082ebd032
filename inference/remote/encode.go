package remote

import (
	"encoding/json"
	"fmt"
	"strconv"

	"dure/inference"
)

// wireRequest is the body of either route.
type wireRequest struct {
	Model    string        `json:"model,omitempty"`
	Messages []wireMessage `json:"messages,omitempty"`
	Prompt   any           `json:"prompt,omitempty"` // text or token ids
	Stream   bool          `json:"stream"`
	Options  struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	wireParams
	wireTools
	wireCaller
}

// wireParams are inference.Params as far as they differ from off.
type wireParams struct {
	Temperature float32            `json:"temperature"`
	TopP        float32            `json:"top_p"`
	TopK        int                `json:"top_k,omitempty"`
	MinP        float32            `json:"min_p,omitempty"`
	TypicalP    float32            `json:"typical_p,omitempty"`
	Seed        *uint64            `json:"seed,omitempty"`
	LogitBias   map[string]float32 `json:"logit_bias,omitempty"`

	RepeatPenalty    float32 `json:"repeat_penalty,omitempty"`
	FrequencyPenalty float32 `json:"frequency_penalty,omitempty"`
	PresencePenalty  float32 `json:"presence_penalty,omitempty"`
	RepeatLastN      int     `json:"repeat_last_n,omitempty"`

	DRYMultiplier    float32  `json:"dry_multiplier,omitempty"`
	DRYBase          float32  `json:"dry_base,omitempty"`
	DRYAllowedLength int      `json:"dry_allowed_length,omitempty"`
	DRYPenaltyLastN  int      `json:"dry_penalty_last_n,omitempty"`
	DRYBreakers      []string `json:"dry_sequence_breakers,omitempty"`

	XTCProbability float32  `json:"xtc_probability,omitempty"`
	XTCThreshold   *float32 `json:"xtc_threshold,omitempty"`

	Mirostat    int     `json:"mirostat,omitempty"`
	MirostatTau float32 `json:"mirostat_tau,omitempty"`
	MirostatEta float32 `json:"mirostat_eta,omitempty"`

	Stop        []string `json:"stop,omitempty"`
	MaxTokens   int      `json:"max_tokens,omitempty"`
	IgnoreEOS   bool     `json:"ignore_eos,omitempty"`
	Logprobs    bool     `json:"logprobs,omitempty"`
	TopLogprobs int      `json:"top_logprobs,omitempty"`
}

// wireCaller is inference.Caller. A session goes under OpenAI's name, which more
// endpoints know; all else under dure's, since there is no other.
type wireCaller struct {
	Session    string `json:"prompt_cache_key,omitempty"`
	Agent      string `json:"agent,omitempty"`
	Parent     string `json:"parent,omitempty"`
	Priority   string `json:"priority,omitempty"`
	DeadlineMS int    `json:"deadline_ms,omitempty"`
	Next       string `json:"next,omitempty"`
	PinPrefix  bool   `json:"pin_prefix,omitempty"`
	KeepAlive  string `json:"keep_alive,omitempty"`
}

func newCaller(c inference.Caller) wireCaller {
	keep := ""
	if c.KeepAlive != 0 {
		keep = c.KeepAlive.String()
	}
	return wireCaller{
		KeepAlive: keep, Session: c.Session, Agent: c.Agent, Parent: c.Parent, Priority: string(c.Priority),
		DeadlineMS: c.DeadlineMS, Next: string(c.Next), PinPrefix: c.PinPrefix,
	}
}

func newParams(p inference.Params) wireParams {
	w := wireParams{
		Temperature: p.Temperature, TopP: p.TopP, TopK: p.TopK, MinP: p.MinP, TypicalP: p.TypicalP,
		RepeatPenalty: p.Penalties.Repeat, FrequencyPenalty: p.Penalties.Frequency,
		PresencePenalty: p.Penalties.Presence, RepeatLastN: p.Penalties.LastN,
		DRYMultiplier: p.DRY.Multiplier, DRYBase: p.DRY.Base, DRYAllowedLength: p.DRY.AllowedLength,
		DRYPenaltyLastN: p.DRY.LastN, DRYBreakers: p.DRY.Breakers,
		XTCProbability: p.XTC.Probability,
		Mirostat:       p.Mirostat.Version, MirostatTau: p.Mirostat.Tau, MirostatEta: p.Mirostat.Eta,
		Stop: p.Stop, MaxTokens: p.MaxTokens, IgnoreEOS: p.IgnoreEOS,
		Logprobs: p.Logprobs, TopLogprobs: p.TopLogprobs,
	}
	if p.XTC.Probability > 0 {
		w.XTCThreshold = &p.XTC.Threshold // a server's default is not 0
	}
	if p.Seed != 0 {
		w.Seed = &p.Seed
	}
	for _, b := range p.LogitBias {
		if w.LogitBias == nil {
			w.LogitBias = map[string]float32{}
		}
		w.LogitBias[strconv.Itoa(int(b.Token))] = b.Bias
	}
	return w
}

// encode returns the route of a request, below the base, and its body.
func encode(name string, req *inference.Request) (path string, body []byte, err error) {
	w := wireRequest{Model: name, Messages: newMessages(req.Messages), Stream: true, wireParams: newParams(req.Params), wireTools: newTools(req), wireCaller: newCaller(req.Caller)}
	w.Options.IncludeUsage = true
	path = "/chat/completions"
	if p := req.Prompt; p != nil {
		path = "/completions"
		if w.Prompt = p.Text; p.Tokens != nil {
			w.Prompt = p.Tokens
		}
		if w.Logprobs {
			e := inference.Errorf(inference.CodeUnsupported, "logprobs of a raw prompt's answer are not supported with remote endpoints")
			e.Param = "logprobs"
			return "", nil, e
		}
	}
	if body, err = json.Marshal(w); err != nil {
		return "", nil, fmt.Errorf("encode request: %w", err)
	}
	return path, body, nil
}
