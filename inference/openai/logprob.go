package openai

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"dure/inference"
)

// placed is a token of an answer and where it begins in the answer's text, in
// characters.
type placed struct {
	inference.TokenLogprob
	offset int
}

// place finds where the tokens begin that come with a piece of text, which
// itself begins at character from. A token that begins inside a character, or
// whose text is not part of the answer, is placed at the end of what is before it.
func place(from int, text string, tokens []inference.TokenLogprob) []placed {
	if len(tokens) == 0 {
		return nil
	}
	most := utf8.RuneCountInString(text)
	var before []byte
	all := make([]placed, len(tokens))
	for i, t := range tokens {
		all[i] = placed{t, from + min(most, wholeRunes(before))}
		before = append(before, t.Bytes...)
	}
	return all
}

// wholeRunes counts the characters of b without one that b ends inside.
func wholeRunes(b []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		if tail := b[len(b)-back:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				b = b[:len(b)-back]
			}
			break
		}
	}
	return utf8.RuneCount(b)
}

// chatLogprobs are those of a chat answer or of a piece of one.
type chatLogprobs struct {
	Content []chatLogprob `json:"content"`
	Refusal *string       `json:"refusal"`
}

type chatLogprob struct {
	chatCandidate
	Top []chatCandidate `json:"top_logprobs"`
}

type chatCandidate struct {
	Token   string  `json:"token"`
	Logprob float32 `json:"logprob"`
	Bytes   []int   `json:"bytes"` // a []byte would be written in base64
}

func newChatLogprobs(tokens []placed) *chatLogprobs {
	l := &chatLogprobs{Content: make([]chatLogprob, len(tokens))}
	for i, t := range tokens {
		top := make([]chatCandidate, len(t.Top))
		for j, c := range t.Top {
			top[j] = newChatCandidate(c)
		}
		l.Content[i] = chatLogprob{newChatCandidate(t.Candidate), top}
	}
	return l
}

// newChatCandidate writes what is no whole character as U+FFFD in the token's
// text; its bytes are exact.
func newChatCandidate(c inference.Candidate) chatCandidate {
	w := chatCandidate{Token: strings.ToValidUTF8(string(c.Bytes), "\ufffd"), Logprob: c.Logprob, Bytes: make([]int, len(c.Bytes))}
	for i, b := range c.Bytes {
		w.Bytes[i] = int(b)
	}
	return w
}

// textLogprobs are those of a text completion or of a piece of one: lists with
// one item for each token.
type textLogprobs struct {
	Offsets []int                `json:"text_offset"`
	Values  []float32            `json:"token_logprobs"`
	Tokens  []string             `json:"tokens"`
	Top     []map[string]float32 `json:"top_logprobs"`
}

// newTextLogprobs has the drawn token among the top ones, as OpenAI's API says:
// up to one more than were asked for. Where two have the same text, the likelier
// stands for both.
func newTextLogprobs(tokens []placed) *textLogprobs {
	n := len(tokens)
	l := &textLogprobs{make([]int, n), make([]float32, n), make([]string, n), make([]map[string]float32, n)}
	for i, t := range tokens {
		top := make(map[string]float32, len(t.Top)+1)
		for _, c := range append([]inference.Candidate{t.Candidate}, t.Top...) {
			name := byteToken(c.Bytes)
			if known, ok := top[name]; !ok || c.Logprob > known {
				top[name] = c.Logprob
			}
		}
		l.Offsets[i], l.Values[i], l.Tokens[i], l.Top[i] = t.offset, t.Logprob, byteToken(t.Bytes), top
	}
	return l
}

// byteToken is a token's text. There is no member for its bytes in this shape,
// so a token that is no whole text is spelled in OpenAI's way, "bytes:\xe2\x82".
func byteToken(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	s := "bytes:"
	for _, c := range b {
		s += fmt.Sprintf(`\x%02x`, c)
	}
	return s
}
