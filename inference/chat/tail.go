package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dure/inference"
)

// ErrNoTail is wrapped by what Tail returns where a rendering cannot be split
// behind a message. It says something about the template, nothing about the
// request, which Render has rendered.
var ErrNoTail = errors.New("the chat template shows no place where the rest of the conversation begins")

// Tail returns what a rendering has after the content of messages[k]: the end
// of that turn, the messages behind it and, where options ask for it, the
// opening of the next answer. rendered is what Render makes of the same
// messages and options.
//
// Templates rewrite the past: they trim it, drop its thinking, move it. So the
// place is not looked for in the text but shown by the template itself, which
// renders the conversation once more with marks in place of the contents. The
// tail is given only if
//
//   - the mark of messages[k] comes out exactly once,
//   - nothing that was said before messages[k] comes out behind it (some
//     templates repeat the system text in the last turn: the tail would say it
//     once more),
//   - rendered ends with the same text.
//
// Any other outcome, a refusal of the template too, is an ErrNoTail. k must be
// the index of a message.
func (t *Template) Tail(rendered string, messages []inference.Message, k int, o RenderOptions) (string, error) {
	// Marks are letters and digits only, so that no template trims or escapes
	// them, and a hash of the text, so that the text cannot contain them.
	sum := sha256.Sum256([]byte(rendered))
	here := "k" + hex.EncodeToString(sum[:16])
	before := "b" + hex.EncodeToString(sum[16:])
	marked := slices.Clone(messages)
	for i := range k {
		if marked[i].Content != "" {
			marked[i].Content = before
		}
	}
	// What else an answer consists of was said with it and is no part of the tail.
	marked[k] = inference.Message{Role: messages[k].Role, Name: messages[k].Name, Content: here}
	text, err := t.Render(marked, o)
	if err != nil {
		return "", fmt.Errorf("%w: it refuses messages like these: %w", ErrNoTail, err)
	}
	_, tail, _ := strings.Cut(text, here)
	switch n := strings.Count(text, here); {
	case n != 1:
		return "", fmt.Errorf("%w: it prints the content of messages[%d] %d times", ErrNoTail, k, n)
	case strings.Contains(tail, before):
		return "", fmt.Errorf("%w: it prints earlier messages behind messages[%d]", ErrNoTail, k)
	case !strings.HasSuffix(rendered, tail):
		return "", fmt.Errorf("%w: what it prints behind messages[%d] depends on what was said before", ErrNoTail, k)
	}
	return tail, nil
}
