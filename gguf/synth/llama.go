package synth

import (
	"io"

	"dure/gguf"
)

// Llama writes a model of the llama architecture: grouped-query attention with
// rotary positions and a gated feed-forward network. By default 2 layers, 128
// wide, 4 heads and 2 KV heads, feed-forward 256, context 2048.
func Llama(w io.Writer, c Config) error { return emit(w, c, NewLlama) }

// NewLlama is Llama for a caller that writes the file itself.
func NewLlama(c Config) (*gguf.Writer, error) {
	b, err := newBuilder("llama", c, Config{
		Layers: 2, Embedding: 128, Heads: 4, KVHeads: 2, FeedForward: 256, Context: 2048,
	})
	if err != nil {
		return nil, err
	}
	b.setShape()
	b.set("attention.layer_norm_rms_epsilon", float32(1e-5))
	b.set("rope.dimension_count", uint32(b.HeadDim))
	b.set("rope.freq_base", float32(10000))
	newVocabulary(b.Vocabulary).store(b.Writer, "smollm", b.Config)

	b.embedding(1)
	for i := range b.Layers {
		p := prefix(i)
		b.norm(p+"attn_norm.weight", b.Embedding)
		b.matrix(p+"attn_q.weight", b.Embedding, b.Heads*b.HeadDim)
		b.matrix(p+"attn_k.weight", b.Embedding, b.KVHeads*b.HeadDim)
		b.bits(p+"attn_v.weight", i, b.Embedding, b.KVHeads*b.HeadDim)
		b.adds(p+"attn_output.weight", b.Heads*b.HeadDim, b.Embedding)
		b.norm(p+"ffn_norm.weight", b.Embedding)
		b.gatedFFN(p, i)
	}
	b.head()
	return b.Writer, nil
}
