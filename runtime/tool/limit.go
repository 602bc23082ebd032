package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Within stops a tool that takes longer than a time.
func Within(d time.Duration, t Tool) Tool { return within{t, d} }

type within struct {
	Tool
	limit time.Duration
}

func (w within) Run(ctx context.Context, call Call) (Result, error) {
	inner, cancel := context.WithTimeoutCause(ctx, w.limit, errLate)
	defer cancel()
	r, err := w.Tool.Run(inner, call)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(inner), errLate) {
		r.Outcome = TimedOut
		r.Output = strings.TrimLeft(r.Output+fmt.Sprintf("\n[stopped after %v, the most that %s may take]", w.limit, call.Tool), "\n")
		r.Bytes = max(r.Bytes, int64(len(r.Output)))
		return r, nil
	}
	return r, err
}

var errLate = errors.New("the tool took too long")

// Keeper keeps outputs that are too large for an agent's context, and says by what
// name the agent can read them.
type Keeper interface {
	Keep(ctx context.Context, call Call, output string) (name string, err error)
}

// Short cuts outputs to a number of bytes: the head and the tail stay, with a line
// between that says how much is missing and where the whole is. keep may be nil.
func Short(limit int, keep Keeper, t Tool) Tool { return short{t, limit, keep} }

type short struct {
	Tool
	limit int
	keep  Keeper
}

func (s short) Run(ctx context.Context, call Call) (Result, error) {
	r, err := s.Tool.Run(ctx, call)
	if err != nil {
		return r, err
	}
	r.Bytes = max(r.Bytes, int64(len(r.Output)))
	if len(r.Output) <= s.limit {
		return r, nil
	}
	where := ""
	if s.keep != nil {
		name, err := s.keep.Keep(ctx, call, r.Output)
		if err != nil {
			where = fmt.Sprintf("; it could not be kept: %v", err)
		} else {
			where = "; all of it is in " + name
		}
	}
	r.Output = cut(r.Output, s.limit, where)
	return r, nil
}

// cut leaves whole characters, two thirds of them at the head: errors are mostly at
// the end, and what was asked for at the beginning.
func cut(output string, limit int, where string) string {
	head := limit * 2 / 3
	for head > 0 && !utf8.RuneStart(output[head]) {
		head--
	}
	tail := len(output) - (limit - limit*2/3)
	for tail < len(output) && !utf8.RuneStart(output[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[%d bytes left out here%s]\n%s", output[:head], tail-head, where, output[tail:])
}
