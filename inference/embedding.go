package inference

import "context"

// Embedder turns texts into vectors. It is safe for concurrent use.
type Embedder interface {
	// Embed returns one vector for each input, in their order. A failure is an
	// *Error where a caller could act on it; its Param names the input at fault,
	// "input[2]". Nothing of an input is ever left out: one that is too long fails
	// with CodeContextExceeded. Cancelling ctx takes the request out of the queue.
	Embed(ctx context.Context, req *EmbedRequest) (*Embeddings, error)
	// Embedding describes the vectors; nil where the model makes none.
	Embedding() *EmbeddingInfo
}

// Reranker tells how well documents answer a query. It is safe for concurrent use.
type Reranker interface {
	// Rerank scores every document. Errors are as in Embed, with Param "query" or
	// "documents[2]".
	Rerank(ctx context.Context, req *RerankRequest) (*Ranking, error)
	// Embedding describes the model; Reranks of it says whether Rerank works.
	Embedding() *EmbeddingInfo
}

// EmbeddingInfo describes a loaded model that reads texts and writes none.
type EmbeddingInfo struct {
	// Dimensions of its vectors; 0 where it only ranks.
	Dimensions int `json:"dimensions"`
	// Shortens says that the first numbers of a vector are one by themselves, as the
	// model's makers trained it: EmbedRequest.Dimensions may be any of
	// MinDimensions..Dimensions.
	Shortens      bool `json:"shortens,omitempty"`
	MinDimensions int  `json:"min_dimensions,omitempty"`
	// Pooling is how a vector is made of those of the tokens: "mean", "cls" (the first
	// token's), "last", or "rank" for a model that only ranks.
	Pooling string `json:"pooling"`
	// MaxInput is the longest input in tokens, with what the model wants around it; of
	// a ranking one query and document together.
	MaxInput int  `json:"max_input"`
	Reranks  bool `json:"reranks,omitempty"`
}

// EmbedRequest asks for the vectors of some inputs.
type EmbedRequest struct {
	// ID names the request in logs and answers. The caller makes it.
	ID string `json:"id"`
	// Inputs are texts, which get what the model wants around them, or tokens, which
	// are taken as they are.
	Inputs []Prompt `json:"inputs"`
	// Dimensions shortens the vectors; 0 leaves them whole. Models that were not
	// trained for it are not shortened: the request fails then.
	Dimensions int    `json:"dimensions,omitempty"`
	Caller     Caller `json:"caller,omitzero"`
}

// Embeddings are vectors of length 1.
type Embeddings struct {
	Vectors [][]float32 `json:"vectors"`
	// PromptTokens of all inputs together.
	PromptTokens int     `json:"prompt_tokens"`
	QueueMS      float64 `json:"queue_ms"`
	ComputeMS    float64 `json:"compute_ms"`
}

// RerankRequest asks how well each document answers a query.
type RerankRequest struct {
	ID        string   `json:"id"`
	Query     string   `json:"query"`
	Documents []string `json:"documents"`
	Caller    Caller   `json:"caller,omitzero"`
}

// Ranking is the documents' scores.
type Ranking struct {
	// Scores are 0 (does not answer it) to 1, in the order of the documents.
	Scores       []float32 `json:"scores"`
	PromptTokens int       `json:"prompt_tokens"`
	QueueMS      float64   `json:"queue_ms"`
	ComputeMS    float64   `json:"compute_ms"`
}
