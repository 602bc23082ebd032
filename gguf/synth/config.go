package synth

import (
	"cmp"
	"fmt"

	"dure/gguf"
)

// Config says what a synthetic model looks like. The zero value is a tiny
// model (under 2 MB); zero fields take the value stated with them.
type Config struct {
	// Name is stored as general.name ("synth-" and the architecture).
	Name string
	// Seed picks the weights (0 is a seed like any other).
	Seed uint64
	// Layers is the number of blocks (2).
	Layers int
	// Embedding is the width of the hidden state (128).
	Embedding int
	// Heads and KVHeads are the query and key/value heads (4 and 2).
	Heads, KVHeads int
	// HeadDim is the width of one head (Embedding / Heads). The engine's
	// quantised KV types need a multiple of 32, its rotation of them 64.
	HeadDim int
	// FeedForward is the inner width of the feed-forward network (256).
	FeedForward int
	// Context is the training context in tokens (2048).
	Context int
	// Vocabulary is the number of tokens; it is rounded up to BaseVocabulary.
	Vocabulary int
	// Weights is the type of the matrices (F32, the zero value). Vectors are
	// always F32. Rows must be whole blocks: widths in multiples of 32, or 256
	// for K types.
	Weights gguf.TensorType
	// Tied leaves out the output matrix: the embedding serves as both.
	Tied bool
	// Template is the chat template (ChatML).
	Template string
	// AddBOS makes the tokenizer put a begin-of-sequence token first.
	AddBOS bool
}

// ChatML is the default chat template. It prints the messages as they are and
// adds no system message of its own.
const ChatML = `{%- for message in messages -%}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>{{ "\n" }}
{%- endfor -%}
{%- if add_generation_prompt %}<|im_start|>assistant{{ "\n" }}{% endif -%}
`

func (c Config) withDefaults(architecture string) Config {
	c.Name = cmp.Or(c.Name, "synth-"+architecture)
	c.Layers = cmp.Or(c.Layers, 2)
	c.Embedding = cmp.Or(c.Embedding, 128)
	c.Heads = cmp.Or(c.Heads, 4)
	c.KVHeads = cmp.Or(c.KVHeads, 2)
	if c.Heads > 0 {
		c.HeadDim = cmp.Or(c.HeadDim, c.Embedding/c.Heads)
	}
	c.FeedForward = cmp.Or(c.FeedForward, 256)
	c.Context = cmp.Or(c.Context, 2048)
	c.Vocabulary = max(c.Vocabulary, BaseVocabulary)
	c.Template = cmp.Or(c.Template, ChatML)
	return c
}

func (c Config) validate() error {
	for _, f := range []struct {
		name  string
		value int
	}{
		{"Layers", c.Layers}, {"Embedding", c.Embedding}, {"Heads", c.Heads}, {"KVHeads", c.KVHeads},
		{"HeadDim", c.HeadDim}, {"FeedForward", c.FeedForward}, {"Context", c.Context},
	} {
		if f.value < 1 || f.value > 1<<24 {
			return fmt.Errorf("synth: %s is %d, must be 1 to %d", f.name, f.value, 1<<24)
		}
	}
	if c.Heads%c.KVHeads != 0 {
		return fmt.Errorf("synth: Heads %d is not a multiple of KVHeads %d", c.Heads, c.KVHeads)
	}
	if !canFill(c.Weights) {
		return fmt.Errorf("synth: no random weights of type %v", c.Weights)
	}
	return nil
}
