package engine

import (
	"context"
	"slices"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/hybridgroup/yzma/pkg/llama"
)

// Vocabulary is the text of a model's tokens, read from the engine once: asking
// it costs a call into C each time. It is immutable and safe for concurrent
// use.
type Vocabulary struct {
	model *Model
	text  string   // of all tokens, one after the other
	ends  []uint32 // ends[t] is where token t ends in text
	// hidden tokens have no text in an answer; eog ones end it.
	hidden, eog []bool
	controls    []string // texts that the tokeniser reads as one token
	suppressed  []Token
	longest     int // bytes of the longest token, at least 1
}

func readVocabulary(m *Model) *Vocabulary {
	size := m.facts.Vocabulary
	v := &Vocabulary{model: m, ends: make([]uint32, size), hidden: make([]bool, size), eog: make([]bool, size), longest: 1}
	text := make([]byte, 0, 8*size)
	for t := range Token(size) {
		start := len(text)
		text = m.appendPiece(text, t)
		v.ends[t] = uint32(len(text))
		v.longest = max(v.longest, len(text)-start)
		attr, _, _ := purego.SyscallN(extra.tokenAttr, uintptr(m.vocab), uintptr(t))
		if attr&special == 0 {
			continue
		}
		v.hidden[t] = attr&(control|unknown) != 0
		eog, _, _ := purego.SyscallN(extra.isEOG, uintptr(m.vocab), uintptr(t))
		v.eog[t] = eog&0xff != 0
		if attr&control != 0 && len(text) > start {
			v.controls = append(v.controls, string(text[start:]))
		}
	}
	// An ordinary token can be made the end of a text by the file's header.
	for _, t := range []Token{m.facts.EOS, Token(llama.VocabEOT(m.vocab))} {
		if t >= 0 && int(t) < size {
			v.eog[t] = llama.VocabIsEOG(m.vocab, llama.Token(t))
		}
	}
	v.text = string(text)
	for _, t := range llama.VocabGetSuppressTokens(m.vocab) { // the engine's memory
		if t >= 0 && int(t) < size {
			v.suppressed = append(v.suppressed, Token(t))
		}
	}
	return v
}

// What sets tokens apart from ordinary ones (llama_token_attr).
const (
	unknown = uintptr(llama.TokenAttrUnknown)
	control = uintptr(llama.TokenAttrControl)
	special = unknown | control | uintptr(llama.TokenAttrUserDef)
)

// appendPiece asks the engine for the bytes of a token.
func (m *Model) appendPiece(dst []byte, t Token) []byte {
	for room := 64; ; {
		start := len(dst)
		dst = slices.Grow(dst, room)[:start+room]
		r, _, _ := purego.SyscallN(extra.tokenToPiece, uintptr(m.vocab), uintptr(t),
			uintptr(unsafe.Pointer(&dst[start])), uintptr(room), 0, 1) // no stripping, special tokens too
		n := int(int32(r))
		if n >= 0 {
			return dst[:start+n]
		}
		dst, room = dst[:start], -n // the buffer was too small; -n is the size it needs
	}
}

// Size in tokens.
func (v *Vocabulary) Size() int { return len(v.ends) }

// Pieces are the bytes of all tokens, control tokens included, in the order of
// their ids and without gaps: ends[t] is where token t ends in text.
func (v *Vocabulary) Pieces() (text string, ends []uint32) { return v.text, v.ends }

// Tokenize returns the tokens of a short text as it stands: nothing added, no
// control token read.
func (v *Vocabulary) Tokenize(text string) ([]Token, error) {
	return v.model.Tokenize(context.Background(), text, false, false)
}

// Piece is the bytes of a token, which may be part of a character. Control
// tokens give nothing unless special is true.
func (v *Vocabulary) Piece(t Token, special bool) string {
	if !special && v.hidden[t] {
		return ""
	}
	start := uint32(0)
	if t > 0 {
		start = v.ends[t-1]
	}
	return v.text[start:v.ends[t]]
}

// Controls are the texts of all control tokens.
func (v *Vocabulary) Controls() []string { return v.controls }

// IsEOG reports whether a token ends a generation (EOS, EOT and their like).
func (v *Vocabulary) IsEOG(t Token) bool { return v.eog[t] }

// Suppressed are tokens that the model's makers want never drawn.
func (v *Vocabulary) Suppressed() []Token { return v.suppressed }
