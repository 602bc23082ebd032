package synth

import (
	"io"
	"math"

	"dure/gguf"
)

// Gemma3 writes a model of the gemma3 architecture: five of six layers see a
// sliding window only. Its tokenizer is of the SentencePiece kind. By default
// 6 layers, 64 wide, 4 heads of 32 and 2 KV heads, feed-forward 128, context
// 2048, window 64. Template defaults to GemmaTurns, AddBOS has no effect: the
// tokenizer always adds it, as the real ones do.
func Gemma3(w io.Writer, c Config) error { return emit(w, c, NewGemma3) }

// GemmaTurns is the default chat template of Gemma3.
const GemmaTurns = `{{ bos_token }}
{%- for message in messages -%}
<start_of_turn>{{ "model" if message.role == "assistant" else message.role }}
{{ message.content }}<end_of_turn>{{ "\n" }}
{%- endfor -%}
{%- if add_generation_prompt %}<start_of_turn>model{{ "\n" }}{% endif -%}
`

// NewGemma3 is Gemma3 for a caller that writes the file itself.
func NewGemma3(c Config) (*gguf.Writer, error) {
	if c.Template == "" {
		c.Template = GemmaTurns
	}
	b, err := newBuilder("gemma3", c, Config{
		Layers: 6, Embedding: 64, Heads: 4, KVHeads: 2, HeadDim: 32, FeedForward: 128, Context: 2048, Window: 64,
	})
	if err != nil {
		return nil, err
	}
	b.setShape()
	b.set("attention.layer_norm_rms_epsilon", float32(1e-6))
	b.set("attention.sliding_window", uint32(b.Window))
	b.set("rope.freq_base", float32(1e6))
	newPieces(b.Vocabulary).store(b.Writer, b.Config)

	// The engine multiplies embeddings by the root of their width.
	b.embedding(1 / math.Sqrt(float64(b.Embedding)))
	for i := range b.Layers {
		p := prefix(i)
		b.norm(p+"attn_norm.weight", b.Embedding)
		b.matrix(p+"attn_q.weight", b.Embedding, b.Heads*b.HeadDim)
		b.matrix(p+"attn_k.weight", b.Embedding, b.KVHeads*b.HeadDim)
		b.bits(p+"attn_v.weight", i, b.Embedding, b.KVHeads*b.HeadDim)
		b.matrix(p+"attn_output.weight", b.Heads*b.HeadDim, b.Embedding)
		b.norm(p+"attn_q_norm.weight", b.HeadDim)
		b.norm(p+"attn_k_norm.weight", b.HeadDim)
		b.norm(p+"post_attention_norm.weight", b.Embedding)
		b.norm(p+"ffn_norm.weight", b.Embedding)
		b.gatedFFN(p, i)
		b.norm(p+"post_ffw_norm.weight", b.Embedding)
	}
	b.head()
	return b.Writer, nil
}
