package synth

import (
	"fmt"
	"io"
)

// Llama writes a model of the llama architecture: grouped-query attention with
// rotary positions and a gated feed-forward network.
func Llama(w io.Writer, c Config) error {
	b, err := newBuilder("llama", c)
	if err != nil {
		return err
	}
	b.setShape()
	b.set("attention.layer_norm_rms_epsilon", float32(1e-5))
	b.set("rope.dimension_count", uint32(b.HeadDim))
	b.set("rope.freq_base", float32(10000))
	newVocabulary(b.Vocabulary).store(&b.Writer, "smollm", b.Config)

	b.embedding()
	for i := range b.Layers {
		b.llamaLayer(fmt.Sprintf("blk.%d.", i))
	}
	b.head()
	return b.emit(w)
}

func (b *builder) llamaLayer(p string) {
	b.norm(p+"attn_norm.weight", b.Embedding)
	b.matrix(p+"attn_q.weight", b.Embedding, b.Heads*b.HeadDim)
	b.matrix(p+"attn_k.weight", b.Embedding, b.KVHeads*b.HeadDim)
	b.matrix(p+"attn_v.weight", b.Embedding, b.KVHeads*b.HeadDim)
	b.matrix(p+"attn_output.weight", b.Heads*b.HeadDim, b.Embedding)
	b.norm(p+"ffn_norm.weight", b.Embedding)
	b.matrix(p+"ffn_gate.weight", b.Embedding, b.FeedForward)
	b.matrix(p+"ffn_up.weight", b.Embedding, b.FeedForward)
	b.matrix(p+"ffn_down.weight", b.FeedForward, b.Embedding)
}
