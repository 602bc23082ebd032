package english

import "strings"

// tapped are the vowels after which Americans make a t before a vowel a short d.
const tapped = "AIOWYiuæɑəɛɪɹʊʌ"

// withS, withEd and withIng add an ending's sound to a stem's reading.
func (r *Reader) withS(stem string) string {
	switch end := last(stem); {
	case strings.ContainsRune("ptkfθ", end):
		return stem + "s"
	case strings.ContainsRune("szʃʒʧʤ", end):
		return stem + r.reduced() + "z"
	}
	return stem + "z"
}

func (r *Reader) withEd(stem string) string {
	switch end := last(stem); {
	case strings.ContainsRune("pkfθʃsʧ", end):
		return stem + "t"
	case end == 'd':
		return stem + r.reduced() + "d"
	case end != 't':
		return stem + "d"
	case !r.british && strings.ContainsRune(tapped, beforeLast(stem)):
		return strings.TrimSuffix(stem, "t") + "ɾᵻd"
	}
	return stem + r.reduced() + "d"
}

func (r *Reader) withIng(stem string) string {
	if !r.british && last(stem) == 't' && strings.ContainsRune(tapped, beforeLast(stem)) {
		return strings.TrimSuffix(stem, "t") + "ɾɪŋ"
	}
	return stem + "ɪŋ"
}

func (r *Reader) reduced() string {
	if r.british {
		return "ɪ"
	}
	return "ᵻ"
}

// An ending of spelling: what it is taken off with, and what is put back to make the stem.
type ending struct {
	cut, put string
	double   bool // a doubled consonant before it is made single
	sound    func(*Reader, string) string
}

// endings in the order in which they are tried.
var endings = []ending{
	{cut: "'s", sound: (*Reader).withS},
	{cut: "s", sound: (*Reader).withS},
	{cut: "ies", put: "y", sound: (*Reader).withS},
	{cut: "es", sound: (*Reader).withS},
	{cut: "d", sound: (*Reader).withEd}, // of stems that end in e
	{cut: "ied", put: "y", sound: (*Reader).withEd},
	{cut: "ed", sound: (*Reader).withEd},
	{cut: "ed", double: true, sound: (*Reader).withEd},
	{cut: "ing", sound: (*Reader).withIng},
	{cut: "ing", put: "e", sound: (*Reader).withIng},
	{cut: "ing", double: true, sound: (*Reader).withIng},
}

// inflected reads a word in small letters as a known stem with an ending.
func (r *Reader) inflected(word, tag string, next opening) (string, bool) {
	for _, e := range endings {
		stem, ok := strings.CutSuffix(word, e.cut)
		if !ok || len(stem) < 2 || e.cut == "s" && strings.HasSuffix(stem, "s") || e.cut == "d" && !strings.HasSuffix(stem, "e") {
			continue
		}
		if e.double {
			n := len(stem)
			if n < 3 || stem[n-1] != stem[n-2] {
				continue
			}
			stem = stem[:n-1]
		}
		if reading, ok := r.entry(stem+e.put, tag, next); ok && reading != "" {
			return e.sound(r, reading), true
		}
	}
	return "", false
}
