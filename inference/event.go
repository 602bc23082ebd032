package inference

import "encoding/json"

// EventKind tells the kinds of Event apart.
type EventKind string

const (
	// EventStarted comes first and once: the request is valid, fits the
	// context and has its place in the queue. Usage.PromptTokens is set, but by
	// remote endpoints, which tell it only at the end.
	EventStarted EventKind = "started"
	// EventText carries a piece of the answer in Text, whole characters only,
	// and where they were asked for the Logprobs of tokens whose text is
	// complete with it. Text is empty only beside Logprobs.
	EventText EventKind = "text"
	// EventReasoning carries a piece of what the model thinks before its answer, in
	// Text, and Logprobs as EventText does.
	EventReasoning EventKind = "reasoning"
	// EventToolCall begins a call of a tool (Call has ID and Name) or carries a piece
	// of its arguments (Call.Arguments). Calls come one after the other, numbered
	// from 0; a later Index closes the one before.
	EventToolCall EventKind = "tool_call"
	// EventDone comes last and once: Finish and Usage are final.
	EventDone EventKind = "done"
)

// FinishReason says why the answer ended, in OpenAI's words.
type FinishReason string

const (
	FinishStop   FinishReason = "stop"   // end-of-generation token or stop string
	FinishLength FinishReason = "length" // MaxTokens reached or context full
	// FinishToolCalls: the answer ended with calls of tools.
	FinishToolCalls FinishReason = "tool_calls"
	// FinishRepetition: the same text came over and over, and was cut off there.
	FinishRepetition FinishReason = "repetition"
)

// Usage counts tokens and where the time went. Times are milliseconds of wall
// clock as measured by the engine's owner.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	// CachedTokens of the prompt were not read again.
	CachedTokens int `json:"cached_tokens"`
	// CacheWriteTokens of the prompt were read, and put into the cache for later
	// requests: some endpoints have another price for that.
	CacheWriteTokens int     `json:"cache_write_tokens,omitempty"`
	QueueMS          float64 `json:"queue_ms"`
	RestoreMS        float64 `json:"restore_ms"`
	PrefillMS        float64 `json:"prefill_ms"`
	DecodeMS         float64 `json:"decode_ms"`
	// DraftedTokens were guesses of coming tokens that the model checked;
	// AcceptedTokens of the completion are those that were right.
	DraftedTokens  int `json:"drafted_tokens,omitempty"`
	AcceptedTokens int `json:"accepted_tokens,omitempty"`
	// ReasoningTokens of the completion were thinking.
	ReasoningTokens int `json:"reasoning_tokens,omitempty"`
	// Prefix tells about CachedTokens; nil where nothing is known.
	Prefix *PrefixUsage `json:"prefix,omitempty"`
}

// PrefixUsage says where reused tokens came from and why there were no more.
type PrefixUsage struct {
	// Tier is the slowest one that was needed: "hot", "ram", "disk", or "gone"
	// where nothing was reused.
	Tier string `json:"tier"`
	// Reason why no more was reused: "" (all that can be), "new", "evicted",
	// "checkpoint", "slow".
	Reason string `json:"reason,omitempty"`
	// Break is where the prompt left what its session held; nil if it did not.
	Break *PrefixBreak `json:"break,omitempty"`
}

// PrefixBreak is the first token of a prompt that differs from the session's
// past: the client, or the template, changed what was said.
type PrefixBreak struct {
	Position int `json:"position"` // in tokens
	// Was is the text of the token that the session held, Is that of the prompt.
	Was string `json:"was"`
	Is  string `json:"is"`
}

// Event is one step of an answer.
type Event struct {
	Kind     EventKind      `json:"kind"`
	Text     string         `json:"text,omitempty"`
	Logprobs []TokenLogprob `json:"logprobs,omitempty"`
	Call     *ToolCallDelta `json:"call,omitempty"`
	Finish   FinishReason   `json:"finish,omitempty"`
	Usage    *Usage         `json:"usage,omitempty"`
	// Stop is the stop string that ended the text, where one did, of EventDone.
	Stop string `json:"stop,omitempty"`
	// Warnings of EventDone are what the caller should know about a whole answer,
	// for example that something in it looked like a call of a tool and could not be
	// read as one.
	Warnings []Warning `json:"warnings,omitempty"`
	// Proof of EventDone belongs to the answer: Message.Proof, where it is sent back.
	Proof json.RawMessage `json:"proof,omitempty"`
	// More says that the next event is already here, so that a surface may
	// send both at once.
	More bool `json:"-"`
}

// ToolCallDelta is a piece of a call of a tool.
type ToolCallDelta struct {
	Index int `json:"index"`
	// ID and Name are in the first piece of a call only.
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	// Arguments is the next piece of the text of a JSON object, whole characters.
	Arguments string `json:"arguments,omitempty"`
}

// Warning is something about an answer that its caller should know and that is no
// failure.
type Warning struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

// TokenLogprob is one token of the answer with its probability.
type TokenLogprob struct {
	Candidate
	// Top are the likeliest tokens at this place, by falling probability. The
	// token itself is among them only if it is one of the likeliest.
	Top []Candidate `json:"top,omitempty"`
}

// Candidate is a token that could stand at a place.
type Candidate struct {
	// Token is its id; -1 where a remote endpoint does not tell it.
	Token int32 `json:"token"`
	// Bytes of the token's text, which may be a part of a character.
	Bytes []byte `json:"bytes"`
	// Logprob is the natural logarithm of the probability that the model gives
	// the token before any sampling step; at least MinLogprob.
	Logprob float32 `json:"logprob"`
}

// MinLogprob stands for a probability of zero, as in OpenAI's API.
const MinLogprob = -9999
