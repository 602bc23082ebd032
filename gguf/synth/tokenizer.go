package synth

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"dure/gguf"
)

// Token ids that hold for every byte-level vocabulary of this package but the
// one of Qwen27B. FirstByteToken + b is the token of the single byte b.
const (
	EndOfText      = 0 // <|endoftext|>: begin-of-sequence and padding
	StartOfTurn    = 1 // <|im_start|>
	EndOfTurn      = 2 // <|im_end|>: end-of-sequence
	FirstByteToken = 3
)

// BaseVocabulary is the size of the smallest vocabulary: special tokens, bytes
// and the merges of baseWords.
const BaseVocabulary = 512

// baseWords become tokens by merging them byte by byte from the left, so that
// common text takes fewer tokens than bytes. Words that start with a space
// keep it, as in real vocabularies. The Korean ones make tokens that end in
// the middle of a character.
const baseWords = " the| and| is|ing|ed| to| of| you| that|hello|Hello| world|user|assistant|system|" +
	"\n\n|  |    |안녕|하세요|세계|은 |는 |def |return|func | =| ==|{\n|}\n|. |, |ion|er|es|" +
	" token| model| what| how| can|The| in| for| with"

// token types of tokenizer.ggml.token_type.
const (
	tokenNormal  int32 = 1
	tokenUnknown int32 = 2
	tokenControl int32 = 3
	tokenUser    int32 = 4
	tokenUnused  int32 = 5
	tokenByte    int32 = 6
)

// vocabulary is a byte-level vocabulary.
type vocabulary struct {
	tokens []string // in the printable alphabet
	types  []int32
	merges []string
	known  map[string]bool

	endOfText, endOfTurn int
}

// newVocabulary builds a byte-level vocabulary of exactly size tokens, special
// tokens first. Past baseWords it grows by all lower-case words in order of
// length: "aa", "ab"...
func newVocabulary(size int) *vocabulary {
	v := &vocabulary{known: make(map[string]bool, size), endOfText: EndOfText, endOfTurn: EndOfTurn}
	for _, s := range []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"} {
		v.add(s, tokenControl)
	}
	v.grow(size)
	return v
}

// Layout of the vocabulary of Qwen 3.5 and later: text first, then special
// tokens, then unused ids up to a round number.
const qwenSpecialsAt = 248044

// qwenSpecials in the order of their ids. Those that start with a space are
// printed when generated.
const qwenSpecials = "<|endoftext|>|<|im_start|>|<|im_end|>|<|object_ref_start|>|<|object_ref_end|>|<|box_start|>|" +
	"<|box_end|>|<|quad_start|>|<|quad_end|>|<|vision_start|>|<|vision_end|>|<|vision_pad|>|<|image_pad|>|<|video_pad|>|" +
	" <tool_call>| </tool_call>|<|fim_prefix|>|<|fim_middle|>|<|fim_suffix|>|<|fim_pad|>|<|repo_name|>|<|file_sep|>|" +
	" <tool_response>| </tool_response>| <think>| </think>"

// newQwenVocabulary builds a vocabulary in that layout. size must exceed
// qwenSpecialsAt by the number of special tokens.
func newQwenVocabulary(size int) *vocabulary {
	v := &vocabulary{known: make(map[string]bool, size), endOfText: qwenSpecialsAt, endOfTurn: qwenSpecialsAt + 2}
	v.grow(qwenSpecialsAt)
	for s := range splitSpecials(qwenSpecials) {
		if name, printed := strings.CutPrefix(s, " "); printed {
			v.add(name, tokenUser)
		} else {
			v.add(s, tokenControl)
		}
	}
	for len(v.tokens) < size {
		v.add(fmt.Sprintf("[PAD%d]", len(v.tokens)), tokenUnused)
	}
	return v
}

// splitSpecials yields the names; they contain bars themselves.
func splitSpecials(s string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for part := range strings.SplitSeq(strings.ReplaceAll(s, ">|", ">\x00"), "\x00") {
			if !yield(part) {
				return
			}
		}
	}
}

// grow adds bytes, baseWords and as many further words as fit.
func (v *vocabulary) grow(size int) {
	for b := range 256 {
		v.add(printable(string([]byte{byte(b)})), tokenNormal)
	}
	for word := range strings.SplitSeq(baseWords, "|") {
		for n := 2; n <= len(word); n++ {
			v.merge(word[:n-1], word[n-1:n], size)
		}
	}
	// Every word's prefix comes before it, so each is one merge.
	queue := make([]string, 0, 26)
	for c := 'a'; c <= 'z'; c++ {
		queue = append(queue, string(c))
	}
	for i := 0; len(v.tokens) < size; i++ {
		for c := 'a'; c <= 'z'; c++ {
			queue = append(queue, queue[i]+string(c))
			v.merge(queue[i], string(c), size)
		}
	}
}

func (v *vocabulary) add(token string, kind int32) {
	v.tokens = append(v.tokens, token)
	v.types = append(v.types, kind)
	v.known[token] = true
}

// merge adds the token left+right, unless it exists or the table is full.
func (v *vocabulary) merge(left, right string, size int) {
	token := printable(left + right)
	if v.known[token] || len(v.tokens) == size {
		return
	}
	v.add(token, tokenNormal)
	v.merges = append(v.merges, printable(left)+" "+printable(right))
}

// store writes the tokenizer's metadata.
func (v *vocabulary) store(w *gguf.Writer, pre string, c Config) {
	w.Set("tokenizer.ggml.model", "gpt2")
	w.Set("tokenizer.ggml.pre", pre)
	w.Set("tokenizer.ggml.tokens", v.tokens)
	w.Set("tokenizer.ggml.token_type", v.types)
	w.Set("tokenizer.ggml.merges", v.merges)
	w.Set("tokenizer.ggml.bos_token_id", uint32(v.endOfText))
	w.Set("tokenizer.ggml.eos_token_id", uint32(v.endOfTurn))
	// Without it the engine looks for one by name, in no fixed order.
	w.Set("tokenizer.ggml.eot_token_id", uint32(v.endOfTurn))
	w.Set("tokenizer.ggml.padding_token_id", uint32(v.endOfText))
	w.Set("tokenizer.ggml.add_bos_token", c.AddBOS)
	if len(c.Suppress) > 0 {
		w.Set("tokenizer.ggml.suppress_tokens", c.Suppress)
	}
	w.Set("tokenizer.chat_template", c.Template)
}

// printable maps bytes to the printable alphabet of byte-level BPE: printable
// Latin-1 bytes stand for themselves, the others for U+0100 onwards in order.
func printable(s string) string {
	b := make([]byte, 0, 2*len(s))
	for i := range len(s) {
		b = utf8.AppendRune(b, alphabet[s[i]])
	}
	return string(b)
}

var alphabet = func() (a [256]rune) {
	next := rune(0x100)
	for b := range a {
		switch {
		case b >= '!' && b <= '~', b >= 0xa1 && b <= 0xac, b >= 0xae:
			a[b] = rune(b)
		default:
			a[b] = next
			next++
		}
	}
	return a
}()
