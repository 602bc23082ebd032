package inference

import "context"

// Explainer is implemented by models of which one can ask what they would read.
type Explainer interface {
	// Explain tells what a request becomes and what of that is in the cache. Nothing is
	// generated or computed, nothing moves, and no counter but that of questions does.
	Explain(ctx context.Context, req *ExplainRequest) (*Explanation, error)
}

// ExplainRequest asks about a request.
type ExplainRequest struct {
	Request *Request `json:"request"`
	// From and Limit choose the tokens that are listed: at most Limit from the position
	// From on.
	From  int `json:"from"`
	Limit int `json:"limit"`
}

// Explanation is what a request becomes.
type Explanation struct {
	// Text is what the chat template makes of the messages, up to where the answer
	// begins.
	Text string `json:"text"`
	// PromptTokens is how many tokens the model would read, Tokens those from From on.
	// The first Remembered ones are not those of Text but the model's own of earlier
	// turns, as they were read and drawn.
	PromptTokens int          `json:"prompt_tokens"`
	From         int          `json:"from"`
	Tokens       []TokenPiece `json:"tokens"`
	Remembered   int          `json:"remembered"`
	// Rerendered is why past answers in the messages are read as the template writes
	// them, where they are: "unknown", "template", "border" or "room".
	Rerendered string `json:"rerendered,omitempty"`

	// CachedTokens would not be read again; their cells lie in Spans. Tier, which counts
	// a recurrent state too, and Reason are those of PrefixUsage.
	CachedTokens int          `json:"cached_tokens"`
	Spans        []CachedSpan `json:"spans,omitempty"`
	PrefixUsage
	// KnownTokens were seen here before, cached or not.
	KnownTokens int `json:"known_tokens"`

	// Past compares with the last prompt of the same session and the answer to it; nil
	// where none is known.
	Past *PastPrompt `json:"past,omitempty"`

	Warnings []Warning `json:"warnings,omitempty"`
}

// TokenPiece is a token and its bytes, which may be a part of a character.
type TokenPiece struct {
	ID    int32  `json:"id"`
	Piece []byte `json:"piece"`
}

// CachedSpan is the tokens of a prompt from From to before To, which lie in one tier.
type CachedSpan struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	Tier string `json:"tier"`
}

// PastPrompt is the last prompt of a session with the answer to it, beside a new one.
type PastPrompt struct {
	// PromptTokens of it; SameTokens of them begin the new prompt too.
	PromptTokens int `json:"prompt_tokens"`
	SameTokens   int `json:"same_tokens"`
	// Was are its tokens from the first difference on, Is those of the new prompt: a
	// few of each. One is empty where that prompt ends there; both where they are equal.
	Was []TokenPiece `json:"was"`
	Is  []TokenPiece `json:"is"`
	// Message is the one that the first difference lies in, by its place in the
	// request; nil where there is no difference, or it lies in none, or that cannot be
	// told. Tools says that it lies in what the template writes of the tools.
	Message *int `json:"message,omitempty"`
	Tools   bool `json:"tools,omitempty"`
}
