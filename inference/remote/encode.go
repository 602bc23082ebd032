package remote

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
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
	Temperature *float32           `json:"temperature,omitempty"`
	TopP        *float32           `json:"top_p,omitempty"`
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

	Stop      []string `json:"stop,omitempty"`
	MaxTokens int      `json:"max_tokens,omitempty"`
	// MaxCompletion is the present name of it at OpenAI.
	MaxCompletion int  `json:"max_completion_tokens,omitempty"`
	IgnoreEOS     bool `json:"ignore_eos,omitempty"`
	Logprobs      bool `json:"logprobs,omitempty"`
	TopLogprobs   int  `json:"top_logprobs,omitempty"`
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
		Temperature: &p.Temperature, TopP: &p.TopP, TopK: p.TopK, MinP: p.MinP, TypicalP: p.TypicalP,
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

// openAI is the format of OpenAI's API, and of those who follow it.
type openAI struct{}

func (openAI) head(h http.Header, at *Endpoint, _ *inference.Request) {
	if key := at.Key.text(); key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

func (openAI) encode(at *Endpoint, req *inference.Request) (path string, body []byte, err error) {
	w := wireRequest{Model: at.Model, Messages: newMessages(req.Messages), Stream: true, wireParams: newParams(req.Params), wireTools: newTools(at, req)}
	if w.MaxTokens == 0 {
		w.MaxTokens = at.MaxTokens
	}
	w.Options.IncludeUsage = true
	if at.Own {
		w.wireCaller = newCaller(req.Caller)
	} else if err := w.onlyOpenAI(); err != nil {
		return "", nil, err
	}
	path = "/chat/completions"
	if p := req.Prompt; p != nil {
		path = "/completions"
		if w.Prompt = p.Text; p.Tokens != nil {
			w.Prompt = p.Tokens
		}
		if w.Logprobs {
			return "", nil, unsupported("logprobs", "logprobs of a raw prompt's answer are not supported with remote endpoints")
		}
	}
	body, err = marshal(w)
	return path, body, err
}

// onlyOpenAI refuses what OpenAI's own API does not know, and writes the rest in its
// words: other names and defaults are errors there.
func (w *wireRequest) onlyOpenAI() error {
	p := &w.wireParams
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"top_k", p.TopK != 0}, {"min_p", p.MinP != 0}, {"typical_p", p.TypicalP != 0}, {"repeat_penalty", p.RepeatPenalty != 0},
		{"repeat_last_n", p.RepeatLastN != 0}, {"dry_multiplier", p.DRYMultiplier != 0}, {"xtc_probability", p.XTCProbability != 0},
		{"mirostat", p.Mirostat != 0}, {"ignore_eos", p.IgnoreEOS}, {"grammar", w.Grammar != ""}, {"reasoning_budget", w.Budget != 0},
		{"continue_final_message", w.Continues},
	} {
		if f.given {
			return unsupported(f.name, "%s is not of OpenAI's API; leave it out, or say local: true of an endpoint that knows it", f.name)
		}
	}
	if *p.Temperature == 1 {
		p.Temperature = nil // models that think take no other, and some not even that
	}
	if *p.TopP == 1 {
		p.TopP = nil
	}
	for i := range w.Messages {
		w.Messages[i].Reasoning = "" // there is no place for what was thought before
	}
	p.DRYBase, p.DRYAllowedLength, p.DRYPenaltyLastN, p.DRYBreakers = 0, 0, 0, nil
	p.MirostatTau, p.MirostatEta = 0, 0
	p.MaxCompletion, p.MaxTokens = p.MaxTokens, 0
	return nil
}

func unsupported(param, format string, args ...any) error {
	e := inference.Errorf(inference.CodeUnsupported, format, args...)
	e.Param = param
	return e
}

// marshal is JSON whose text stays as it is.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
