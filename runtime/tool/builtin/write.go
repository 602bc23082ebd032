package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"dure/runtime/tool"
)

//go:embed write.md
var writeText string

// Write makes a file, or replaces one that the agent has read. It replaces no other,
// since nobody can mean to throw away what he has not seen.
type Write struct{ Box Box }

// Spec implements tool.Tool.
func (Write) Spec() tool.Spec {
	return tool.Spec{Name: "write", Description: strings.TrimSpace(writeText), Again: true, Fields: []tool.Field{
		pathField("the file, from the workspace, as src/main.go"),
		{Name: "content", Description: "all that is to be in the file", Required: true, Also: []string{"contents", "text", "file_text"}},
	}}
}

// Run implements tool.Tool.
func (t Write) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	args, err := t.Spec().Parse(call.Arguments)
	if err != nil {
		return invalid("%v", err), nil
	}
	f, err := named(args["path"])
	if err != nil {
		return invalid("%v", err), nil
	}
	content, note := bare(f, args["content"])
	word, a, err := put(ctx, t.Box, f, []byte(content), "read")
	if err != nil {
		return tool.Result{}, fmt.Errorf("write %s: %w", f.shown, err)
	}
	size := fmt.Sprintf("%s, %d bytes", counted(len(splitLines(content)), "line"), len(content))
	switch {
	case a.status != 0:
		return a.failure("writing " + f.shown), nil
	case word == "new":
		return done("made %s: %s%s", f.shown, size, note), nil
	case word == "changed":
		return done("replaced %s: %s now%s", f.shown, size, note), nil
	case word == "same":
		return done("%s has this content already: %s", f.shown, size), nil
	}
	return notWritten(f, word), nil
}

// notWritten is the answer where put did nothing.
func notWritten(f file, word string) tool.Result {
	switch word {
	case "unread":
		return failed("not written: %s exists and you have not read it; read it first, then change it with edit, or write it again", f.shown)
	case "stale":
		return failed("not written: %s is not as you read it last, something else has changed it; read it again first", f.shown)
	case "folder":
		return failed("not written: %s is a folder; name a file", f.shown)
	}
	return failed("not written: %s is no ordinary file but a pipe, socket or device", f.shown)
}

// prose are endings of files in which a fence of Markdown may be meant.
var prose = []string{".md", ".markdown", ".mdx", ".qmd", ".rst", ".adoc", ".txt"}

// bare is the content of a file without what models put around it out of habit, and
// what to tell of it. No program or data begins with a fence of Markdown and ends with
// one; a backslash and an n may be meant, so they stay and are told of.
func bare(f file, content string) (string, string) {
	note := ""
	name := strings.ToLower(path.Base(f.shown))
	if !slices.Contains(prose, path.Ext(name)) && !strings.HasPrefix(name, "readme") {
		if inner := tool.Unfence(content); inner != content {
			content, note = inner, "\n[the lines of ``` around the content were left out]"
		}
	}
	if n := strings.Count(content, `\n`); n > 1 && !strings.Contains(strings.TrimSpace(content), "\n") {
		note += fmt.Sprintf("\n[the content is one line in which a backslash and an n stand %d times, and was written so; if line breaks were meant, write it again with those]", n)
	}
	return content, note
}
