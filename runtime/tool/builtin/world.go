package builtin

import (
	"errors"
	"fmt"
	"strings"

	"dure/runtime/tool"
)

// What follows tools that reach beyond the box: each states the part of the world that
// it needs as an interface of its own. The key that their methods get is the same for
// the same call, also when a process died and the call is made again: with a key that
// was there before, nothing is done a second time and the answer is what it was.

// A Refusal is an error whose text is for the agent: what it asked for is not done, and
// why. All other errors of the world mean that it is broken, and end the agent's run
// until it is started again.
type Refusal struct{ Why string }

func (r *Refusal) Error() string { return r.Why }

// Refuse makes a Refusal. Its text says what the agent can do instead.
func Refuse(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// key is the same for the same call, and differs from that of all others.
func key(call tool.Call) string { return call.Agent + "/" + call.ID }

// answered is what the agent is told of what the world said.
func answered(call tool.Call, r tool.Result, err error) (tool.Result, error) {
	var no *Refusal
	switch {
	case errors.As(err, &no):
		return failed("%s", no.Why), nil
	case err != nil:
		return tool.Result{}, fmt.Errorf("%s: %w", call.Tool, err)
	}
	return r, nil
}

// said is an argument that must say something, in so many bytes at most.
func said(args tool.Arguments, name string, most int) (string, error) {
	text := strings.TrimSpace(args[name])
	switch {
	case text == "":
		return "", fmt.Errorf("%s is empty; say something in it", name)
	case len(text) > most:
		return "", fmt.Errorf("%s has %d bytes; %d at most: make it shorter", name, len(text), most)
	}
	return text, nil
}
