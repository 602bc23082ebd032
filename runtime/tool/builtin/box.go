package builtin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"

	"dure/runtime/sandbox"
	"dure/runtime/tool"
)

// Box is where commands run: a sandbox.Box.
type Box interface {
	Run(ctx context.Context, c sandbox.Cmd) (sandbox.Result, error)
}

// The file tools work by small scripts of sh and the system's own programs, which run
// inside the box as the agent's commands do: from outside, a tree that its owner may
// change at any moment cannot be walked safely, and a program of our own would take
// longer to start than cat does. A name is an argument and content is standard input,
// so that nothing of either is ever read as a command.

// Bounds of the file tools.
const (
	maxFile   = 4 << 20  // bytes of a file that can be edited
	maxShown  = 24 << 10 // bytes of a file or of matches in one answer
	fileTime  = time.Minute
	workspace = "/work" // as agents know it; commands begin there
)

// answer is what a script answered.
type answer struct {
	out    []byte
	status int
	words  string // what it said of failures, for the agent
	late   bool
}

// script runs one of our scripts. Its arguments are "$1", "$2", ...
func script(ctx context.Context, box Box, stdin []byte, limit int64, text string, args ...string) (answer, error) {
	var out, errs bytes.Buffer
	c := sandbox.Cmd{
		Args: append([]string{"sh", "-c", text, "sh"}, args...), Env: []string{"LC_ALL=C.UTF-8"},
		Stdout: &out, Stderr: &head{to: &errs}, OutputCap: limit, Timeout: fileTime,
	}
	if stdin != nil {
		c.Stdin = bytes.NewReader(stdin)
	}
	r, err := box.Run(ctx, c)
	switch {
	case err != nil:
		return answer{}, err
	case ctx.Err() != nil:
		return answer{}, ctx.Err()
	}
	a := answer{out: out.Bytes(), status: r.Code, words: strings.TrimSpace(strings.ToValidUTF8(errs.String(), "\uFFFD"))}
	if r.Ended != sandbox.EndedItself {
		a.status, a.late = -1, r.Ended == sandbox.EndedTimeout
		a.words = strings.TrimSpace(a.words + ending(r))
	}
	return a, nil
}

// head keeps the first bytes of what is written: a script says why it failed at once.
type head struct{ to *bytes.Buffer }

func (t *head) Write(p []byte) (int, error) {
	const most = 2 << 10
	t.to.Write(p[:min(len(p), max(0, most-t.to.Len()))])
	return len(p), nil
}

// failure is what the agent is told of a script that did not work.
func (a answer) failure(what string) tool.Result {
	if a.late {
		return failed("%s took more than %v and was stopped: is it an ordinary file of a reasonable size?", what, fileTime)
	}
	words := a.words
	if words == "" {
		words = fmt.Sprintf("exit status %d", a.status)
	}
	return failed("%s failed: %s", what, words)
}

func failed(format string, args ...any) tool.Result {
	return tool.Result{Outcome: tool.Failed, Output: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) tool.Result {
	return tool.Result{Outcome: tool.Invalid, Output: fmt.Sprintf(format, args...)}
}

func done(format string, args ...any) tool.Result {
	return tool.Result{Outcome: tool.Done, Output: fmt.Sprintf(format, args...)}
}

// file is a name of a file, as scripts and agents know it.
type file struct {
	arg   string // for programs: never taken for an option
	shown string // for the agent: from the workspace, where it lies in it
}

// key names the file in the box's own notes.
func (f file) key() string {
	sum := sha256.Sum256([]byte(f.arg))
	return hex.EncodeToString(sum[:16])
}

// named is the file that an agent names, or why that is none.
func named(name string) (file, error) {
	name = strings.TrimSpace(name)
	switch {
	case name == "":
		return file{}, fmt.Errorf("path is empty; name a file, as src/main.go, or . for the whole folder")
	case len(name) > 4000:
		return file{}, fmt.Errorf("path has %d bytes; 4000 at most", len(name))
	case strings.ContainsFunc(name, unicode.IsControl):
		return file{}, fmt.Errorf("path %q has a control character in it; use shell for such files", name)
	case name == "~" || strings.HasPrefix(name, "~/"):
		return file{}, fmt.Errorf("path %q: ~ means nothing here; use a path in %s", name, workspace)
	}
	if !path.IsAbs(name) {
		name = path.Join(workspace, name)
	}
	name = path.Clean(name)
	if name == workspace {
		return file{".", "."}, nil
	}
	if rest, ok := strings.CutPrefix(name, workspace+"/"); ok {
		return file{"./" + rest, rest}, nil
	}
	return file{name, name}, nil
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
