package embed

import (
	"cmp"
	"fmt"

	"dure/inference/engine"
)

// Config shapes how a loaded model is served. Derive fills what is left zero.
type Config struct {
	// Name the model is listed under, Device where its weights are, for Info.
	Name   string `json:"name"`
	Device string `json:"device,omitempty"`
	// Pooling is for files that do not say how the vector of an input is made.
	Pooling engine.Pooling `json:"pooling,omitempty"`
	// MaxInput is the longest input in tokens, Batch the tokens computed together, at
	// least MaxInput, and Inputs the inputs.
	MaxInput int `json:"max_input,omitempty"`
	Batch    int `json:"batch,omitempty"`
	Inputs   int `json:"inputs,omitempty"`
	// MicroBatch is the tokens computed at once by models that can read an input in
	// parts.
	MicroBatch int `json:"micro_batch,omitempty"`
	// Shortest is the fewest numbers that a vector may be shortened to, as the model's
	// makers trained it; 0 is that it may not be shortened.
	Shortest int `json:"shortest,omitempty"`
	// Queue is how many requests may wait.
	Queue          int                   `json:"queue,omitempty"`
	Threads        int                   `json:"threads"`
	Poll           int                   `json:"poll,omitempty"`
	FlashAttention engine.FlashAttention `json:"flash_attention,omitempty"`
	// Turns, when set, are taken on the device for each engine call.
	Turns Turns `json:"-"`
}

// Turns are taken where other processes compute on the same device. One goroutine
// calls it, the owner.
type Turns interface {
	// Take waits until the device may be used for a piece of a prompt. A Give follows.
	Take(prompt bool)
	Give()
}

// What is chosen where the configuration is silent.
const (
	// UsualInput bounds the longest input that is chosen without being asked for. All
	// of it is computed at once by most models, and that costs memory.
	UsualInput = 2048
	// UsualBatch is where reading on CPUs stops getting faster.
	UsualBatch = 512
	// UsualInputs fill such a batch with sentences; each costs a row over the
	// vocabulary where the model has an output matrix.
	UsualInputs = 32
	usualQueue  = 64
)

// Sizes fills MaxInput, Batch, Inputs and MicroBatch where they are zero, for a model
// of this trained context: what a plan counts with.
func (c Config) Sizes(trained int) Config {
	usual := UsualInput
	if trained > 0 {
		usual = min(usual, trained)
	}
	c.MaxInput = cmp.Or(c.MaxInput, usual)
	c.Inputs = cmp.Or(c.Inputs, UsualInputs)
	c.Batch = max(cmp.Or(c.Batch, UsualBatch), c.MaxInput, c.Inputs)
	c.MicroBatch = cmp.Or(c.MicroBatch, UsualBatch)
	// The engine wants as many tokens for each input.
	c.Batch = (c.Batch + c.Inputs - 1) / c.Inputs * c.Inputs
	return c
}

// Derive fills what is zero from what the model is, and says what was chosen.
func Derive(c Config, m *engine.Model) (Config, []string, error) {
	trained := m.Facts().TrainContext
	if c.MaxInput > trained && trained > 0 {
		return c, nil, fmt.Errorf("inputs of %d tokens are longer than the %d that the model reads; ask for at most that", c.MaxInput, trained)
	}
	said, err := m.Pooling()
	if err != nil {
		return c, nil, err
	}
	switch {
	case said == "" && c.Pooling == "":
		return c, nil, fmt.Errorf("the model's file does not say how the vector of an input is made (%s.pooling_type); say pooling: mean, cls or last in its entry of models.yaml", m.Facts().Architecture)
	case said != "" && c.Pooling != "" && said != c.Pooling:
		return c, nil, fmt.Errorf("the model's file says pooling %s, its entry of models.yaml %s; leave it out there", said, c.Pooling)
	}
	c.Pooling = cmp.Or(said, c.Pooling)
	asked := c.MaxInput > 0
	c = c.Sizes(trained)
	c.Queue = cmp.Or(c.Queue, usualQueue)
	var notes []string
	if !asked {
		notes = append(notes, fmt.Sprintf("inputs of up to %d tokens (the model was trained for %d)", c.MaxInput, trained))
	}
	return c, append(notes, fmt.Sprintf("pooling %s, %d tokens of %d inputs at once", c.Pooling, c.Batch, c.Inputs)), nil
}

func (c Config) options() engine.EmbeddingOptions {
	return engine.EmbeddingOptions{
		Pooling: c.Pooling, Tokens: c.Batch, Inputs: c.Inputs, MicroBatch: c.MicroBatch,
		Threads: c.Threads, Poll: c.Poll, FlashAttention: c.FlashAttention,
	}
}
