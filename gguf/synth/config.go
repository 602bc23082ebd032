package synth

import (
	"cmp"
	"fmt"

	"dure/gguf"
)

// Config says what a synthetic model looks like. The zero value is a tiny
// model (under 2 MB) of the architecture it is given to; a zero field takes
// that architecture's default (see the constructors).
type Config struct {
	// Name is stored as general.name ("synth-" and the architecture).
	Name string
	// Seed picks the weights (0 is a seed like any other).
	Seed uint64
	// Layers is the number of blocks, without those for MTP.
	Layers int
	// Embedding is the width of the hidden state.
	Embedding int
	// Heads and KVHeads are the query and key/value heads.
	Heads, KVHeads int
	// HeadDim is the width of one head (Embedding / Heads). The engine's
	// quantised KV types need a multiple of 32, its rotation of them 64.
	HeadDim int
	// FeedForward is the inner width of the feed-forward network.
	FeedForward int
	// Context is the training context in tokens.
	Context int
	// Vocabulary is the number of tokens; it is rounded up to BaseVocabulary.
	Vocabulary int
	// Weights is the type of the matrices (F32, the zero value). Vectors are
	// always F32. Rows must be whole blocks: widths in multiples of 32, or 256
	// for K types.
	Weights gguf.TensorType
	// MoreBits stores what suffers most from quantisation as Q6_K, tensor by
	// tensor as the engine's quantiser does: Q4K with MoreBits is Q4_K_M.
	MoreBits bool
	// Tied leaves out the output matrix: the embedding serves as both.
	Tied bool
	// Template is the chat template (ChatML).
	Template string
	// AddBOS makes the tokenizer put a begin-of-sequence token first.
	AddBOS bool
	// Suppress are tokens that the model's makers want never drawn.
	Suppress []int32
	// Sparse leaves all weights zero: gguf.Writer.WriteFile then makes holes.
	Sparse bool

	// Window is the sliding window in tokens (gemma3).
	Window int
	// Delta is the shape of the recurrent layers (qwen35).
	Delta Delta
	// MTP is the number of blocks that predict further tokens (qwen35).
	MTP int
	// Chain makes a model that expects token t+1 behind token t, and whose MTP block
	// guesses so (llama, qwen35); Noise, 0 to 1, is how much of what its blocks add
	// disturbs it.
	Chain bool
	Noise float64
	// Pooling is how a vector is made of those of an input's tokens, as the format
	// numbers it: 1 mean, 2 the first token's, 3 the last one's, 4 a score for each of
	// Classes (bert). 0 is mean for bert and none for the others.
	Pooling int
	// Classes are the names of what an input is scored for; one score has none.
	Classes []string
	// Segments are the kinds of text that bert tells apart (2).
	Segments int
}

// Delta is the shape of gated delta networks. Every fourth layer is attention
// instead.
type Delta struct {
	// Kernel is the length of the convolution, State the width of a head.
	Kernel, State int
	// Groups and Heads are the query/key and value heads.
	Groups, Heads int
}

// Inner is the width of all value heads together.
func (d Delta) Inner() int { return d.Heads * d.State }

// Channels is the width of values, queries and keys together.
func (d Delta) Channels() int { return d.Inner() + 2*d.Groups*d.State }

// ChatML is the default chat template. It prints the messages as they are and
// adds no system message of its own.
const ChatML = `{%- for message in messages -%}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>{{ "\n" }}
{%- endfor -%}
{%- if add_generation_prompt %}<|im_start|>assistant{{ "\n" }}{% endif -%}
`

// with fills zero fields from d.
func (c Config) with(d Config) Config {
	c.Layers = cmp.Or(c.Layers, d.Layers)
	c.Embedding = cmp.Or(c.Embedding, d.Embedding)
	c.Heads = cmp.Or(c.Heads, d.Heads)
	c.KVHeads = cmp.Or(c.KVHeads, d.KVHeads)
	c.HeadDim = cmp.Or(c.HeadDim, d.HeadDim)
	if c.HeadDim == 0 && c.Heads > 0 {
		c.HeadDim = c.Embedding / c.Heads
	}
	c.FeedForward = cmp.Or(c.FeedForward, d.FeedForward)
	c.Context = cmp.Or(c.Context, d.Context)
	c.Vocabulary = max(c.Vocabulary, BaseVocabulary)
	c.Template = cmp.Or(c.Template, ChatML)
	c.Window = cmp.Or(c.Window, d.Window)
	c.Pooling = cmp.Or(c.Pooling, d.Pooling)
	c.Segments = cmp.Or(c.Segments, d.Segments)
	c.Delta.Kernel = cmp.Or(c.Delta.Kernel, d.Delta.Kernel)
	c.Delta.State = cmp.Or(c.Delta.State, d.Delta.State)
	c.Delta.Groups = cmp.Or(c.Delta.Groups, d.Delta.Groups)
	c.Delta.Heads = cmp.Or(c.Delta.Heads, d.Delta.Heads)
	return c
}

func (c Config) validate() error {
	for _, f := range []struct {
		name  string
		value int
		least int
	}{
		{"Layers", c.Layers, 1}, {"Embedding", c.Embedding, 1}, {"Heads", c.Heads, 1}, {"KVHeads", c.KVHeads, 1},
		{"HeadDim", c.HeadDim, 1}, {"FeedForward", c.FeedForward, 1}, {"Context", c.Context, 1},
		{"Window", c.Window, 0}, {"MTP", c.MTP, 0}, {"Pooling", c.Pooling, 0}, {"Segments", c.Segments, 0}, {"Delta.Kernel", c.Delta.Kernel, 0}, {"Delta.State", c.Delta.State, 0},
		{"Delta.Groups", c.Delta.Groups, 0}, {"Delta.Heads", c.Delta.Heads, 0},
	} {
		if f.value < f.least || f.value > 1<<24 {
			return fmt.Errorf("synth: %s is %d, must be %d to %d", f.name, f.value, f.least, 1<<24)
		}
	}
	if c.Heads%c.KVHeads != 0 {
		return fmt.Errorf("synth: Heads %d is not a multiple of KVHeads %d", c.Heads, c.KVHeads)
	}
	if !canFill(c.Weights) {
		return fmt.Errorf("synth: no random weights of type %v", c.Weights)
	}
	if c.Chain && c.Tied || !c.Chain && c.Noise != 0 || c.Noise < 0 || c.Noise > 1 {
		return fmt.Errorf("synth: Noise %g: must be 0 to 1, of a Chain, which has an output matrix of its own", c.Noise)
	}
	if c.MoreBits && c.Weights != gguf.Q4K {
		return fmt.Errorf("synth: MoreBits goes with Q4_K, not with %v", c.Weights)
	}
	return nil
}
