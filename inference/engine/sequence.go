package engine

import (
	"errors"
	"fmt"

	"github.com/hybridgroup/yzma/pkg/llama"
)

var (
	// ErrSequence is wrapped by every sequence operation refused before it
	// reaches the engine.
	ErrSequence = errors.New("invalid sequence operation")
	// ErrState is wrapped by failures to read or write a sequence's state.
	ErrState = errors.New("sequence state")
)

// All names an open end of a position range.
const All = -1

func (c *Context) checkSeq(seq int) error {
	if seq < 0 || seq >= c.opt.Sequences {
		return fmt.Errorf("%w: sequence %d, must be 0..%d", ErrSequence, seq, c.opt.Sequences-1)
	}
	return nil
}

// Remove drops positions [from, to) of a sequence; All leaves an end open. It
// fails, and changes nothing, where the model cannot drop part of a sequence
// (recurrent state has no history, or one of Rollback tokens, of which each Decode
// makes a new one).
func (c *Context) Remove(seq, from, to int) error {
	if err := c.checkSeq(seq); err != nil {
		return err
	}
	if err := c.canRollBack(seq, from, to); err != nil {
		return err
	}
	ok, err := llama.MemorySeqRm(c.memory, llama.SeqId(seq), llama.Pos(from), llama.Pos(to))
	if err != nil {
		return fmt.Errorf("remove [%d,%d) of sequence %d: %w", from, to, seq, err)
	}
	if !ok {
		return fmt.Errorf("%w: this model cannot drop positions [%d,%d) of sequence %d", ErrSequence, from, to, seq)
	}
	c.rolledBack(seq, from > 0)
	return nil
}

// Copy makes dst hold positions [from, to) of src. Separate (not unified) pools
// copy whole sequences only, and abort the process otherwise: refused here. On
// recurrent and hybrid models the recurrent state copied is src's end whatever
// the range, so a partial range needs a state set afterwards.
func (c *Context) Copy(src, dst, from, to int) error {
	if err := errors.Join(c.checkSeq(src), c.checkSeq(dst)); err != nil {
		return err
	}
	whole := from <= 0 && to < 0
	if !whole && !c.opt.Unified {
		return fmt.Errorf("%w: copy of [%d,%d): separate pools copy whole sequences only", ErrSequence, from, to)
	}
	if err := errors.Join(c.settle(src), c.settle(dst)); err != nil {
		return err
	}
	err := llama.MemorySeqCp(c.memory, llama.SeqId(src), llama.SeqId(dst), llama.Pos(from), llama.Pos(to))
	if err != nil {
		return fmt.Errorf("copy sequence %d to %d: %w", src, dst, err)
	}
	return nil
}

// End is the position after the last token of a sequence; 0 for an empty one.
func (c *Context) End(seq int) (int, error) {
	if err := c.checkSeq(seq); err != nil {
		return 0, err
	}
	p, err := llama.MemorySeqPosMax(c.memory, llama.SeqId(seq))
	if err != nil {
		return 0, fmt.Errorf("end of sequence %d: %w", seq, err)
	}
	return int(p) + 1, nil
}

// StateFlags choose what of a sequence's state is moved.
type StateFlags uint32

const (
	// StateWhole moves KV cells and recurrent state.
	StateWhole StateFlags = 0
	// StatePartial moves only the recurrent part (and sliding-window cells).
	StatePartial StateFlags = 1
)

// State appends the state bytes of a sequence to dst. Their layout is
// llama.cpp's and holds for this release and these context options only.
func (c *Context) State(dst []byte, seq int, flags StateFlags) ([]byte, error) {
	if err := c.checkSeq(seq); err != nil {
		return dst, err
	}
	size := llama.StateSeqGetSizeExt(c.handle, llama.SeqId(seq), uint32(flags))
	start := len(dst)
	dst = append(dst, make([]byte, size)...)
	n := llama.StateSeqGetDataExt(c.handle, dst[start:], llama.SeqId(seq), uint32(flags))
	if n != size {
		return dst[:start], fmt.Errorf("%w: read sequence %d: got %d of %d bytes", ErrState, seq, n, size)
	}
	return dst, nil
}

// SetState replaces the state of a sequence by bytes that State returned. After
// an error the sequence is empty: the engine itself can leave part of a refused
// blob behind, or all of it. It takes bytes of another model of the same shape,
// and some that are cut short: check them before (kvcache/blob).
func (c *Context) SetState(src []byte, seq int, flags StateFlags) error {
	if err := c.checkSeq(seq); err != nil {
		return err
	}
	if len(src) == 0 {
		return fmt.Errorf("%w: no bytes for sequence %d", ErrState, seq)
	}
	if n := llama.StateSeqSetDataExt(c.handle, src, llama.SeqId(seq), uint32(flags)); n == 0 {
		err := fmt.Errorf("%w: the engine refused %d bytes for sequence %d: %s", ErrState, len(src), seq, c.model.lib.log.takeProblems())
		return errors.Join(err, c.Remove(seq, All, All))
	}
	c.rolledBack(seq, false)
	return nil
}
