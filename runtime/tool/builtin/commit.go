package builtin

import (
	"context"
	_ "embed"
	"strings"

	"dure/runtime/tool"
)

//go:embed commit.md
var commitText string

// A Committer puts what an agent's box changed onto the agent's own branch.
type Committer interface {
	// Commit makes one commit of all that is not committed: its id, and how many files
	// are in it. Where nothing is left to commit, files is 0 and id is the branch as it
	// stands.
	Commit(ctx context.Context, key, message string) (id string, files int, err error)
}

// Commit keeps what an agent has done so far.
type Commit struct{ To Committer }

// maxMessage is in bytes.
const maxMessage = 8 << 10

// Spec implements tool.Tool.
func (Commit) Spec() tool.Spec {
	return tool.Spec{Name: "commit", Description: strings.TrimSpace(commitText), Again: true, Fields: []tool.Field{
		{Name: "message", Description: "what was changed, and why, as in git", Required: true, Also: []string{"msg", "text", "summary"}}}}
}

// Run implements tool.Tool.
func (t Commit) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	args, err := t.Spec().Parse(call.Arguments)
	if err != nil {
		return invalid("%v", err), nil
	}
	message, err := said(args, "message", maxMessage)
	if err != nil {
		return invalid("%v", err), nil
	}
	id, files, err := t.To.Commit(ctx, key(call), message)
	r := done("committed %s as %.12s", counted(files, "file"), id)
	if files == 0 {
		r = done("nothing has changed since the last commit, %.12s", id)
	}
	return answered(call, r, err)
}
