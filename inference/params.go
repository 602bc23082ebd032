package inference

// Params says how the answer is drawn from the model. It is concrete: whoever
// builds a Request starts from the model's defaults (in the end DefaultParams)
// and changes what the caller asked for. A zero Params is greedy and keeps
// nothing off.
type Params struct {
	// MaxTokens limits the completion in tokens; 0 means up to the end of the
	// context.
	MaxTokens int `json:"max_tokens,omitempty"`
	// Temperature 0 is greedy decoding.
	Temperature float32 `json:"temperature"`
	// TopP keeps the smallest set of tokens whose probability sums to TopP;
	// 1 keeps all candidates.
	TopP float32 `json:"top_p"`
	// TopK keeps the K most likely tokens. It is always finite for sampling:
	// 0 means the engine's stated default (sample.DefaultTopK).
	TopK int `json:"top_k"`
	// MinP drops tokens less likely than MinP times the likeliest; 0 drops none.
	MinP float32 `json:"min_p"`
	// TypicalP keeps the tokens whose information is nearest to the entropy of
	// the distribution until their probability sums to TypicalP; 0 and 1 keep
	// all.
	TypicalP float32 `json:"typical_p,omitempty"`
	// Seed starts the random number generator of this request. Same seed, same
	// build, same batch: same text.
	Seed uint64 `json:"seed"`

	// LogitBias is added to the logits of particular tokens before anything
	// else; -100 and below bans a token. Tokens are different from each other.
	LogitBias []TokenBias `json:"logit_bias,omitempty"`
	Penalties Penalties   `json:"penalties,omitzero"`
	DRY       DRY         `json:"dry,omitzero"`
	XTC       XTC         `json:"xtc,omitzero"`
	Mirostat  Mirostat    `json:"mirostat,omitzero"`

	// Stop ends the answer before the first occurrence of any of these
	// strings, also across token borders. The string itself is not returned.
	Stop []string `json:"stop,omitempty"`
	// IgnoreEOS decodes on past end-of-generation tokens (benchmarks).
	IgnoreEOS bool `json:"ignore_eos,omitempty"`
	// Logprobs asks for Event.Logprobs, each with TopLogprobs alternatives
	// (0 to MaxTopLogprobs).
	Logprobs    bool `json:"logprobs,omitempty"`
	TopLogprobs int  `json:"top_logprobs,omitempty"`
}

// MaxTopLogprobs is the most alternatives a request may ask for with each
// token, as in OpenAI's API.
const MaxTopLogprobs = 20

// TokenBias is added to the logit of one token.
type TokenBias struct {
	Token int32   `json:"token"`
	Bias  float32 `json:"bias"`
}

// Penalties lower the logits of tokens that occurred in the last LastN tokens,
// prompt included.
type Penalties struct {
	// Repeat divides a positive and multiplies a negative logit of such a
	// token; 0 and 1 are off.
	Repeat float32 `json:"repeat,omitempty"`
	// Frequency is subtracted once per occurrence, Presence once: OpenAI's
	// frequency_penalty and presence_penalty, -2 to 2.
	Frequency float32 `json:"frequency,omitempty"`
	Presence  float32 `json:"presence,omitempty"`
	// LastN is how far back they look, in tokens: 0 is the default
	// (sample.DefaultLastN), -1 the whole context.
	LastN int `json:"last_n,omitempty"`
}

// DRY ("don't repeat yourself") lowers the logit of a token that would extend a
// repetition of at least AllowedLength tokens by
// Multiplier * Base^(length - AllowedLength).
type DRY struct {
	Multiplier    float32 `json:"multiplier,omitempty"`     // 0 is off
	Base          float32 `json:"base,omitempty"`           // 0 is the default, 1.75
	AllowedLength int     `json:"allowed_length,omitempty"` // in tokens; 0 is the default, 2
	LastN         int     `json:"last_n,omitempty"`         // how far back; 0 and -1 are the whole context
	// Breakers are strings that no repetition reaches across; nil is the
	// default: newline, colon, quotation mark, asterisk.
	Breakers []string `json:"breakers,omitempty"`
}

// XTC ("exclude top choices") drops, with the given probability at each token,
// all tokens likelier than Threshold but the least likely of them.
type XTC struct {
	Probability float32 `json:"probability,omitempty"` // 0 is off
	Threshold   float32 `json:"threshold,omitempty"`   // above 0.5 it never acts
}

// Mirostat keeps the surprise of the text near Tau bits; where Version is not 0
// it replaces top_k, top_p, min_p, typical and XTC.
type Mirostat struct {
	Version int     `json:"version,omitempty"` // 0 is off; 1 or 2
	Tau     float32 `json:"tau,omitempty"`     // 0 is the default, 5
	Eta     float32 `json:"eta,omitempty"`     // learning rate; 0 is the default, 0.1
}

// DefaultParams are OpenAI's defaults; a model's entry in models.yaml changes
// them. The seed is left to the caller.
func DefaultParams() Params { return Params{Temperature: 1, TopP: 1} }
