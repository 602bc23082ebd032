package openai

import (
	"crypto/rand"
	"encoding/binary"

	"dure/inference"
)

// params puts the fields of a request over the model's defaults.
func (r *chatRequest) params(defaults inference.Params) inference.Params {
	p := defaults
	set(&p.Temperature, r.temperature)
	set(&p.TopP, r.topP)
	set(&p.MinP, r.minP)
	set(&p.TopK, r.topK)
	set(&p.Stop, r.stop)
	set(&p.MaxTokens, r.maxTokens)
	set(&p.MaxTokens, r.maxCompletion)
	set(&p.IgnoreEOS, r.ignoreEOS)
	set(&p.Seed, r.seed)
	if r.seed == nil && p.Seed == 0 {
		p.Seed = randomSeed()
	}
	return p
}

func set[T any](dst *T, given *T) {
	if given != nil {
		*dst = *given
	}
}

// randomSeed has 53 bits: the answer tells it, and a client that keeps numbers
// as float64 can send it back unchanged.
func randomSeed() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.NativeEndian.Uint64(b[:]) >> 11
}
