package synth

import (
	"fmt"
	"strings"

	"dure/gguf"
)

// spaceMark stands for a space in SentencePiece and WordPiece vocabularies.
const spaceMark = "\u2581"

// pieces is a SentencePiece vocabulary: tokens with scores, where the pair
// that makes the best token is merged first, and a token for each byte to fall
// back on.
type pieces struct {
	tokens []string
	types  []int32
	scores []float32
	known  map[string]bool
}

// Token ids of the SentencePiece vocabulary.
const (
	piecePad, pieceEOS, pieceBOS, pieceUnknown = 0, 1, 2, 3
	pieceEndOfTurn                             = 5
)

func newPieces(size int) *pieces {
	p := &pieces{known: make(map[string]bool, size)}
	for i, s := range []string{"<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>"} {
		kind := tokenControl
		if i == pieceUnknown {
			kind = tokenUnknown
		}
		p.add(s, kind, -1000)
	}
	for b := range 256 {
		p.add(fmt.Sprintf("<0x%02X>", b), tokenByte, -1000)
	}
	for _, s := range wordList(size) {
		if len(p.tokens) == size {
			break
		}
		// Earlier pieces merge first.
		p.addNew(strings.ReplaceAll(s, " ", spaceMark), -float32(len(p.tokens)))
	}
	return p
}

func (p *pieces) add(token string, kind int32, score float32) {
	p.tokens = append(p.tokens, token)
	p.types = append(p.types, kind)
	p.scores = append(p.scores, score)
	p.known[token] = true
}

func (p *pieces) addNew(token string, score float32) {
	if !p.known[token] {
		p.add(token, tokenNormal, score)
	}
}

func (p *pieces) store(w *gguf.Writer, c Config) {
	w.Set("tokenizer.ggml.model", "llama")
	w.Set("tokenizer.ggml.pre", "default")
	w.Set("tokenizer.ggml.tokens", p.tokens)
	w.Set("tokenizer.ggml.scores", p.scores)
	w.Set("tokenizer.ggml.token_type", p.types)
	w.Set("tokenizer.ggml.bos_token_id", uint32(pieceBOS))
	w.Set("tokenizer.ggml.eos_token_id", uint32(pieceEOS))
	w.Set("tokenizer.ggml.eot_token_id", uint32(pieceEndOfTurn))
	w.Set("tokenizer.ggml.unknown_token_id", uint32(pieceUnknown))
	w.Set("tokenizer.ggml.padding_token_id", uint32(piecePad))
	w.Set("tokenizer.ggml.add_bos_token", true)
	w.Set("tokenizer.ggml.add_eos_token", false)
	w.Set("tokenizer.ggml.add_space_prefix", false)
	w.Set("tokenizer.chat_template", c.Template)
}

// wordList is at least n characters and words; every word comes after its
// prefixes, so that it can be merged from them.
func wordList(n int) []string {
	var list []string
	for c := rune(' '); c <= '~'; c++ {
		list = append(list, string(c))
	}
	for word := range strings.SplitSeq(baseWords, "|") {
		runes := []rune(word)
		for k := 1; k <= len(runes); k++ {
			list = append(list, string(runes[:k]))
		}
	}
	for i := 0; len(list) < 3*n; i++ {
		for c := 'a'; c <= 'z' && list[i] != " "; c++ {
			list = append(list, list[i]+string(c))
		}
	}
	return list
}

// wordPieces is a WordPiece vocabulary: the longest piece that fits is taken,
// and the first piece of a word carries the space mark.
type wordPieces struct {
	tokens []string
	types  []int32
}

// Token ids of the WordPiece vocabulary.
const wordPad, wordUnknown, wordCLS, wordSEP, wordMask = 0, 1, 2, 3, 4

func newWordPieces(size int) *wordPieces {
	p := &wordPieces{}
	known := make(map[string]bool, size)
	add := func(token string, kind int32) {
		if !known[token] && len(p.tokens) < size {
			known[token] = true
			p.tokens = append(p.tokens, token)
			p.types = append(p.types, kind)
		}
	}
	for i, s := range []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"} {
		kind := tokenControl
		if i == wordUnknown {
			kind = tokenUnknown
		}
		add(s, kind)
	}
	for _, s := range wordList(size) {
		if s = strings.ToLower(strings.TrimSpace(s)); s != "" {
			add(spaceMark+s, tokenNormal)
			add(s, tokenNormal)
		}
	}
	return p
}

func (p *wordPieces) store(w *gguf.Writer, segments int) {
	w.Set("tokenizer.ggml.model", "bert")
	w.Set("tokenizer.ggml.tokens", p.tokens)
	w.Set("tokenizer.ggml.token_type", p.types)
	w.Set("tokenizer.ggml.token_type_count", uint32(segments))
	w.Set("tokenizer.ggml.bos_token_id", uint32(wordCLS))
	w.Set("tokenizer.ggml.eos_token_id", uint32(wordSEP))
	w.Set("tokenizer.ggml.unknown_token_id", uint32(wordUnknown))
	w.Set("tokenizer.ggml.seperator_token_id", uint32(wordSEP)) // spelt so in the format
	w.Set("tokenizer.ggml.padding_token_id", uint32(wordPad))
	w.Set("tokenizer.ggml.mask_token_id", uint32(wordMask))
}
