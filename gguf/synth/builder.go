package synth

import (
	"fmt"
	"io"
	"math"

	"dure/gguf"
)

// fileTypes holds the values of general.file_type by the type of most matrices.
var fileTypes = map[gguf.TensorType]uint32{
	gguf.F32: 0, gguf.F16: 1, gguf.Q4_0: 2, gguf.Q4_1: 3, gguf.Q8_0: 7,
	gguf.Q4K: 14, gguf.Q6K: 18, gguf.BF16: 32,
}

// q4KM is general.file_type of Q4_K with MoreBits.
const q4KM = 15

// builder adds metadata and tensors of one architecture to a Writer.
type builder struct {
	*gguf.Writer
	Config
	arch string
}

// newBuilder starts a model; d holds the defaults of the architecture.
func newBuilder(arch string, c, d Config) (*builder, error) {
	c = c.with(d)
	if c.Name == "" {
		c.Name = "synth-" + arch
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	b := &builder{Writer: new(gguf.Writer), Config: c, arch: arch}
	b.Set(gguf.KeyArchitecture, arch)
	b.Set("general.type", "model")
	b.Set(gguf.KeyName, c.Name)
	fileType := fileTypes[c.Weights]
	if c.MoreBits {
		fileType = q4KM
	}
	b.Set(gguf.KeyFileType, fileType)
	b.Set("general.quantization_version", uint32(2))
	return b, nil
}

// blocks is the number of blocks with those for MTP.
func (b *builder) blocks() int { return b.Layers + b.MTP }

// set stores a key of the architecture's own name space.
func (b *builder) set(key string, value any) { b.Set(b.arch+"."+key, value) }

// setShape stores the keys that all architectures with attention share.
func (b *builder) setShape() {
	b.set("vocab_size", uint32(b.Vocabulary))
	b.set("context_length", uint32(b.Context))
	b.set("embedding_length", uint32(b.Embedding))
	b.set("block_count", uint32(b.blocks()))
	b.set("feed_forward_length", uint32(b.FeedForward))
	b.set("attention.head_count", uint32(b.Heads))
	b.set("attention.head_count_kv", uint32(b.KVHeads))
	b.set("attention.key_length", uint32(b.HeadDim))
	b.set("attention.value_length", uint32(b.HeadDim))
	if b.Pooling != 0 {
		b.set("pooling_type", uint32(b.Pooling))
	}
}

// matrix adds a weight matrix from in to out values. Its spread keeps the size
// of the activations.
func (b *builder) matrix(name string, in, out int) {
	b.spread(name, 1/math.Sqrt(float64(in)), in, out)
}

// bits adds a matrix that MoreBits stores as Q6_K in some layers.
func (b *builder) bits(name string, layer, in, out int) { b.scaledBits(name, layer, 1, in, out) }

func (b *builder) scaledBits(name string, layer int, scale float64, in, out int) {
	t := b.Weights
	if b.MoreBits && moreBits(layer, b.blocks()) {
		t = gguf.Q6K
	}
	b.tensor(name, t, scale/math.Sqrt(float64(in)), in, out)
}

// moreBits is the rule of the engine's quantiser: the first and last eighth of
// the layers and every third between.
func moreBits(layer, layers int) bool {
	return layer < layers/8 || layer >= 7*layers/8 || (layer-layers/8)%3 == 2
}

// spread adds a matrix with a given standard deviation.
func (b *builder) spread(name string, std float64, in, out int) {
	b.tensor(name, b.Weights, std, in, out)
}

func (b *builder) tensor(name string, t gguf.TensorType, std float64, in, out int) {
	n := uint64(in) * uint64(out)
	b.add(name, t, []uint64{uint64(in), uint64(out)}, random(b.Seed, name, t, std, n))
}

// norm adds the scale vector of a normalisation.
func (b *builder) norm(name string, n int) { b.vector(name, n, 1, 0.05) }

// vector adds an F32 vector around a centre.
func (b *builder) vector(name string, n int, centre, std float32) {
	b.add(name, gguf.F32, []uint64{uint64(n)}, shifted(b.Seed, name, uint64(n), centre, std))
}

func (b *builder) add(name string, t gguf.TensorType, shape []uint64, data gguf.Data) {
	if b.Sparse {
		data = nil
	}
	b.Tensor(name, t, shape, data)
}

// embedding adds the input table.
func (b *builder) embedding(std float64) {
	t := b.Weights
	if b.MoreBits && b.Tied {
		t = gguf.Q6K
	}
	if b.Chain {
		b.table("token_embd.weight", t, std, itself)
		return
	}
	b.tensor("token_embd.weight", t, std, b.Embedding, b.Vocabulary)
}

// logitSpread is the standard deviation of the logits: large enough that
// greedy decoding seldom meets a near tie, small enough that sampling varies.
const logitSpread = 3

// head adds the last norm and the output matrix.
func (b *builder) head() {
	b.norm("output_norm.weight", b.Embedding)
	if b.Tied {
		return
	}
	t := b.Weights
	if b.MoreBits {
		t = gguf.Q6K
	}
	if b.Chain {
		b.table("output.weight", t, logitSpread/math.Sqrt(float64(b.Embedding)), b.before)
		return
	}
	b.tensor("output.weight", t, logitSpread/math.Sqrt(float64(b.Embedding)), b.Embedding, b.Vocabulary)
}

// gatedFFN adds a gated feed-forward network.
func (b *builder) gatedFFN(p string, layer int) {
	b.matrix(p+"ffn_gate.weight", b.Embedding, b.FeedForward)
	b.matrix(p+"ffn_up.weight", b.Embedding, b.FeedForward)
	b.scaledBits(p+"ffn_down.weight", layer, b.noise(), b.FeedForward, b.Embedding)
}

// prefix is the start of the names of a block's tensors.
func prefix(layer int) string { return fmt.Sprintf("blk.%d.", layer) }

// emit writes the model that build makes.
func emit(w io.Writer, c Config, build func(Config) (*gguf.Writer, error)) error {
	m, err := build(c)
	if err != nil {
		return err
	}
	_, err = m.WriteTo(w)
	return err
}
