package engine

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/hybridgroup/yzma/pkg/llama"
)

var (
	// ErrPoolFull: the KV cache has no room for the batch. Nothing changed; the
	// context is usable and another batch may fit.
	ErrPoolFull = errors.New("kv cache is full")
	// ErrBatch is wrapped by every batch refused before it reaches the engine.
	ErrBatch = errors.New("invalid batch")
	// ErrDecode is wrapped by every failure inside the engine.
	ErrDecode = errors.New("decode failed")
)

// Batch collects rows for one Decode. Its arrays live on the C heap, sized once.
// It belongs to the goroutine that owns the context.
type Batch struct {
	c       llama.Batch
	tokens  []llama.Token
	pos     []llama.Pos
	nSeq    []int32
	seq     []*llama.SeqId
	logits  []int8
	n       int
	outputs int
}

// NewBatch makes a batch of at most the context's Batch rows.
func (c *Context) NewBatch() *Batch {
	n := c.opt.Batch
	b := &Batch{c: llama.BatchInit(int32(n), 0, 1)}
	b.tokens = unsafe.Slice(b.c.Token, n)
	b.pos = unsafe.Slice(b.c.Pos, n)
	b.nSeq = unsafe.Slice(b.c.NSeqId, n)
	b.seq = unsafe.Slice(b.c.SeqId, n)
	b.logits = unsafe.Slice(b.c.Logits, n)
	return b
}

// Close frees the arrays.
func (b *Batch) Close() error { return llama.BatchFree(b.c) }

// Reset empties the batch.
func (b *Batch) Reset() { b.n, b.outputs = 0, 0 }

// Len is the number of rows.
func (b *Batch) Len() int { return b.n }

// Add appends a row: token at position pos of sequence seq; output asks for its
// logits. It reports ErrBatch when the batch is full.
func (b *Batch) Add(token Token, pos, seq int, output bool) error {
	if b.n == len(b.tokens) {
		return fmt.Errorf("%w: more than %d rows", ErrBatch, len(b.tokens))
	}
	i := b.n
	b.tokens[i] = llama.Token(token)
	b.pos[i] = llama.Pos(pos)
	b.nSeq[i] = 1
	*b.seq[i] = llama.SeqId(seq)
	b.logits[i] = int8(boolByte(output))
	b.outputs += int(b.logits[i])
	b.n++
	return nil
}

// Decode computes the batch. ErrPoolFull leaves everything as it was. It
// refuses with ErrBatch what would abort the process or silently do something
// else: no rows, more rows than the context's batch, more outputs than it has
// room for, sequence ids or tokens out of range, negative positions.
func (c *Context) Decode(b *Batch) error {
	if err := c.check(b); err != nil {
		return err
	}
	b.c.NTokens = int32(b.n)
	before := threadCPU()
	rc, err := llama.Decode(c.handle, b.c)
	if err == nil && rc == 0 && b.outputs > 0 {
		err = llama.Synchronize(c.handle) // cards compute on; the logits are wanted at once
	}
	c.cpu += threadCPU() - before
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDecode, err)
	}
	switch rc {
	case 0:
		for i := range c.outputs {
			c.outputs[i] = i < b.n && b.logits[i] != 0
		}
		c.computed(b)
		c.hidden.computed(b)
		return nil
	case 1:
		return ErrPoolFull
	default:
		return fmt.Errorf("%w: code %d for %d rows: %s", ErrDecode, rc, b.n, c.model.lib.log.takeProblems())
	}
}

func (c *Context) check(b *Batch) error {
	switch {
	case b.n == 0:
		return fmt.Errorf("%w: no rows", ErrBatch)
	case b.n > c.opt.Batch:
		return fmt.Errorf("%w: %d rows, the context takes %d", ErrBatch, b.n, c.opt.Batch)
	case b.outputs > c.opt.Outputs:
		return fmt.Errorf("%w: %d outputs, the context takes %d", ErrBatch, b.outputs, c.opt.Outputs)
	}
	vocabulary := llama.Token(c.model.facts.Vocabulary)
	for i := range b.n {
		switch {
		case int(*b.seq[i]) < 0 || int(*b.seq[i]) >= c.opt.Sequences:
			return fmt.Errorf("%w: row %d: sequence %d, must be 0..%d", ErrBatch, i, *b.seq[i], c.opt.Sequences-1)
		case b.tokens[i] < 0 || b.tokens[i] >= vocabulary:
			return fmt.Errorf("%w: row %d: token %d, must be 0..%d", ErrBatch, i, b.tokens[i], vocabulary-1)
		case b.pos[i] < 0:
			return fmt.Errorf("%w: row %d: position %d", ErrBatch, i, b.pos[i])
		}
	}
	return nil
}

// Logits of row i of the last decoded batch: one float per vocabulary token,
// borrowed until the next Decode. A row that asked for no output has none.
func (c *Context) Logits(i int) ([]float32, error) {
	if i < 0 || i >= len(c.outputs) || !c.outputs[i] {
		return nil, fmt.Errorf("%w: row %d has no logits", ErrBatch, i)
	}
	row, err := llama.GetLogitsIth(c.handle, int32(i), c.model.facts.Vocabulary)
	if err != nil || row == nil {
		return nil, fmt.Errorf("%w: no logits for row %d", ErrDecode, i)
	}
	return row, nil
}
