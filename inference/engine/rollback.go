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
	c.pending = make([]bool, c.opt.Sequences)
	return nil
}

// rolled takes note that a batch was computed: what it went on from is no longer
// pending.
func (c *Context) rolled(b *Batch) {
	if c.pending == nil {
		return
	}
	for i := range b.n {
		c.pending[*b.seq[i]] = false
	}
}

// settle ends a pending roll-back before the sequence is copied, or copied to: the
// engine would copy the state that was taken back. Its own state, set onto itself,
// is the one rolled back to.
func (c *Context) settle(seq int) error {
	if c.pending == nil || !c.pending[seq] {
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
