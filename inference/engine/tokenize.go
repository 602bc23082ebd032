package engine

import (
	"context"
	"fmt"
	"strings"
	"unsafe"
)

// pieceBytes is about how much text goes to the engine's tokeniser at once.
const pieceBytes = 4 << 10

// Tokenize turns text into tokens. addSpecial puts BOS (and EOS) where the
// model wants them around a document; parseSpecial reads "<|im_start|>" and its
// like as control tokens instead of as plain text. It stops between pieces when
// ctx ends.
//
// The engine looks for each control token in all of the rest of a text, from
// each place where another one was: for a conversation of many messages that
// takes minutes. So long texts are cut in front of control tokens, across which
// no token reaches.
func (m *Model) Tokenize(ctx context.Context, text string, addSpecial, parseSpecial bool) ([]Token, error) {
	if !parseSpecial || addSpecial && m.facts.AddEOS {
		return m.tokenize(text, addSpecial, parseSpecial)
	}
	var tokens []Token
	for len(text) > 0 || addSpecial {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := m.cut(text)
		part, err := m.tokenize(text[:n], addSpecial, true)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, part...)
		text, addSpecial = text[n:], false
	}
	return tokens, nil
}

// cut is where the first piece of text ends: before the first control token
// after pieceBytes, or at the end.
func (m *Model) cut(text string) int {
	if len(text) <= pieceBytes {
		return len(text)
	}
	// In a conversation the next one is near; only a text without any is
	// searched to its end.
	near := min(len(text), 4*pieceBytes)
	if end := m.firstControl(text[:near]); end < near {
		return end
	}
	return m.firstControl(text)
}

// firstControl is where the first control token after pieceBytes begins; the end
// of the text if there is none.
func (m *Model) firstControl(text string) int {
	end := len(text)
	for _, c := range m.vocabulary.controls {
		// Only what lies before the best so far can be a better one.
		if i := strings.Index(text[pieceBytes:end], c); i >= 0 {
			end = pieceBytes + i
		}
	}
	return end
}

// MinTokens is a lower bound on the tokens of a text of so many bytes, without
// looking at it.
func (m *Model) MinTokens(bytes int) int { return bytes / m.vocabulary.longest }

func (m *Model) tokenize(text string, addSpecial, parseSpecial bool) ([]Token, error) {
	if len(text) > 1<<30 {
		return nil, fmt.Errorf("text of %d bytes is too long to tokenise", len(text))
	}
	// Few texts need more tokens than bytes/2; a second call covers the rest.
	tokens := make([]Token, len(text)/2+8)
	for {
		n := extra.tokenize(m.vocab, unsafe.Pointer(unsafe.StringData(text)), int32(len(text)),
			unsafe.Pointer(unsafe.SliceData(tokens)), int32(len(tokens)), addSpecial, parseSpecial)
		switch {
		case n >= 0:
			return tokens[:n], nil
		case -int(n) <= len(tokens):
			return nil, fmt.Errorf("tokenise %d bytes: engine answered %d", len(text), n)
		default:
			tokens = make([]Token, -int(n))
		}
	}
}
