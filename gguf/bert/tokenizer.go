package bert

import (
	"fmt"
	"io/fs"
	"strings"

	"dure/gguf"
)

// tokenizer is what matters of tokenizer.json.
type tokenizer struct {
	Normalizer struct {
		Type      string `json:"type"`
		Lowercase bool   `json:"lowercase"`
		Accents   *bool  `json:"strip_accents"` // nil goes with Lowercase
		Chinese   bool   `json:"handle_chinese_chars"`
	} `json:"normalizer"`
	Model struct {
		Type       string         `json:"type"`
		Prefix     string         `json:"continuing_subword_prefix"`
		Vocabulary map[string]int `json:"vocab"`
	} `json:"model"`
	Added []struct {
		ID      int    `json:"id"`
		Content string `json:"content"`
		Special bool   `json:"special"`
	} `json:"added_tokens"`
}

// Kinds of tokens in tokenizer.ggml.token_type.
const (
	normalToken  int32 = 1
	unknownToken int32 = 2
	controlToken int32 = 3
)

// storeTokenizer adds the vocabulary. The format marks the pieces that begin a word,
// and WordPiece those that go on with one.
func storeTokenizer(w *gguf.Writer, folder fs.FS, c config) error {
	var t tokenizer
	if err := readJSON(folder, "tokenizer.json", &t); err != nil {
		return err
	}
	n := t.Normalizer
	if t.Model.Type != "WordPiece" || t.Model.Prefix != "##" || n.Type != "BertNormalizer" || !n.Lowercase || !n.Chinese || n.Accents != nil && !*n.Accents {
		return fmt.Errorf("tokenizer.json: only a lower-case WordPiece tokenizer as BERT has it can be converted")
	}
	special := map[string]int{}
	for _, a := range t.Added {
		if a.Special {
			special[a.Content] = a.ID
		}
	}
	tokens, kinds := make([]string, c.Vocabulary), make([]int32, c.Vocabulary)
	for piece, id := range t.Model.Vocabulary {
		if id < 0 || id >= c.Vocabulary || kinds[id] != 0 {
			return fmt.Errorf("tokenizer.json: token %q has the number %d, of %d tokens each has one", piece, id, c.Vocabulary)
		}
		_, control := special[piece]
		switch rest, inside := strings.CutPrefix(piece, "##"); {
		case piece == "[UNK]":
			tokens[id], kinds[id] = piece, unknownToken
		case control:
			tokens[id], kinds[id] = piece, controlToken
		case inside:
			tokens[id], kinds[id] = rest, normalToken
		default:
			tokens[id], kinds[id] = "\u2581"+piece, normalToken
		}
	}
	for id, kind := range kinds {
		if kind == 0 {
			return fmt.Errorf("tokenizer.json: there is no token %d", id)
		}
	}
	w.Set("tokenizer.ggml.model", "bert")
	w.Set("tokenizer.ggml.tokens", tokens)
	w.Set("tokenizer.ggml.token_type", kinds)
	w.Set("tokenizer.ggml.token_type_count", uint32(c.Segments))
	for _, s := range []struct{ key, token string }{
		{"bos", "[CLS]"}, {"unknown", "[UNK]"}, {"seperator", "[SEP]"}, {"padding", "[PAD]"}, {"mask", "[MASK]"}, // spelt so in the format
	} {
		id, ok := special[s.token]
		if !ok || id >= c.Vocabulary {
			return fmt.Errorf("tokenizer.json: there is no special token %s", s.token)
		}
		w.Set("tokenizer.ggml."+s.key+"_token_id", uint32(id))
	}
	return nil
}
