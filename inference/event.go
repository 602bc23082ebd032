package inference

// EventKind tells the three kinds of Event apart.
type EventKind string

const (
	// EventStarted comes first and once: the request is valid, fits the
	// context and has its place in the queue. Usage.PromptTokens is set, but by
	// remote endpoints, which tell it only at the end.
	EventStarted EventKind = "started"
	// EventText carries a piece of the answer in Text: whole characters only.
	EventText EventKind = "text"
	// EventDone comes last and once: Finish and Usage are final.
	EventDone EventKind = "done"
)

// FinishReason says why the answer ended, in OpenAI's words.
type FinishReason string

const (
	FinishStop   FinishReason = "stop"   // end-of-generation token or stop string
	FinishLength FinishReason = "length" // MaxTokens reached or context full
)

// Usage counts tokens and where the time went. Times are milliseconds of wall
// clock as measured by the engine's owner.
type Usage struct {
	PromptTokens     int     `json:"prompt_tokens"`
	CompletionTokens int     `json:"completion_tokens"`
	CachedTokens     int     `json:"cached_tokens"`
	QueueMS          float64 `json:"queue_ms"`
	PrefillMS        float64 `json:"prefill_ms"`
	DecodeMS         float64 `json:"decode_ms"`
}

// Event is one step of an answer.
type Event struct {
	Kind   EventKind    `json:"kind"`
	Text   string       `json:"text,omitempty"`
	Finish FinishReason `json:"finish,omitempty"`
	Usage  *Usage       `json:"usage,omitempty"`
}
