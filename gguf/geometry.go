package gguf

import "fmt"

// MaxLayers is the largest number of blocks that the engine loads.
const MaxLayers = 512

// Geometry is what a model's header says about its shape: what a memory plan,
// a cache and a listing need to know before anything is loaded. Sizes are in
// elements, tokens or bytes as stated.
type Geometry struct {
	Architecture string `json:"architecture"`
	Name         string `json:"name"`
	// FileType is the label of the quantisation, for example "Q4_K_M"; empty
	// where the file has none. Types has the facts.
	FileType string `json:"file_type"`

	// Parameters is the number of weights, Bytes their size in the file.
	Parameters uint64 `json:"parameters"`
	Bytes      uint64 `json:"bytes"`
	// Types is the mix of storage types, the largest share first.
	Types []TypeShare `json:"types"`
	// Kinds splits the weights by their use, in a fixed order.
	Kinds []KindShare `json:"kinds"`

	// Layers are the blocks of the model: those of the main pass, then the
	// MTPLayers blocks that predict further tokens. It is empty for an
	// architecture that is not known.
	Layers    []Layer `json:"layers"`
	MTPLayers int     `json:"mtp_layers"`

	// Embedding is the width of the hidden state, Vocabulary the number of
	// tokens, TrainContext the context in tokens the model was trained for.
	Embedding    int `json:"embedding"`
	Vocabulary   int `json:"vocabulary"`
	TrainContext int `json:"train_context"`
	// Tokenizer is the kind of tokenizer and its splitting rules, for example
	// "gpt2/qwen35".
	Tokenizer string `json:"tokenizer"`
	// Tied says that the input embedding serves as output matrix too.
	Tied bool `json:"tied"`
	// Encoder says that the model reads its whole input at once (bert): it
	// keeps nothing between calls and generates no text.
	Encoder bool `json:"encoder"`

	Experts Experts `json:"experts"`
	Rope    Rope    `json:"rope"`
}

// Layer is one block.
type Layer struct {
	// Recurrent layers keep a state of fixed size per sequence, the others
	// keys and values per token.
	Recurrent bool `json:"recurrent"`
	// MTP layers predict further tokens; the main pass skips them and their
	// keys and values belong to a context of their own.
	MTP bool `json:"mtp"`
	// Heads and KVHeads count the query and key/value heads, KeyDim and
	// ValueDim are the width of one. KVHeads is 0 for recurrent layers.
	Heads    int `json:"heads"`
	KVHeads  int `json:"kv_heads"`
	KeyDim   int `json:"key_dim"`
	ValueDim int `json:"value_dim"`
	// Window is how many tokens back the layer sees; 0 means all.
	Window int `json:"window"`
	// ConvState and DeltaState are the elements of a recurrent layer's two
	// states, which the engine keeps as F32.
	ConvState  int `json:"conv_state"`
	DeltaState int `json:"delta_state"`
	// FeedForward is the inner width of the dense network.
	FeedForward int `json:"feed_forward"`
	// Bytes of the layer's weights.
	Bytes uint64 `json:"bytes"`
}

// Experts describes a mixture of experts; Count is 0 for dense models.
type Experts struct {
	Count int `json:"count"`
	Used  int `json:"used"`
	// FeedForward and SharedFeedForward are the inner widths of one expert and
	// of the shared experts together, 0 where the file does not say.
	FeedForward       int `json:"feed_forward"`
	SharedFeedForward int `json:"shared_feed_forward"`
}

// Rope describes rotary positions.
type Rope struct {
	// Dims of a head are rotated.
	Dims int     `json:"dims"`
	Base float64 `json:"base"`
	// Scaling is "none", "linear", "yarn" or "longrope"; Factor is 1 without.
	Scaling string  `json:"scaling"`
	Factor  float64 `json:"factor"`
	// OriginalContext in tokens before scaling.
	OriginalContext int `json:"original_context"`
	// Sections split the dims between time, height, width and a fourth axis;
	// the engine then wants several positions per token.
	Sections [4]int `json:"sections"`
}

// UnknownArchitectureError says that the rules of an architecture are not
// known here: neither its layers nor the memory it needs can be told.
type UnknownArchitectureError struct{ Architecture string }

func (e *UnknownArchitectureError) Error() string {
	return fmt.Sprintf("gguf: unknown architecture %q: its memory needs cannot be told from the header", e.Architecture)
}

// Geometry derives the geometry of the model. For an architecture that is not
// known it returns what holds for all (weights, vocabulary, context) together
// with an *UnknownArchitectureError. All other errors come without a Geometry
// and are *KeyError: a key is missing or has a value that the engine refuses.
func (m *Model) Geometry() (*Geometry, error) {
	var lists [][]Tensor
	for _, f := range m.Files {
		lists = append(lists, f.Tensors)
	}
	return derive(m.Metadata(), lists)
}

// Geometry derives the geometry from one file alone; see Model.Geometry. The
// first of several shards gives the layers, but the weights of its own tensors
// only.
func (f *File) Geometry() (*Geometry, error) {
	return derive(&f.Metadata, [][]Tensor{f.Tensors})
}

func derive(md *Metadata, tensors [][]Tensor) (*Geometry, error) {
	arch, found, err := read(md, KeyArchitecture, Value.Text)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, &KeyError{Key: KeyArchitecture, Err: ErrMissingKey}
	}
	d := &deriver{md: md, arch: arch, g: &Geometry{Architecture: arch}}
	if err := d.common(); err != nil {
		return nil, err
	}
	rule, known := rules[arch]
	if !known {
		d.weigh(tensors)
		return d.g, &UnknownArchitectureError{Architecture: arch}
	}
	for _, step := range []func() error{d.blocks, d.experts, d.rope, func() error { return rule(d) }, d.check} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	d.weigh(tensors)
	return d.g, nil
}

// rules has the particulars of each known architecture, as of llama.cpp
// v0.5.0: load_arch_hparams of src/models, create_memory of llama-model.cpp.
// A rule runs after the keys that all share.
var rules = map[string]func(*deriver) error{
	"llama":      llama,
	"mistral3":   dense,
	"smollm3":    dense,
	"qwen2":      dense,
	"qwen2moe":   dense,
	"qwen2vl":    dense,
	"qwen3":      dense,
	"qwen3moe":   dense,
	"qwen3vl":    dense,
	"qwen3vlmoe": dense,
	"gemma":      dense,
	"phi3":       dense, // the engine ignores its window
	"granite":    dense,
	"granitemoe": dense,
	"qwen3next":  gatedDelta,
	"qwen35":     gatedDelta,
	"qwen35moe":  gatedDelta,
	"gemma2":     gemma2,
	"gemma3":     gemma3,
	"gpt-oss":    gptOSS,
	"bert":       encoder,
}

// dense needs nothing beyond the keys that all share.
func dense(*deriver) error { return nil }

// llama refuses a rotation of part of a head, as the engine does.
func llama(d *deriver) error {
	if key := d.fullKey; d.g.Rope.Dims != key {
		return d.md.bad(d.key("rope.dimension_count"), "%d, must equal the head width %d", d.g.Rope.Dims, key)
	}
	return nil
}

// encoder marks models that read their input at once and cache nothing.
func encoder(d *deriver) error {
	d.g.Encoder = true
	return nil
}
