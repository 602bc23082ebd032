package inference

import (
	"context"
	"iter"
)

// Model generates text. It is safe for concurrent use.
type Model interface {
	// Generate answers a request as a stream of events: EventStarted, any
	// number of EventText, EventDone. A failure ends the stream with a non-nil
	// error (an *Error where a caller could act on it) and no EventDone.
	// Breaking out of the range or cancelling ctx is the cancel; the model
	// stops within one step, also while the request waits or its prompt is
	// read. After ctx is cancelled the stream ends with ctx's error.
	Generate(ctx context.Context, req *Request) iter.Seq2[Event, error]
	// Info describes the model as it is loaded.
	Info() Info
}

// Tokenizer is implemented by models whose tokens are at hand; remote ones'
// are not. It is safe for concurrent use.
type Tokenizer interface {
	// Tokenize returns the tokens of a text. special adds what the model wants
	// around a prompt (BOS, EOS) and reads the text of special tokens as those
	// tokens.
	Tokenize(ctx context.Context, text string, special bool) ([]int32, error)
	// Detokenize returns the bytes of each token, special ones included.
	Detokenize(ctx context.Context, tokens []int32) ([][]byte, error)
	// Render returns the prompt that the conversation of a request becomes, with its
	// tools. open leaves it where the assistant's answer begins.
	Render(ctx context.Context, req *Request, open bool) (string, error)
}

// Info describes a model that is loaded.
type Info struct {
	Name string `json:"name"`
	// Architecture and Description as the file and the engine state them, for
	// example "llama" and "llama 135M Q4_1".
	Architecture string `json:"architecture"`
	Description  string `json:"description"`
	// Context is the largest prompt plus completion of one request, in tokens.
	Context int `json:"context"`
	// TrainContext is the context the model was trained for, in tokens.
	TrainContext int `json:"train_context"`
	// Sequences is how many requests are decoded at the same time.
	Sequences int `json:"sequences"`
	// Queue is how many more may wait.
	Queue int `json:"queue"`
	// Vocabulary in tokens, Parameters as a count, Bytes of the weights.
	Vocabulary int    `json:"vocabulary"`
	Parameters uint64 `json:"parameters"`
	Bytes      uint64 `json:"bytes"`
	// Device names where the weights are, for example "CPU".
	Device string `json:"device"`
	// ChatWarning is what answers to a conversation suffer from, for example that
	// the file has no chat template; empty for nothing. Surfaces pass it on.
	ChatWarning string `json:"chat_warning,omitempty"`
}
