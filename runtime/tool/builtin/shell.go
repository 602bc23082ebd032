package builtin

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"strings"

	"dure/runtime/sandbox"
	"dure/runtime/tool"
)

//go:embed shell.md
var shellText string

//go:embed shell_connected.md
var connectedText string

// maxShellOutput is what of a command's output is kept at all; package tool's Short
// makes less of it for the agent.
const maxShellOutput = 1 << 20

// maxCommand is what the kernel takes as one argument, less our own words.
const maxCommand = 120 << 10

// Shell runs commands in an agent's box.
type Shell struct {
	Box Box
	// Connected: there are sql, and git with the team's repository.
	Connected bool
}

// Spec implements tool.Tool.
func (s Shell) Spec() tool.Spec {
	text := strings.TrimSpace(shellText)
	if s.Connected {
		text += "\n" + strings.TrimSpace(connectedText)
	}
	return tool.Spec{Name: "shell", Description: text, Fields: []tool.Field{
		{Name: "command", Description: "the command, as for sh -c", Required: true}}}
}

// Run implements tool.Tool.
func (s Shell) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	args, err := s.Spec().Parse(call.Arguments)
	if err != nil {
		return tool.Result{Outcome: tool.Invalid, Output: err.Error()}, nil
	}
	if n := len(args["command"]); n > maxCommand || strings.ContainsRune(args["command"], 0) {
		return tool.Result{Outcome: tool.Invalid, Output: fmt.Sprintf("a command of %d bytes; it may have %d and no NUL: write a script to a file and run that", n, maxCommand)}, nil
	}
	var out bytes.Buffer
	// Errors and output come through one pipe, so that they stay in their order.
	script := "exec 2>&1\n" + args["command"]
	r, err := s.Box.Run(ctx, sandbox.Cmd{Args: []string{"sh", "-c", script}, Stdout: &out, Stderr: &out, OutputCap: maxShellOutput})
	if err != nil {
		return tool.Result{Output: out.String()}, fmt.Errorf("shell: %w", err)
	}
	if ctx.Err() != nil {
		return tool.Result{Output: out.String()}, ctx.Err()
	}
	return Ended(out.String(), r), nil
}

// Ended is what the agent is told of a command that has ended: what it printed, and how
// it ended where that is not by itself and well.
func Ended(output string, r sandbox.Result) tool.Result {
	return tool.Result{Outcome: outcome(r), Output: strings.TrimLeft(output+ending(r), "\n"), Bytes: r.Stdout + r.Stderr}
}

func outcome(r sandbox.Result) tool.Outcome {
	if r.Ended == sandbox.EndedItself && r.Code == 0 {
		return tool.Done
	}
	return tool.Failed
}

// ending is what the agent is told of the end of a command, beside its output.
func ending(r sandbox.Result) string {
	var lines []string
	switch {
	case r.Ended == sandbox.EndedBySignal:
		lines = append(lines, fmt.Sprintf("[ended by the signal %v]", r.Signal))
	case r.Ended != sandbox.EndedItself:
		lines = append(lines, fmt.Sprintf("[ended by the limit: %s]", r.Ended))
	case r.Code != 0:
		lines = append(lines, fmt.Sprintf("[exit status %d]", r.Code))
	case r.Stdout+r.Stderr == 0:
		lines = append(lines, "[no output]")
	}
	if r.Dropped > 0 {
		lines = append(lines, fmt.Sprintf("[%d bytes more were written and are lost; write them to a file]", r.Dropped))
	}
	if r.Strays {
		lines = append(lines, "[programs left running in the background were ended]")
	}
	if r.OutOfMemory > 0 {
		lines = append(lines, fmt.Sprintf("[%d programs were ended for want of memory]", r.OutOfMemory))
	}
	if len(lines) == 0 {
		return ""
	}
	return "\n" + strings.Join(lines, "\n")
}
