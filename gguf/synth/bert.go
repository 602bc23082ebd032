package synth

import (
	"io"

	"dure/gguf"
)

// BERT writes an encoder of the bert architecture, which makes embeddings and no
// text, or with Pooling 4 scores. Its tokenizer is of the WordPiece kind: words
// outside Latin letters become one unknown token. By default 2 layers, 128
// wide, 4 heads, feed-forward 256, context 512. Tied, Template, AddBOS and
// MoreBits have no effect.
func BERT(w io.Writer, c Config) error { return emit(w, c, NewBERT) }

// NewBERT is BERT for a caller that writes the file itself.
func NewBERT(c Config) (*gguf.Writer, error) {
	c.KVHeads = 0 // every head has its own
	if c.Heads == 0 {
		c.Heads = 4
	}
	b, err := newBuilder("bert", c, Config{
		Layers: 2, Embedding: 128, KVHeads: c.Heads, FeedForward: 256, Context: 512, Pooling: meanPooling, Segments: 2,
	})
	if err != nil {
		return nil, err
	}
	b.setShape()
	b.set("attention.layer_norm_epsilon", float32(1e-12))
	b.set("attention.causal", false)
	if len(b.Classes) > 0 {
		b.set("classifier.output_labels", b.Classes)
	}
	newWordPieces(b.Vocabulary).store(b.Writer, b.Segments)

	b.tensor("token_embd.weight", b.Weights, 1, b.Embedding, b.Vocabulary)
	b.tensor("token_types.weight", gguf.F32, 0.1, b.Embedding, b.Segments)
	b.tensor("position_embd.weight", gguf.F32, 0.3, b.Embedding, b.Context)
	b.normBias("token_embd_norm", b.Embedding)
	for i := range b.Layers {
		p := prefix(i)
		b.linear(p+"attn_q", b.Embedding, b.Embedding)
		b.linear(p+"attn_k", b.Embedding, b.Embedding)
		b.linear(p+"attn_v", b.Embedding, b.Embedding)
		b.linear(p+"attn_output", b.Embedding, b.Embedding)
		b.normBias(p+"attn_output_norm", b.Embedding)
		b.linear(p+"ffn_up", b.Embedding, b.FeedForward)
		b.linear(p+"ffn_down", b.FeedForward, b.Embedding)
		b.normBias(p+"layer_output_norm", b.Embedding)
	}
	if b.Pooling == rankPooling {
		b.linear("cls", b.Embedding, b.Embedding)
		b.linear("cls.output", b.Embedding, max(len(b.Classes), 1))
	}
	return b.Writer, nil
}

// Kinds of pooling as the format numbers them.
const meanPooling, rankPooling = 1, 4

// linear adds a matrix with a bias.
func (b *builder) linear(name string, in, out int) {
	b.matrix(name+".weight", in, out)
	b.vector(name+".bias", out, 0, 0.1)
}

// normBias adds the scale and the shift of a layer norm.
func (b *builder) normBias(name string, n int) {
	b.norm(name+".weight", n)
	b.vector(name+".bias", n, 0, 0.05)
}
