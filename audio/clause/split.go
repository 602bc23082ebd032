package clause

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lengths are weights: a character of Chinese, Japanese or Korean counts two, since it is
// about a syllable.
const (
	firstClause = 8   // the first clause may be so short, so that sound comes early
	shortest    = 12  // later ones are joined with what follows below this
	commaFrom   = 40  // a comma ends a clause from here on
	linkFrom    = 40  // so does a Korean connecting ending
	longest     = 240 // no clause is longer; it is cut at a space if there is one
)

// Piece is a clause to be spoken, or with Screen text that is to be read only: code.
type Piece struct {
	Text   string
	Screen bool
}

// Splitter cuts text that comes in pieces. The zero value is ready; it is a value, and each
// call gives the next one.
type Splitter struct {
	rest  string
	some  bool // a clause was given
	fence bool // inside a block of code
}

// Pending is what was fed and not yet given.
func (s Splitter) Pending() string { return s.rest }

// Feed takes more text and gives the clauses that are complete.
func (s Splitter) Feed(text string) (Splitter, []Piece) {
	s.rest += text
	return s.cut(false)
}

// Flush gives what is left, at the end of the text or where the speaker waits.
func (s Splitter) Flush() (Splitter, []Piece) { return s.cut(true) }

func (s Splitter) cut(all bool) (Splitter, []Piece) {
	var out []Piece
	for s.rest != "" {
		if s.fence {
			end := fenceEnd(s.rest)
			if end < 0 {
				if !all {
					return s, out
				}
				end = len(s.rest)
			}
			out = add(out, s.rest[:end], true)
			s.rest, s.fence = s.rest[end:], false
			continue
		}
		end := s.end(all)
		if end < 0 {
			return s, out
		}
		if end == 0 { // a block of code begins here
			s.fence = true
			continue
		}
		before := len(out)
		out = add(out, s.rest[:end], false)
		s.some = s.some || len(out) > before
		s.rest = s.rest[end:]
	}
	return s, out
}

func add(out []Piece, text string, screen bool) []Piece {
	if text = strings.TrimSpace(text); text == "" {
		return out
	}
	return append(out, Piece{Text: text, Screen: screen})
}

const fence = "```"

// fenceEnd is where a block of code that begins the text ends, -1 if it does not yet.
func fenceEnd(text string) int {
	at := strings.Index(text[len(fence):], fence)
	if at < 0 {
		return -1
	}
	return at + 2*len(fence)
}

// end is where the first clause of the rest ends: -1 not yet, 0 before a block of code.
func (s Splitter) end(all bool) int {
	text := s.rest
	block := strings.Index(text, fence)
	if block == 0 {
		return 0
	}
	if block > 0 {
		text, all = text[:block], true
	} else if n := len(text) - len(strings.TrimRight(text, "`")); n > 0 && !all {
		text = text[:len(text)-n] // a fence may be under way
	}
	weight, space := 0, 0
	for at, r := range text {
		next := at + utf8.RuneLen(r)
		if r == utf8.RuneError {
			next = at + 1
		}
		weight += weigh(r)
		if unicode.IsSpace(r) {
			space = next
		}
		if s.ends(text, at, next, r, weight, all) {
			return next
		}
		if weight >= longest {
			if space > 0 {
				return space
			}
			return next
		}
	}
	if all {
		return len(text)
	}
	return -1
}

// ends reports whether the character at a place ends a clause.
func (s Splitter) ends(text string, at, next int, r rune, weight int, all bool) bool {
	least, comma := shortest, commaFrom
	if !s.some {
		least, comma = firstClause, firstClause
	}
	following, size := utf8.DecodeRuneInString(text[next:])
	last := size == 0
	switch {
	case r == '\n':
		return weight >= least || strings.HasPrefix(text[next:], "\n")
	case strings.ContainsRune("。！？", r):
		return weight >= least && !closes(following)
	case strings.ContainsRune(".!?;:…", r):
		if weight < least {
			return false
		}
		if last {
			return all
		}
		return unicode.IsSpace(following) && !(r == '.' && abbreviated(text[:at]))
	case r == '、' || r == '，':
		return weight >= comma
	case r == ',':
		return weight >= comma && !last && unicode.IsSpace(following)
	case closes(r):
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		return weight >= least && strings.ContainsRune("。！？", before)
	case r == ' ':
		return weight >= linkFrom && connects(text[:at])
	}
	return false
}

func closes(r rune) bool { return strings.ContainsRune("」』”）)\"'’", r) && r != 0 }

// weigh is how much a character counts.
func weigh(r rune) int {
	if unicode.In(r, unicode.Hangul, unicode.Han, unicode.Hiragana, unicode.Katakana) {
		return 2
	}
	return 1
}

// Weight is the length of a text as clauses are measured.
func Weight(text string) int {
	n := 0
	for _, r := range text {
		n += weigh(r)
	}
	return n
}

// abbreviated reports whether a full stop behind text ends no sentence: after "Dr" or
// "e.g", a single letter, or the number of a list.
func abbreviated(text string) bool {
	at := strings.LastIndexFunc(text, unicode.IsSpace)
	word := strings.ToLower(text[at+1:])
	switch word {
	case "mr", "mrs", "ms", "dr", "prof", "st", "vs", "etc", "fig", "e.g", "i.e", "approx", "jr", "sr", "inc", "ca":
		return true
	}
	r, size := utf8.DecodeRuneInString(word)
	if size == len(word) && r != utf8.RuneError && r < 0x250 && unicode.IsLetter(r) {
		return word != "i"
	}
	lineStart := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:]) == word
	return lineStart && word != "" && strings.Trim(word, "0123456789") == ""
}

// Korean endings that connect one clause with the next.
var connecting = []string{"지만", "는데", "은데", "니까", "면서", "므로", "거나", "도록", "려고", "고", "며", "면", "서"}

func connects(text string) bool {
	at := strings.LastIndexByte(text, ' ')
	word := text[at+1:]
	if utf8.RuneCountInString(word) < 2 {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(word)
	if !unicode.Is(unicode.Hangul, last) {
		return false
	}
	for _, e := range connecting {
		if strings.HasSuffix(word, e) {
			return true
		}
	}
	return false
}
