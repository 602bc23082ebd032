package english

import (
	"context"
	"strings"
	"unicode"
)

// word reads one word. next is how what follows it begins.
func (r *Reader) word(ctx context.Context, w, tag string, next opening, beforeTo bool) (string, error) {
	if reading, ok := r.small(w, tag, next, beforeTo); ok {
		return reading, nil
	}
	if dotted(w) {
		return r.letters(w), nil
	}
	e := emphasisOf(w)
	if reading, ok := r.entry(w, tag, next); ok {
		return stress(reading, e), nil
	}
	lower := strings.ToLower(w)
	if capitals(w) && len([]rune(w)) > 1 {
		// An abbreviation, unless it is a word in capitals.
		if reading, ok := r.entry(lower, tag, next); ok && (tag != "NNP" || len([]rune(w)) > 4) {
			return stress(reading, e), nil
		}
		if len([]rune(w)) < 6 {
			return r.letters(w), nil
		}
	}
	if reading, ok := r.entry(lower, tag, next); ok {
		return stress(reading, e), nil
	}
	if strings.HasSuffix(w, "s'") || strings.HasSuffix(w, "'") {
		return r.word(ctx, strings.TrimSuffix(w, "'"), tag, next, beforeTo)
	}
	if reading, ok := r.inflected(lower, tag, next); ok {
		return stress(reading, e), nil
	}
	if stem, ok := strings.CutSuffix(w, "s"); ok && len(stem) > 1 && capitals(stem) { // "APIs"
		return r.withS(r.letters(stem)), nil
	}
	return r.guess(ctx, w)
}

// guess asks the network, once for every word.
func (r *Reader) guess(ctx context.Context, w string) (string, error) {
	if reading, ok := r.cache[w]; ok {
		return reading, nil
	}
	reading, err := r.unknown.read(ctx, strings.ReplaceAll(w, ".", ""))
	if err != nil {
		return "", err
	}
	if len(r.cache) >= maxCache {
		clear(r.cache)
	}
	r.cache[w] = reading
	return reading, nil
}

// small reads the words whose sound depends on what they stand between.
func (r *Reader) small(w, tag string, next opening, beforeTo bool) (string, bool) {
	switch w {
	case "a", "A":
		if tag == "DT" {
			return "ɐ", true
		}
		return "ˈA", true
	case "an", "An":
		return "ɐn", true
	case "am":
		if next != pause {
			return "ɐm", true
		}
	case "I":
		if tag == "PRP" {
			return "ˌI", true
		}
	case "the", "The", "THE":
		if next == vowel {
			return "ði", true
		}
		return "ðə", true
	case "to", "To":
		switch next {
		case vowel:
			return "tʊ", true
		case nonVowel:
			return "tə", true
		}
	case "in", "In":
		if next == pause || tag != "IN" {
			return "ˈɪn", true
		}
		return "ɪn", true
	case "used", "Used":
		e, ok := r.gold.find("used")
		if ok && (tag == "VBD" || tag == "JJ") && beforeTo && e.by["VBD"] != "" {
			return e.by["VBD"], true
		}
		return e.usual, e.usual != ""
	case "vs", "vs.":
		return r.entry("versus", tag, next)
	}
	return "", false
}

// entry is the dictionaries' reading of a word for a part of speech.
func (r *Reader) entry(w, tag string, next opening) (string, bool) {
	e, ok := r.gold.find(w)
	if !ok {
		e, ok = r.silver.find(w)
	}
	if !ok {
		return "", false
	}
	if reading := e.by["None"]; reading != "" && next == pause {
		return reading, true
	}
	for _, t := range []string{tag, family(tag)} {
		if reading := e.by[t]; reading != "" {
			return reading, true
		}
	}
	return e.usual, e.usual != ""
}

// letters spells an abbreviation; the last letter has the stress.
func (r *Reader) letters(w string) string {
	var all []string
	for _, c := range w {
		if !unicode.IsLetter(c) {
			continue
		}
		e, ok := r.gold[strings.ToUpper(string(c))]
		if !ok {
			continue
		}
		all = append(all, stress(e.usual, weak))
	}
	if len(all) > 0 {
		end := &all[len(all)-1]
		*end = strings.Replace(*end, secondary, primary, 1)
	}
	return strings.Join(all, "")
}

// emphasisOf is what a word's capitals do to its stress.
func emphasisOf(w string) emphasis {
	switch {
	case w == strings.ToLower(w):
		return plain
	case capitals(w):
		return strong
	}
	return present
}

// capitals reports whether all letters of a word are.
func capitals(w string) bool { return w == strings.ToUpper(w) && w != strings.ToLower(w) }

// dotted reports whether a word is an abbreviation of single letters with dots.
func dotted(w string) bool {
	parts := strings.Split(strings.TrimSuffix(w, "."), ".")
	for _, p := range parts {
		if len([]rune(p)) != 1 {
			return false
		}
	}
	return len(parts) > 1
}
