package english

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// tagger gives words their Penn Treebank tags: an averaged perceptron whose weights and
// feature names come with the voice.
type tagger struct {
	Tags    []string                      `json:"tags"`
	Known   map[string]string             `json:"tagdict"` // words that have one tag
	Words   []string                      `json:"vocab"`
	Weights map[string]map[string]float32 `json:"weights"`
	words   map[string]bool
}

func readTagger(r io.Reader) (*tagger, error) {
	var t tagger
	if err := json.NewDecoder(r).Decode(&t); err != nil {
		return nil, fmt.Errorf("part-of-speech weights: %w", err)
	}
	if len(t.Tags) == 0 || len(t.Weights) == 0 {
		return nil, fmt.Errorf("part-of-speech weights: the file has none")
	}
	t.words = make(map[string]bool, len(t.Words))
	for _, w := range t.Words {
		t.words[w] = true
	}
	t.Words = nil
	return &t, nil
}

// tag gives every word of a sentence its tag.
func (t *tagger) tag(words []string) []string {
	window := make([]string, 0, len(words)+4)
	window = append(window, "-START2-", "-START-")
	for _, w := range words {
		window = append(window, t.normal(w))
	}
	window = append(window, "-END-", "-END2-")
	tags := make([]string, len(words))
	before, before2 := window[1], window[0]
	for i, w := range words {
		tag, ok := t.Known[w]
		if !ok {
			tag = t.best(w, i, window[i:i+5], before, before2)
		}
		tags[i] = tag
		before2, before = before, tag
	}
	return tags
}

// best is the tag with the highest score; at is the word's place, window the two words
// before it, itself and the two after it.
func (t *tagger) best(word string, at int, window []string, before, before2 string) string {
	place := "i+"
	if at == 0 {
		place = "i0"
	}
	first := string([]rune(word)[:1])
	features := []string{"b", "s3=" + tail(word), "p1=" + first, "w=" + window[2], "sh=" + shape(word), place,
		"t-1=" + before, "t-2=" + before2, "t-12=" + before + "," + before2,
		"w-1=" + window[1], "s3-1=" + tail(window[1]), "w-2=" + window[0],
		"w+1=" + window[3], "s3+1=" + tail(window[3]), "w+2=" + window[4]}
	scores := map[string]float32{}
	for _, f := range features {
		for tag, w := range t.Weights[f] {
			scores[tag] += w
		}
	}
	best := "NN"
	for i, tag := range t.Tags {
		// Ties go to the tag that is last in the alphabet, as when the weights were made.
		if i == 0 || scores[tag] > scores[best] || scores[tag] == scores[best] && tag > best {
			best = tag
		}
	}
	return best
}

// normal is a word as the weights know it.
func (t *tagger) normal(word string) string {
	n := strings.ToLower(word)
	switch r := []rune(word); {
	case strings.Contains(word, "-") && r[0] != '-':
		n = "!HYPHEN"
	case len(r) == 4 && all(word, unicode.IsDigit):
		n = "!YEAR"
	case unicode.IsDigit(r[0]):
		n = "!DIGITS"
	}
	if t.words[n] {
		return n
	}
	return "<" + shape(word) + ">"
}

// shape is how a word is written.
func shape(word string) string {
	r := []rune(word)
	switch {
	case all(word, unicode.IsDigit):
		return "d"
	case !all(word, unicode.IsLetter):
		var b strings.Builder
		for _, c := range r[:min(4, len(r))] {
			switch {
			case unicode.IsDigit(c):
				b.WriteByte('d')
			case unicode.IsLetter(c):
				b.WriteByte('x')
			default:
				b.WriteRune(c)
			}
		}
		return b.String()
	case all(word, unicode.IsLower):
		return "x"
	case all(word, unicode.IsUpper) && len(r) > 1:
		return "XX"
	case all(word, unicode.IsUpper):
		return "X1"
	case unicode.IsUpper(r[0]) && all(string(r[1:]), unicode.IsLower):
		return "Xx"
	}
	return "xX"
}

// all reports whether every rune of a word that is not empty is one.
func all(word string, is func(rune) bool) bool {
	return word != "" && strings.IndexFunc(word, func(r rune) bool { return !is(r) }) < 0
}

func tail(word string) string {
	r := []rune(word)
	return string(r[max(0, len(r)-3):])
}

// family is the coarse tag that the dictionary knows readings by.
func family(tag string) string {
	switch {
	case strings.HasPrefix(tag, "VB"):
		return "VERB"
	case strings.HasPrefix(tag, "NN"):
		return "NOUN"
	case strings.HasPrefix(tag, "RB"):
		return "ADV"
	case strings.HasPrefix(tag, "JJ"):
		return "ADJ"
	}
	return tag
}
