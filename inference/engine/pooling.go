package engine

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/hybridgroup/yzma/pkg/llama"
)

// Pooling is how the vector of an input is made of those of its tokens.
type Pooling string

// The kinds of pooling. The empty one is a model that makes text.
const (
	PoolingMean Pooling = "mean"
	PoolingCLS  Pooling = "cls"  // the first token's
	PoolingLast Pooling = "last" // the last token's
	PoolingRank Pooling = "rank" // a score, or one for each class
)

var poolings = map[Pooling]llama.PoolingType{
	PoolingMean: llama.PoolingTypeMean, PoolingCLS: llama.PoolingTypeCLS,
	PoolingLast: llama.PoolingTypeLast, PoolingRank: llama.PoolingTypeRank,
}

// Pooling is what the model's file says of itself.
func (m *Model) Pooling() (Pooling, error) {
	text, ok := m.header("pooling_type")
	if !ok {
		return "", nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return "", fmt.Errorf("%w: pooling type %q is not a number", ErrLoad, text)
	}
	if llama.PoolingType(n) == llama.PoolingTypeNone {
		return "", nil
	}
	for name, kind := range poolings {
		if kind == llama.PoolingType(n) {
			return name, nil
		}
	}
	return "", fmt.Errorf("%w: pooling type %d is not known", ErrLoad, n)
}

// header is a value of the architecture's own name space, as text.
func (m *Model) header(key string) (string, bool) {
	return llama.ModelMetaValStr(m.handle, m.facts.Architecture+"."+key)
}

// Classes is how many scores a model with PoolingRank gives an input.
func (m *Model) Classes() int { return int(llama.ModelNClsOut(m.handle)) }

// RerankTemplate is the text that the model's file wants a query and a document put
// into, at {query} and {document}; empty where they are joined by tokens.
func (m *Model) RerankTemplate() string { return llama.ModelChatTemplate(m.handle, "rerank") }

// Separator is the token between two texts, -1 where there is none; add says that
// the tokeniser puts it there by itself.
func (m *Model) Separator() (sep Token, add bool) {
	return Token(llama.VocabSEP(m.vocab)), llama.VocabGetAddSEP(m.vocab)
}

// SeparatorCloses says that the tokeniser puts the separator behind each text, as it
// does for BERT's own kind of vocabulary, rather than between two.
func (m *Model) SeparatorCloses() bool {
	kind, _ := llama.ModelMetaValStr(m.handle, "tokenizer.ggml.model")
	return kind == "bert"
}

// ClassLabels are the names of the classes, where the model's file has any.
func (m *Model) ClassLabels() (labels []string) {
	for i := range uint32(m.Classes()) {
		if label := llama.ModelClsLabel(m.handle, i); label != "" {
			labels = append(labels, label)
		}
	}
	return labels
}

// Segments is how many kinds of text the model tells apart by a vector of their own.
// The engine computes all tokens as the first kind.
func (m *Model) Segments() int {
	text, ok := llama.ModelMetaValStr(m.handle, "tokenizer.ggml.token_type_count")
	n, err := strconv.Atoi(text)
	if !ok || err != nil {
		return 1
	}
	return n
}

// stepwise says that an input can be read in parts: each token sees only those before
// it, which the cache holds, and only the last one counts.
func (m *Model) stepwise(p Pooling) bool {
	causal, _ := m.header("attention.causal")
	last := p == PoolingLast || p == PoolingRank && m.ranksByLast()
	return last && causal != "false" && !m.ReadsAtOnce()
}

// ranksByLast are the architectures whose rank the engine takes from the last token.
func (m *Model) ranksByLast() bool {
	return slices.Contains([]string{"qwen3", "qwen3vl"}, m.facts.Architecture)
}

// atOnce are the architectures that the engine makes no cells for, as of v0.5.0.
var atOnce = []string{"bert", "jina-bert-v2", "jina-bert-v3", "nomic-bert", "nomic-bert-moe", "neo-bert", "eurobert", "modern-bert", "gemma-embedding"}

// ReadsAtOnce says that the model is an encoder, which makes no text.
func (m *Model) ReadsAtOnce() bool { return slices.Contains(atOnce, m.facts.Architecture) }
