package whisper

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
)

// vocabulary is what the model's words are.
type vocabulary struct {
	bytes [][]byte // of every word; nil for the special ones
	start int64    // begins a transcript
	end   int64    // ends it
	plain int64    // asks for text without times
	mute  int64    // stands for no speech
	write int64    // asks for a transcript rather than a translation
	// languages by their codes; empty for a model that knows English only.
	languages map[string]int64
}

// readVocabulary reads vocabulary.json or vocabulary.txt of a model's folder.
func readVocabulary(files fs.FS) (*vocabulary, error) {
	var words []string
	if data, err := fs.ReadFile(files, "vocabulary.json"); err == nil {
		if err := json.Unmarshal(data, &words); err != nil {
			return nil, fmt.Errorf("vocabulary.json: %w", err)
		}
	} else {
		data, err := fs.ReadFile(files, "vocabulary.txt")
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		for lines.Scan() {
			words = append(words, lines.Text())
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("vocabulary.txt: %w", err)
		}
	}
	return newVocabulary(words)
}

func newVocabulary(words []string) (*vocabulary, error) {
	v := &vocabulary{bytes: make([][]byte, len(words)), languages: map[string]int64{}}
	special := map[string]int64{}
	plain := plainBytes()
	for i, w := range words {
		if inner, ok := strings.CutPrefix(w, "<|"); ok && strings.HasSuffix(inner, "|>") {
			special[strings.TrimSuffix(inner, "|>")] = int64(i)
			continue
		}
		for _, r := range w {
			if b, ok := plain[r]; ok {
				v.bytes[i] = append(v.bytes[i], b)
			}
		}
	}
	for name, to := range map[string]*int64{"startoftranscript": &v.start, "endoftext": &v.end, "notimestamps": &v.plain, "transcribe": &v.write} {
		id, ok := special[name]
		if !ok {
			return nil, fmt.Errorf("the vocabulary of %d words has no <|%s|>: it is not Whisper's", len(words), name)
		}
		*to = id
	}
	v.mute = -1
	for _, name := range []string{"nospeech", "nocaptions"} {
		if id, ok := special[name]; ok {
			v.mute = id
		}
	}
	// The languages stand between the start and the tasks. A model for English alone
	// names them too, but its words begin one place earlier and it never saw them.
	if v.start == v.end+1 && len(words) >= multilingual {
		for name, id := range special {
			if id > v.start && id < v.write && len(name) <= 3 {
				v.languages[name] = id
			}
		}
	}
	return v, nil
}

// multilingual is the number of words from which on a model knows other languages than
// English; those that do not have one word less.
const multilingual = 51865

// plainBytes is the alphabet in which the vocabulary writes bytes: those that can be
// printed as themselves, the others from U+0100 on.
func plainBytes() map[rune]byte {
	m := make(map[rune]byte, 256)
	next := rune(256)
	for b := range 256 {
		switch {
		case b >= '!' && b <= '~', b >= 0xa1 && b <= 0xac, b >= 0xae:
			m[rune(b)] = byte(b)
		default:
			m[next] = byte(b)
			next++
		}
	}
	return m
}

// text joins words; halves of characters are left out.
func (v *vocabulary) text(ids []int64) string {
	var b []byte
	for _, id := range ids {
		if id >= 0 && id < int64(len(v.bytes)) {
			b = append(b, v.bytes[id]...)
		}
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(b), ""))
}

// prompt is what the transcript of a language begins with, and whether the model knows
// the language.
func (v *vocabulary) prompt(language string) ([]int64, bool) {
	if len(v.languages) == 0 {
		return []int64{v.start, v.plain}, language == "" || language == "en"
	}
	id, ok := v.languages[language]
	if !ok {
		return nil, false
	}
	return []int64{v.start, id, v.write, v.plain}, true
}
