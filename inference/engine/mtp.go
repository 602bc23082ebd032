package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/hybridgroup/yzma/pkg/llama"
)

// ErrMTP says that a model's own guesses of further tokens cannot be had.
var ErrMTP = errors.New("multi-token prediction")

// mtpArchitectures are those whose block for further tokens is known to work as
// MTPContext drives it: it has cells of its own, and reads a token with the hidden
// row of the place before it.
var mtpArchitectures = []string{"qwen35", "qwen35moe", "qwen3next"}

// CheckMTP refuses models whose blocks for further tokens cannot be driven. The
// engine aborts the process for more than one of them.
func (f Facts) CheckMTP() error {
	switch {
	case f.MTP == 0:
		return fmt.Errorf("%w: the model's file has no layers that predict further tokens", ErrMTP)
	case f.MTP > 1:
		return fmt.Errorf("%w: the model has %d layers that predict further tokens, the engine takes one", ErrMTP, f.MTP)
	case !slices.Contains(mtpArchitectures, f.Architecture):
		return fmt.Errorf("%w: how architecture %s predicts further tokens is not known", ErrMTP, f.Architecture)
	}
	return nil
}

// The calls for hidden rows are exported with their C++ names only.
const (
	setHiddenSymbol   = "_Z26llama_set_embeddings_nextnP13llama_contextbb"
	hiddenRowsSymbol  = "_Z26llama_get_embeddings_nextnP13llama_context"
	hiddenRowOfSymbol = "_Z30llama_get_embeddings_nextn_ithP13llama_contexti"
)

var hiddenCalls struct {
	once  sync.Once
	err   error
	set   func(ctx uintptr, value, masked bool)
	rows  func(ctx uintptr) unsafe.Pointer
	rowOf func(ctx uintptr, i int32) unsafe.Pointer
}

func bindHidden(dir string) error {
	b := &hiddenCalls
	b.once.Do(func() {
		var set, rows, rowOf uintptr
		if b.err = symbols(ErrMTP, filepath.Join(dir, "libllama.so"), map[string]*uintptr{
			setHiddenSymbol: &set, hiddenRowsSymbol: &rows, hiddenRowOfSymbol: &rowOf,
		}); b.err != nil {
			return
		}
		purego.RegisterFunc(&b.set, set)
		purego.RegisterFunc(&b.rows, rows)
		purego.RegisterFunc(&b.rowOf, rowOf)
	})
	return b.err
}

// KeepHidden makes Hidden available after each Decode from now on, for a host buffer
// of a row for each token of a batch.
func (c *Context) KeepHidden() error {
	if err := bindHidden(c.model.lib.dir); err != nil {
		return err
	}
	hiddenCalls.set(uintptr(c.handle), true, false)
	c.hidden = &hidden{width: int(llama.ModelNEmbdOut(c.model.handle))}
	return nil
}

// hidden is what is known of the hidden rows of the last batch.
type hidden struct {
	width   int
	rows    int
	ordered bool
}

// computed takes note of a batch. The engine keeps the rows in the order in which it
// computed them, and brings them into that of the batch only where all are outputs.
// The tokens of one sequence it computes in order.
func (h *hidden) computed(b *Batch) {
	if h == nil {
		return
	}
	h.rows, h.ordered = b.n, b.outputs == b.n
	if !h.ordered {
		h.ordered = true
		for i := range b.n {
			h.ordered = h.ordered && *b.seq[i] == *b.seq[0]
		}
	}
}

// Hidden are the values behind the last norm of row i of the last decoded batch,
// with logits or without; borrowed until the next Decode. It needs KeepHidden, and a
// batch of one sequence, or one in which each row has logits.
func (c *Context) Hidden(i int) ([]float32, error) {
	h := c.hidden
	switch {
	case h == nil:
		return nil, fmt.Errorf("%w: hidden rows are not kept", ErrMTP)
	case i < 0 || i >= h.rows:
		return nil, fmt.Errorf("%w: hidden row %d of %d", ErrBatch, i, h.rows)
	case !h.ordered:
		return nil, fmt.Errorf("%w: hidden rows of several sequences, not all with logits, have no known order", ErrBatch)
	}
	base := hiddenCalls.rows(uintptr(c.handle))
	if base == nil {
		return nil, fmt.Errorf("%w: the engine kept no hidden rows", ErrMTP)
	}
	return unsafe.Slice((*float32)(unsafe.Add(base, 4*i*h.width)), h.width), nil
}

// MTPContext computes the model's own guesses of further tokens. Its sequences have
// cells of their own, for the tokens that were read into them: places may be left out.
// It belongs to the goroutine of the context beside which it was made.
type MTPContext struct {
	*Context
	width int
}

// NewMTPContext makes it beside the model's main context, which keeps hidden rows
// from now on and must outlive it. The model must have been loaded with MTP. Rollback
// of the options must be 0: its sequences can go back anywhere.
func (m *Model) NewMTPContext(main *Context, opt ContextOptions) (*MTPContext, error) {
	if err := m.facts.CheckMTP(); err != nil {
		return nil, err
	}
	if !m.mtp {
		return nil, fmt.Errorf("%w: the model was loaded without the layers for it", ErrMTP)
	}
	opt.Rollback = 0
	if err := main.KeepHidden(); err != nil {
		return nil, err
	}
	opt.Threads, opt.Poll = main.opt.Threads, main.opt.Poll
	c, err := m.newContext(opt, main, llama.ContextTypeMTP)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMTP, err)
	}
	hiddenCalls.set(uintptr(c.handle), true, true)
	return &MTPContext{c, main.hidden.width}, nil
}

// MTPBatch collects rows for one Decode of an MTPContext.
type MTPBatch struct {
	*Batch
	rows llama.Batch // whose hidden rows the other borrows
	all  []float32
	each int
}

// NewBatch makes a batch of at most the context's Batch rows.
func (c *MTPContext) NewBatch() *MTPBatch {
	n := c.opt.Batch
	b := &MTPBatch{Batch: c.Context.NewBatch(), rows: llama.BatchInit(int32(n), int32(c.width), 1), each: c.width}
	b.all = unsafe.Slice(b.rows.Embd, n*c.width)
	b.c.Embd = b.rows.Embd // the engine's own call makes either tokens or rows
	return b
}

// Close frees the arrays.
func (b *MTPBatch) Close() error {
	b.c.Embd = nil
	return errors.Join(b.Batch.Close(), llama.BatchFree(b.rows))
}

// Add appends a row: a token at a position, and the hidden row of the place before,
// which is copied. output asks for logits, of the token behind the next, and for the
// hidden row to go on with.
func (b *MTPBatch) Add(token Token, hidden []float32, pos, seq int, output bool) error {
	if len(hidden) != b.each {
		return fmt.Errorf("%w: a hidden row of %d values, must be %d", ErrBatch, len(hidden), b.each)
	}
	i := b.n
	if err := b.Batch.Add(token, pos, seq, output); err != nil {
		return err
	}
	copy(b.all[i*b.each:], hidden)
	return nil
}

// Decode computes the batch, as Context.Decode.
func (c *MTPContext) Decode(b *MTPBatch) error { return c.Context.Decode(b.Batch) }

// Hidden is what row i of the last batch, which must have asked for logits, has
// instead of the main context's hidden row; borrowed until the next Decode.
func (c *MTPContext) Hidden(i int) ([]float32, error) {
	if i < 0 || i >= len(c.outputs) || !c.outputs[i] {
		return nil, fmt.Errorf("%w: row %d has no hidden row", ErrBatch, i)
	}
	row := hiddenCalls.rowOf(uintptr(c.handle), int32(i))
	if row == nil {
		return nil, fmt.Errorf("%w: no hidden row %d", ErrMTP, i)
	}
	return unsafe.Slice((*float32)(row), c.width), nil
}

// Width of a hidden row.
func (c *MTPContext) Width() int { return c.width }
