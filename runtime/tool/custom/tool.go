package custom

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"dure/runtime/sandbox"
	"dure/runtime/tool"
	"dure/runtime/tool/builtin"
)

// maxArguments bytes are what a command takes: its variables travel with it in one
// message.
const maxArguments = 64 << 10

// maxOutput is what of a command's output is kept at all.
const maxOutput = 1 << 20

// custom is a described tool in a box.
type custom struct {
	spec    tool.Spec
	command string
	box     builtin.Box
}

// New makes tools of descriptions that Decode has read, in their order.
func New(specs []Spec, box builtin.Box) ([]tool.Tool, error) {
	tools := make([]tool.Tool, len(specs))
	for i, s := range specs {
		spec, err := s.spec()
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", s.Name, err)
		}
		tools[i] = custom{spec, s.Command, box}
	}
	return tools, nil
}

// Spec implements tool.Tool.
func (c custom) Spec() tool.Spec { return c.spec }

// Run implements tool.Tool.
func (c custom) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	args, err := c.spec.Parse(call.Arguments)
	if err != nil {
		return tool.Result{Outcome: tool.Invalid, Output: err.Error()}, nil
	}
	input := c.spec.Format(args)
	if len(input) > maxArguments {
		return tool.Result{Outcome: tool.Invalid, Output: fmt.Sprintf("arguments of %d bytes; %s takes %d at most: write what is long to a file, and give its name", len(input), c.spec.Name, maxArguments)}, nil
	}
	env := make([]string, 0, len(args))
	for _, f := range c.spec.Fields {
		value, ok := args[f.Name]
		if strings.ContainsRune(value, 0) {
			return tool.Result{Outcome: tool.Invalid, Output: fmt.Sprintf("argument %q of %s has a NUL in it, which no command can take", f.Name, c.spec.Name)}, nil
		}
		if ok {
			env = append(env, "DURE_ARG_"+strings.ToUpper(f.Name)+"="+value)
		}
	}
	var out bytes.Buffer
	r, err := c.box.Run(ctx, sandbox.Cmd{
		// Errors and output come through one pipe, so that they stay in their order.
		Args: []string{"sh", "-c", "exec 2>&1\n" + c.command}, Env: env, Stdin: strings.NewReader(input + "\n"),
		Stdout: &out, Stderr: &out, OutputCap: maxOutput,
	})
	if err != nil {
		return tool.Result{Output: out.String()}, fmt.Errorf("%s: %w", c.spec.Name, err)
	}
	if ctx.Err() != nil {
		return tool.Result{Output: out.String()}, ctx.Err()
	}
	return builtin.Ended(out.String(), r), nil
}

// quoted is a text as JSON.
func quoted(text string) []byte {
	b, err := json.Marshal(text)
	if err != nil {
		return []byte(`""`) // of a text it always succeeds
	}
	return b
}
