package synth

import (
	"fmt"
	"io"
	"math"

	"dure/gguf"
)

// Qwen35 writes a model of the qwen35 architecture: gated delta networks, with
// gated attention in every fourth layer, and Config.MTP blocks that predict
// further tokens. By default 4 layers, 64 wide, 2 heads of 64 and 1 KV head,
// feed-forward 128, context 4096; delta networks with 2 query/key heads and 4
// value heads of 32, kernel 4.
func Qwen35(w io.Writer, c Config) error { return emit(w, c, NewQwen35) }

// NewQwen35 is Qwen35 for a caller that writes the file itself.
func NewQwen35(c Config) (*gguf.Writer, error) {
	b, err := newBuilder("qwen35", c, Config{
		Layers: 4, Embedding: 64, Heads: 2, KVHeads: 1, HeadDim: 64, FeedForward: 128, Context: 4096,
		Delta: Delta{Kernel: 4, State: 32, Groups: 2, Heads: 4},
	})
	if err != nil {
		return nil, err
	}
	if b.Delta.Heads%b.Delta.Groups != 0 {
		return nil, fmt.Errorf("synth: Delta.Heads %d is not a multiple of Delta.Groups %d", b.Delta.Heads, b.Delta.Groups)
	}
	if b.HeadDim%16 != 0 {
		return nil, fmt.Errorf("synth: HeadDim %d is not a multiple of 16, as rotating a quarter of it needs", b.HeadDim)
	}
	b.qwen35Keys()
	if b.Vocabulary > qwenSpecialsAt {
		newQwenVocabulary(b.Vocabulary).store(b.Writer, "qwen35", b.Config)
	} else {
		newVocabulary(b.Vocabulary).store(b.Writer, "qwen35", b.Config)
	}
	b.embedding(1)
	for i := range b.Layers {
		b.qwen35Layer(i, (i+1)%attentionInterval != 0)
	}
	for i := b.Layers; i < b.blocks(); i++ {
		b.qwen35Layer(i, false)
		b.nextn(prefix(i))
	}
	b.head()
	return b.Writer, nil
}

// attentionInterval: every so many layers one is attention.
const attentionInterval = 4

func (b *builder) qwen35Keys() {
	b.setShape()
	b.set("attention.layer_norm_rms_epsilon", float32(1e-6))
	// A quarter of a head is rotated; half of that, split over three axes.
	rotated := b.HeadDim / 4
	side := (rotated/2 + 2) / 3
	b.set("rope.dimension_count", uint32(rotated))
	b.set("rope.dimension_sections", []int32{int32(side), int32(side), int32(rotated/2 - 2*side), 0})
	b.set("rope.freq_base", float32(1e7))
	b.set("ssm.conv_kernel", uint32(b.Delta.Kernel))
	b.set("ssm.state_size", uint32(b.Delta.State))
	b.set("ssm.group_count", uint32(b.Delta.Groups))
	b.set("ssm.time_step_rank", uint32(b.Delta.Heads))
	b.set("ssm.inner_size", uint32(b.Delta.Inner()))
	b.set("full_attention_interval", uint32(attentionInterval))
	if b.MTP > 0 {
		b.set("nextn_predict_layers", uint32(b.MTP))
	}
}

func (b *builder) qwen35Layer(i int, recurrent bool) {
	p := prefix(i)
	b.norm(p+"attn_norm.weight", b.Embedding)
	if recurrent {
		b.deltaNet(p, i)
	} else {
		// The query projection also makes the gate of the output.
		b.matrix(p+"attn_q.weight", b.Embedding, 2*b.Heads*b.HeadDim)
		b.matrix(p+"attn_k.weight", b.Embedding, b.KVHeads*b.HeadDim)
		b.bits(p+"attn_v.weight", i, b.Embedding, b.KVHeads*b.HeadDim)
		b.adds(p+"attn_output.weight", b.Heads*b.HeadDim, b.Embedding)
		b.norm(p+"attn_q_norm.weight", b.HeadDim)
		b.norm(p+"attn_k_norm.weight", b.HeadDim)
	}
	b.norm(p+"post_attention_norm.weight", b.Embedding)
	b.gatedFFN(p, i)
}

func (b *builder) deltaNet(p string, i int) {
	d := b.Delta
	b.bits(p+"attn_qkv.weight", i, b.Embedding, d.Channels())
	b.matrix(p+"attn_gate.weight", b.Embedding, d.Inner())
	// The convolution stays F32 in every mix.
	b.tensor(p+"ssm_conv1d.weight", gguf.F32, 1/math.Sqrt(float64(d.Kernel)), d.Kernel, d.Channels())
	b.vector(p+"ssm_dt.bias", d.Heads, 0, 1)
	// The decay: minus the exponential of a trained value, hence negative.
	b.vector(p+"ssm_a", d.Heads, -1, 0.25)
	b.matrix(p+"ssm_beta.weight", b.Embedding, d.Heads)
	b.matrix(p+"ssm_alpha.weight", b.Embedding, d.Heads)
	b.norm(p+"ssm_norm.weight", d.State)
	b.adds(p+"ssm_out.weight", d.Inner(), b.Embedding)
}

// nextn adds what an MTP block has beyond attention: the projection of hidden
// state and embedding, and their norms.
func (b *builder) nextn(p string) {
	if b.Chain {
		b.firstHalf(p+"nextn.eh_proj.weight", b.Embedding)
	} else {
		b.matrix(p+"nextn.eh_proj.weight", 2*b.Embedding, b.Embedding)
	}
	b.norm(p+"nextn.enorm.weight", b.Embedding)
	b.norm(p+"nextn.hnorm.weight", b.Embedding)
	b.norm(p+"nextn.shared_head_norm.weight", b.Embedding)
}
