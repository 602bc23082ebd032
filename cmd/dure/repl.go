package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"
)

// repl reads lines from the terminal until the user leaves. Lines are edited
// with the terminal in raw mode; while an answer streams it is in its usual
// mode, so that Ctrl-C is a signal.
func repl(ctx context.Context, c *chat, historyFile string) error {
	in := newLineReader(os.Stdin, os.Stdout, historyFile)
	defer in.close()
	for ctx.Err() == nil {
		text, err := in.readText()
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(c.out)
			return nil
		}
		if err != nil {
			return err
		}
		leave, err := respond(ctx, c, text)
		switch {
		case errors.Is(err, context.Canceled) && ctx.Err() == nil:
			fmt.Fprintln(os.Stderr, "[stopped]")
		case err != nil:
			fmt.Fprintln(os.Stderr, "error: "+err.Error())
		}
		if leave {
			return nil
		}
	}
	return ctx.Err()
}

func respond(ctx context.Context, c *chat, text string) (leave bool, err error) {
	switch {
	case strings.TrimSpace(text) == "":
		return false, nil
	case strings.HasPrefix(text, "/") && !strings.Contains(text, "\n"):
		return c.command(ctx, strings.TrimSpace(text))
	default:
		return false, c.ask(ctx, text)
	}
}

const (
	promptFirst = ">>> "
	promptMore  = "... "
	fence       = `"""`
)

// lineReader edits lines with history.
type lineReader struct {
	fd   int
	term *term.Terminal
	hist *history
}

func newLineReader(in *os.File, out io.Writer, historyFile string) *lineReader {
	hist := openHistory(historyFile)
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{clearOnInterrupt{in}, out}, promptFirst)
	t.History = hist
	return &lineReader{fd: int(in.Fd()), term: t, hist: hist}
}

// clearOnInterrupt turns Ctrl-C into "end of line, delete to its start": the
// line editor would take it for the end of input.
type clearOnInterrupt struct{ io.Reader }

func (r clearOnInterrupt) Read(b []byte) (int, error) {
	const ctrlC, ctrlU = 0x03, 0x15
	n, err := r.Reader.Read(b)
	for i := range b[:n] {
		if b[i] == ctrlC {
			b[i] = ctrlU
		}
	}
	return n, err
}

// readText reads one entry: a line, lines joined by trailing backslashes, a
// pasted block, or a block between lines of three quotes.
func (r *lineReader) readText() (string, error) {
	saved, err := term.MakeRaw(r.fd)
	if err != nil {
		return "", fmt.Errorf("terminal: %w", err)
	}
	defer term.Restore(r.fd, saved)
	if w, h, err := term.GetSize(r.fd); err == nil && w > 0 {
		r.term.SetSize(w, h)
	}
	r.term.SetBracketedPasteMode(true)
	defer r.term.SetBracketedPasteMode(false)
	r.term.SetPrompt(promptFirst)
	return gather(func() (string, bool, error) {
		line, err := r.term.ReadLine()
		pasted := errors.Is(err, term.ErrPasteIndicator)
		if pasted {
			err = nil
		}
		r.term.SetPrompt(promptMore)
		return line, pasted, err
	})
}

// gather joins lines from next into one entry. next reports whether the line
// was pasted: then more of the paste follows.
func gather(next func() (line string, pasted bool, err error)) (string, error) {
	var lines []string
	fenced := false
	for {
		line, pasted, err := next()
		if err != nil {
			return "", err
		}
		switch {
		case !fenced && len(lines) == 0 && strings.HasPrefix(strings.TrimSpace(line), fence):
			fenced = true
			line = strings.TrimPrefix(strings.TrimSpace(line), fence)
			if end, closed := strings.CutSuffix(line, fence); closed {
				return end, nil
			}
			if line != "" {
				lines = append(lines, line)
			}
		case fenced:
			if end, closed := strings.CutSuffix(strings.TrimRight(line, " \t"), fence); closed {
				if end != "" {
					lines = append(lines, end)
				}
				return strings.Join(lines, "\n"), nil
			}
			lines = append(lines, line)
		case strings.HasSuffix(line, `\`):
			lines = append(lines, strings.TrimSuffix(line, `\`))
		default:
			lines = append(lines, line)
			if !pasted {
				return strings.Join(lines, "\n"), nil
			}
		}
	}
}

func (r *lineReader) close() { r.hist.close() }

// maxHistory lines are kept.
const maxHistory = 1000

// history keeps what was typed, newest first for the terminal, in a file that
// only its user can read. A file that cannot be written costs only the memory
// of it.
type history struct {
	lines []string // oldest first
	file  *os.File
}

func openHistory(path string) *history {
	h := &history{}
	data, err := os.ReadFile(path)
	if err == nil {
		sc := bufio.NewScanner(bytes.NewReader(data))
		for sc.Scan() {
			h.lines = append(h.lines, sc.Text())
		}
		h.lines = h.lines[max(0, len(h.lines)-maxHistory):]
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		h.file, _ = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	}
	return h
}

// Add implements term.History.
func (h *history) Add(line string) {
	if line == "" || (len(h.lines) > 0 && h.lines[len(h.lines)-1] == line) {
		return
	}
	h.lines = append(h.lines, line)
	if h.file != nil {
		fmt.Fprintln(h.file, line)
	}
}

// Len implements term.History.
func (h *history) Len() int { return len(h.lines) }

// At implements term.History; 0 is the newest.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }

func (h *history) close() {
	if h.file != nil {
		h.file.Close()
	}
}
