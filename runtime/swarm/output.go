package swarm

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// ClipOutput keeps what an event holds of what a command printed: its head and tail.
func ClipOutput(text string) Output {
	o := Output{Head: text, Size: len(text)}
	if len(text) > 2*MaxOutput {
		o.Head, o.Tail = head(text, MaxOutput), tail(text, MaxOutput)
	}
	return o
}

// bounded is an output that somebody else made, with no more than an event holds.
func (o Output) bounded() Output {
	if len(o.Head)+len(o.Tail) > 2*MaxOutput {
		o.Head, o.Tail = head(o.Head, MaxOutput), tail(o.Head+o.Tail, MaxOutput)
	}
	return o
}

// String is the output as it is shown, with a line that says what is not.
func (o Output) String() string {
	if o.Tail == "" {
		return o.Head
	}
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", o.Head, o.Size-len(o.Head)-len(o.Tail), o.Tail)
}

// clip cuts a text to a size, and says so in it.
func clip(text string, size int) string {
	if len(text) <= size {
		return text
	}
	kept := head(text, size-64) // room for the note
	return fmt.Sprintf("%s\n[... %d bytes left out ...]", kept, len(text)-len(kept))
}

func head(text string, size int) string {
	if size >= len(text) {
		return text
	}
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return strings.Clone(text[:size])
}

func tail(text string, size int) string {
	from := max(0, len(text)-size)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return strings.Clone(text[from:])
}
