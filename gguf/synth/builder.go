package synth

import (
	"io"
	"math"

	"dure/gguf"
)

// file types of general.file_type by the type of most matrices.
var fileTypes = map[gguf.TensorType]uint32{
	gguf.F32: 0, gguf.F16: 1, gguf.Q4_0: 2, gguf.Q4_1: 3, gguf.Q8_0: 7,
	gguf.Q4K: 15, gguf.Q6K: 18, gguf.BF16: 32,
}

// builder adds metadata and tensors of one architecture to a Writer.
type builder struct {
	gguf.Writer
	Config
	arch string
}

func newBuilder(arch string, c Config) (*builder, error) {
	c = c.withDefaults(arch)
	if err := c.validate(); err != nil {
		return nil, err
	}
	b := &builder{Config: c, arch: arch}
	b.Set(gguf.KeyArchitecture, arch)
	b.Set("general.type", "model")
	b.Set(gguf.KeyName, c.Name)
	b.Set(gguf.KeyFileType, fileTypes[c.Weights])
	b.Set("general.quantization_version", uint32(2))
	return b, nil
}

// set stores a key of the architecture's own name space.
func (b *builder) set(key string, value any) { b.Set(b.arch+"."+key, value) }

// setShape stores the keys that all architectures with attention share.
func (b *builder) setShape() {
	b.set("vocab_size", uint32(b.Vocabulary))
	b.set("context_length", uint32(b.Context))
	b.set("embedding_length", uint32(b.Embedding))
	b.set("block_count", uint32(b.Layers))
	b.set("feed_forward_length", uint32(b.FeedForward))
	b.set("attention.head_count", uint32(b.Heads))
	b.set("attention.head_count_kv", uint32(b.KVHeads))
	b.set("attention.key_length", uint32(b.HeadDim))
	b.set("attention.value_length", uint32(b.HeadDim))
}

// matrix adds a weight matrix from in to out values. Its spread keeps the size
// of the activations.
func (b *builder) matrix(name string, in, out int) {
	b.spread(name, 1/math.Sqrt(float64(in)), in, out)
}

// spread adds a matrix with a given standard deviation.
func (b *builder) spread(name string, std float64, in, out int) {
	b.Tensor(name, b.Weights, []uint64{uint64(in), uint64(out)},
		random(b.Seed, name, b.Weights, std, uint64(in)*uint64(out)))
}

// norm adds the scale vector of a normalisation.
func (b *builder) norm(name string, n int) {
	b.Tensor(name, gguf.F32, []uint64{uint64(n)}, ones(b.Seed, name, uint64(n)))
}

// embedding adds the input table.
func (b *builder) embedding() {
	b.spread("token_embd.weight", 1, b.Embedding, b.Vocabulary)
}

// logitSpread is the standard deviation of the logits: large enough that
// greedy decoding seldom meets a near tie, small enough that sampling varies.
const logitSpread = 3

// head adds the last norm and the output matrix.
func (b *builder) head() {
	b.norm("output_norm.weight", b.Embedding)
	if !b.Tied {
		b.spread("output.weight", logitSpread/math.Sqrt(float64(b.Embedding)), b.Embedding, b.Vocabulary)
	}
}

func (b *builder) emit(w io.Writer) error {
	_, err := b.WriteTo(w)
	return err
}
