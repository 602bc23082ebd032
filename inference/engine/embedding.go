package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hybridgroup/yzma/pkg/llama"
)

// EmbeddingOptions shape an EmbeddingContext.
type EmbeddingOptions struct {
	Pooling Pooling
	// Tokens of one call together, and so of the longest input.
	Tokens int
	// Inputs of one call, at most 256.
	Inputs int
	// MicroBatch is the most tokens computed at once, where the model allows parts of
	// an input; 0 is Tokens.
	MicroBatch     int
	Threads, Poll  int
	FlashAttention FlashAttention
}

// EmbeddingContext computes the vectors of inputs. It belongs to one goroutine that
// is locked to its thread.
type EmbeddingContext struct {
	*Context
	batch *Batch
	size  int // numbers of an answer
	// stepwise models read an input in parts, and only its last token makes the vector.
	stepwise bool
}

// NewEmbeddingContext allocates what vectors are computed with. Models that read
// their input at once hold no cells.
func (m *Model) NewEmbeddingContext(opt EmbeddingOptions) (*EmbeddingContext, error) {
	o, err := m.embeddingShape(opt)
	if err != nil {
		return nil, fmt.Errorf("%w: embedding options: %w", ErrLoad, err)
	}
	p, err := o.c()
	if err != nil {
		return nil, fmt.Errorf("%w: embedding options: %w", ErrLoad, err)
	}
	p.Embeddings, p.PoolingType = 1, poolings[opt.Pooling]
	m.lib.log.takeProblems()
	handle, err := llama.InitFromModel(m.handle, p)
	if err != nil {
		return nil, fmt.Errorf("%w: make a context for embeddings of %d tokens: %s", ErrLoad, opt.Tokens, m.lib.log.takeProblems())
	}
	c := &Context{model: m, opt: o, handle: handle, outputs: make([]bool, o.Batch)}
	if c.memory, err = llama.GetMemory(handle); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: context memory: %w", ErrLoad, err), c.Close())
	}
	if err := c.attachThreads(); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: compute threads: %w", ErrLoad, err), c.Close())
	}
	e := &EmbeddingContext{Context: c, batch: c.NewBatch(), size: int(llama.ModelNEmbdOut(m.handle)), stepwise: m.stepwise(opt.Pooling)}
	if opt.Pooling == PoolingRank {
		e.size = m.Classes()
	}
	return e, nil
}

// embeddingShape checks the options and makes a context's of them.
func (m *Model) embeddingShape(opt EmbeddingOptions) (ContextOptions, error) {
	if _, ok := poolings[opt.Pooling]; !ok {
		return ContextOptions{}, fmt.Errorf("pooling %q, must be mean, cls, last or rank", opt.Pooling)
	}
	if opt.Pooling == PoolingRank && m.Classes() < 1 {
		return ContextOptions{}, errors.New("the model's file has no classes to rank by")
	}
	if m.facts.Encoder || !m.facts.Decoder {
		return ContextOptions{}, fmt.Errorf("architecture %s needs an encoder and a decoder, which is not supported", m.facts.Architecture)
	}
	if opt.Tokens < 1 || opt.Tokens > mostEmbeddingTokens {
		return ContextOptions{}, fmt.Errorf("tokens = %d, must be 1..%d", opt.Tokens, mostEmbeddingTokens)
	}
	if opt.Inputs < 1 || opt.Inputs > maxSequences {
		return ContextOptions{}, fmt.Errorf("inputs = %d, must be 1..%d", opt.Inputs, maxSequences)
	}
	// The engine lays out its graph for as many tokens of each input, and aborts where
	// that makes more of them than there may be outputs.
	batch := (opt.Tokens + opt.Inputs - 1) / opt.Inputs * opt.Inputs
	o := ContextOptions{
		Cells: batch, Sequences: opt.Inputs, Batch: batch,
		Threads: opt.Threads, Poll: opt.Poll, FlashAttention: opt.FlashAttention, Unified: true,
	}
	// Without parts, all of a call is computed at once, and each token is an output:
	// the engine aborts otherwise.
	o.MicroBatch, o.Outputs = o.Batch, o.Batch
	if m.stepwise(opt.Pooling) {
		o.Outputs = opt.Inputs
		if opt.MicroBatch > 0 {
			o.MicroBatch = min(o.Batch, max(opt.MicroBatch, opt.Inputs))
		}
	}
	return o, o.validate()
}

// mostEmbeddingTokens keeps sizes in the engine's range.
const mostEmbeddingTokens = 1 << 20

// Size is how many numbers each input gets.
func (e *EmbeddingContext) Size() int { return e.size }

// MaxInput is the longest input in tokens. Encoders have a vector for each place, and
// reading beyond them is not defined.
func (e *EmbeddingContext) MaxInput() int {
	if e.model.facts.TrainContext > 0 {
		return min(e.opt.Batch, e.model.facts.TrainContext)
	}
	return e.opt.Batch
}

// Embed computes the numbers of each input, as the model gives them: not brought to
// length 1. Refused with ErrBatch are what would abort the process or be computed
// otherwise than asked: no input, an empty one, more of them or more tokens than the
// context takes, one that is longer than the model reads, tokens out of range.
func (e *EmbeddingContext) Embed(inputs [][]Token) ([][]float32, error) {
	if err := e.checkInputs(inputs); err != nil {
		return nil, err
	}
	err := e.compute(inputs)
	var all [][]float32
	for i := range inputs {
		if err != nil {
			break
		}
		var v []float32
		v, err = e.vector(i)
		all = append(all, v)
	}
	return all, errors.Join(err, e.forget(len(inputs)))
}

func (e *EmbeddingContext) checkInputs(inputs [][]Token) error {
	if len(inputs) == 0 || len(inputs) > e.opt.Sequences {
		return fmt.Errorf("%w: %d inputs, must be 1..%d", ErrBatch, len(inputs), e.opt.Sequences)
	}
	total := 0
	for i, in := range inputs {
		if len(in) == 0 || len(in) > e.MaxInput() {
			return fmt.Errorf("%w: input %d has %d tokens, must be 1..%d", ErrBatch, i, len(in), e.MaxInput())
		}
		total += len(in)
	}
	if total > e.opt.Batch {
		return fmt.Errorf("%w: %d tokens, the context takes %d", ErrBatch, total, e.opt.Batch)
	}
	return nil
}

// compute reads the inputs. Of stepwise ones all but the last tokens are only read
// into the cache: a row of theirs would cost an output matrix over the vocabulary.
func (e *EmbeddingContext) compute(inputs [][]Token) error {
	e.batch.Reset()
	for i, in := range inputs {
		for pos, t := range in {
			if e.stepwise && pos == len(in)-1 {
				continue
			}
			if err := e.batch.Add(t, pos, i, !e.stepwise); err != nil {
				return err
			}
		}
	}
	if !e.stepwise {
		return e.Decode(e.batch)
	}
	if e.batch.Len() > 0 {
		llama.SetEmbeddings(e.handle, false)
		err := e.Decode(e.batch)
		llama.SetEmbeddings(e.handle, true)
		if err != nil {
			return err
		}
	}
	e.batch.Reset()
	for i, in := range inputs {
		if err := e.batch.Add(in[len(in)-1], len(in)-1, i, true); err != nil {
			return err
		}
	}
	return e.Decode(e.batch)
}

// vector copies the answer of an input.
func (e *EmbeddingContext) vector(input int) ([]float32, error) {
	v, err := llama.GetEmbeddingsSeq(e.handle, llama.SeqId(input), int32(e.size))
	if err != nil || v == nil {
		return nil, fmt.Errorf("%w: no vector for input %d", ErrDecode, input)
	}
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, fmt.Errorf("%w: the vector of input %d has a number that is none", ErrDecode, input)
		}
	}
	return slices.Clone(v), nil
}

// forget empties the sequences, where the model keeps any.
func (e *EmbeddingContext) forget(n int) (err error) {
	if e.memory == 0 {
		return nil
	}
	for i := range n {
		err = errors.Join(err, e.Remove(i, All, All))
	}
	return err
}

// Close frees the context.
func (e *EmbeddingContext) Close() error { return errors.Join(e.batch.Close(), e.Context.Close()) }
