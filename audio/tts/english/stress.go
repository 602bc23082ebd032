package english

import (
	"strings"
	"unicode/utf8"
)

// Marks of stress and the sounds that can carry it, in the alphabet of the voices.
const (
	primary   = "ˈ"
	secondary = "ˌ"
	vowels    = "AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻɐᵊ"
	consonant = "bdfhjklmnpstvwzðŋɡɹɾʃʒʤʧθ"
)

// emphasis is what a word's place or spelling does to the stress of its reading.
type emphasis int

const (
	plain   emphasis = iota // as the dictionary has it
	none                    // no stress at all
	weak                    // primary becomes secondary
	present                 // at least secondary: a word with a capital
	strong                  // primary: a word in capitals
)

// stress applies e to a reading.
func stress(reading string, e emphasis) string {
	has := func(mark string) bool { return strings.Contains(reading, mark) }
	switch {
	case e == none:
		return strings.ReplaceAll(strings.ReplaceAll(reading, primary, ""), secondary, "")
	case e == weak && has(primary):
		return strings.ReplaceAll(strings.ReplaceAll(reading, secondary, ""), primary, secondary)
	case e == strong && !has(primary) && has(secondary):
		return strings.ReplaceAll(reading, secondary, primary)
	case has(primary) || has(secondary):
		return reading
	case e == weak || e == present:
		return markFirstVowel(reading, secondary)
	case e == strong:
		return markFirstVowel(reading, primary)
	}
	return reading
}

// markFirstVowel puts a mark before the first vowel; a reading without one stays.
func markFirstVowel(reading, mark string) string {
	i := strings.IndexAny(reading, vowels)
	if i < 0 {
		return reading
	}
	return reading[:i] + mark + reading[i:]
}

// opening says how what follows begins: with a vowel, with a consonant, or with a pause.
type opening int

const (
	pause opening = iota
	vowel
	nonVowel
)

// openingOf looks at a reading; one that has no sound tells nothing, and the following
// one's holds.
func openingOf(reading string, following opening) opening {
	for _, r := range reading {
		switch {
		case strings.ContainsRune(vowels, r):
			return vowel
		case strings.ContainsRune(consonant, r):
			return nonVowel
		case strings.ContainsRune(";:,.!?—…", r):
			return pause
		}
	}
	return following
}

// last and beforeLast are the ends of a reading.
func last(reading string) rune {
	r, _ := utf8.DecodeLastRuneInString(reading)
	return r
}

func beforeLast(reading string) rune {
	_, n := utf8.DecodeLastRuneInString(reading)
	return last(reading[:len(reading)-n])
}
