package inference

// Roles of a chat message, as the chat templates of the models know them.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Message is one turn of a conversation. Content is text; other kinds of
// content are refused by the surfaces before a Message is made.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	// Name is the optional name of the participant (OpenAI's field of that
	// name); templates that know it print it.
	Name string `json:"name,omitempty"`
}

// Params says how the answer is drawn from the model. It is concrete: whoever
// builds a Request resolves absent fields (from the model's defaults) first.
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
	// Seed starts the random number generator of this request. Same seed, same
	// build, same batch: same text.
	Seed uint64 `json:"seed"`
	// Stop ends the answer before the first occurrence of any of these
	// strings, also across token borders. The string itself is not returned.
	Stop []string `json:"stop,omitempty"`
	// IgnoreEOS decodes on past end-of-generation tokens (benchmarks).
	IgnoreEOS bool `json:"ignore_eos,omitempty"`
}

// DefaultParams are OpenAI's defaults; a model's entry in models.yaml changes
// them. The seed is left to the caller.
func DefaultParams() Params { return Params{Temperature: 1, TopP: 1} }

// Request asks for one completion of a conversation.
type Request struct {
	// ID names the request in logs and answers. The caller makes it.
	ID       string    `json:"id"`
	Messages []Message `json:"messages"`
	Params   Params    `json:"params"`
}
