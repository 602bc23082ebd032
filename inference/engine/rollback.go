package engine

import (
	"errors"
	"fmt"

	"github.com/hybridgroup/yzma/pkg/llama"
)

// ErrRollback says that the engine cannot take tokens of this model back.
var ErrRollback = errors.New("this model's sequences cannot go back")

// checkRollback compares what was asked for with what the engine made of it: it
// drops the wish silently where it has no code for it.
func (c *Context) checkRollback() error {
	if c.opt.Rollback == 0 {
		return nil
	}
	if n := int(llama.NRsSeq(c.handle)); n != c.opt.Rollback {
		return fmt.Errorf("%w: %w: the engine keeps %d states of a sequence of %s, not %d", ErrLoad, ErrRollback, n, c.model.facts.Architecture, c.opt.Rollback)
	}
	c.history = make([]history, c.opt.Sequences)
	return nil
}

// history is what is known of the older states of a sequence.
type history struct {
	// rows of the last Decode that were its own: as many states less one are there.
	rows int
	// pending: it was rolled back and not computed since.
	pending bool
}

// computed takes note of a batch.
func (c *Context) computed(b *Batch) {
	if c.history == nil {
		return
	}
	for i := range b.n {
		c.history[*b.seq[i]] = history{}
	}
	for i := range b.n {
		c.history[*b.seq[i]].rows++
	}
}

// canRollBack refuses to take back all that the last Decode computed: the engine
// does so without the state that was there before.
func (c *Context) canRollBack(seq, from, to int) error {
	if c.history == nil || from <= 0 || to >= 0 {
		return nil
	}
	end, err := c.End(seq)
	if err != nil {
		return err
	}
	if back := end - from; back > 0 && back >= c.history[seq].rows {
		return fmt.Errorf("%w: sequence %d cannot go back %d tokens, the last call computed %d of them", ErrSequence, seq, back, c.history[seq].rows)
	}
	return nil
}

func (c *Context) rolledBack(seq int, pending bool) {
	if c.history != nil {
		c.history[seq] = history{pending: pending}
	}
}

// settle ends a pending roll-back before the sequence is copied, or copied to: the
// engine would copy the state that was taken back. Its own state, set onto itself,
// is the one rolled back to.
func (c *Context) settle(seq int) error {
	if c.history == nil || !c.history[seq].pending {
		return nil
	}
	state, err := c.State(nil, seq, StatePartial)
	if err == nil {
		err = c.SetState(state, seq, StatePartial)
	}
	if err != nil {
		return fmt.Errorf("end the roll-back of sequence %d: %w", seq, err)
	}
	return nil
}
