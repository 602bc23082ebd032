package english

import (
	"strings"
	"unicode"
)

// kind is what a token is read by.
type kind int

const (
	word kind = iota
	number
	mark // punctuation
)

// token is a piece of a sentence.
type token struct {
	kind  kind
	text  string
	space bool // white space follows
	head  bool // begins a run of pieces without white space
}

// marks are the punctuation that the voices know, by what may be written for it.
var marks = map[rune]string{
	';': ";", ':': ":", ',': ",", '.': ".", '!': "!", '?': "?", '—': "—", '–': "—", '…': "…",
	'(': "(", ')': ")", '[': "(", ']': ")", '“': "“", '”': "”", '"': "\"", '«': "“", '»': "”",
	'。': ".", '，': ",", '！': "!", '？': "?", '、': ",", '；': ";", '：': ":",
}

// symbols are read as words.
var symbols = map[rune]string{
	'%': "percent", '&': "and", '+': "plus", '@': "at", '=': "equals", '#': "number", '*': "star",
	'/': "slash", '<': "less than", '>': "greater than", '~': "about", '°': "degrees",
	'±': "plus or minus", '×': "times", '÷': "divided by", '€': "euros", '£': "pounds", '$': "dollars",
	'→': "to", '½': "one half", '¼': "one quarter", '¾': "three quarters",
}

// tokens cuts a sentence into words, numbers and marks. Everything else is left out.
func tokens(text string) []token {
	r := []rune(strings.NewReplacer("’", "'", "‘", "'", "\u00a0", " ").Replace(text))
	var out []token
	head := true
	add := func(k kind, s string) {
		out = append(out, token{kind: k, text: s, head: head})
		head = false
	}
	for i := 0; i < len(r); {
		c := r[i]
		switch {
		case unicode.IsSpace(c):
			if len(out) > 0 {
				out[len(out)-1].space = true
			}
			head = true
			i++
		case isDigit(c) || isSign(r, i) || isMoney(r, i):
			n := numberLength(r[i:])
			add(number, string(r[i:i+n]))
			i += n
		case unicode.IsLetter(c):
			n := wordLength(r[i:])
			w := string(r[i : i+n])
			i += n
			if full, ok := shortened[w]; ok && i < len(r) && r[i] == '.' {
				w = full
				i++
			}
			if unit, ok := units[w]; ok && len(out) > 0 && out[len(out)-1].kind == number {
				out[len(out)-1].space = true
				w = unit
			}
			add(word, w)
		default:
			i += symbol(r[i:], add)
		}
	}
	return out
}

// symbol adds what is no letter, digit or space, and says how many runes it took.
func symbol(r []rune, add func(kind, string)) int {
	switch m, ok := marks[r[0]]; {
	case ok && m == "." && len(r) > 2 && r[1] == '.' && r[2] == '.':
		add(mark, "…")
		return 3
	case ok:
		add(mark, m)
		return 1
	case r[0] == '-' && len(r) > 1 && (r[1] == '-' || unicode.IsSpace(r[1])):
		add(mark, "—")
		if r[1] == '-' {
			return 2
		}
		return 1
	}
	for _, w := range strings.Fields(symbols[r[0]]) {
		add(word, w)
	}
	return 1
}

// shortened are written with a dot that ends no sentence.
var shortened = map[string]string{
	"Mr": "Mr", "Mrs": "Mrs", "Ms": "Ms", "Dr": "Dr", "Prof": "Professor", "St": "Saint", "Jr": "Junior",
	"Sr": "Senior", "vs": "versus", "approx": "approximately", "Gen": "General", "Capt": "Captain",
	"Sgt": "Sergeant", "Lt": "Lieutenant", "Rev": "Reverend", "Hon": "Honorable", "dept": "department",
}

// units are read out after a number.
var units = map[string]string{
	"km": "kilometers", "cm": "centimeters", "mm": "millimeters", "kg": "kilograms", "mg": "milligrams",
	"ms": "milliseconds", "kB": "kilobytes", "KB": "kilobytes", "MB": "megabytes", "GB": "gigabytes",
	"TB": "terabytes", "KiB": "kibibytes", "MiB": "mebibytes", "GiB": "gibibytes", "Hz": "hertz",
	"kHz": "kilohertz", "MHz": "megahertz", "GHz": "gigahertz", "mph": "miles per hour",
}

// isSign is a minus before digits that does not join it to what is before.
func isSign(r []rune, i int) bool {
	return r[i] == '-' && i+1 < len(r) && isDigit(r[i+1]) && (i == 0 || unicode.IsSpace(r[i-1]))
}

// isMoney is a sign of a currency before digits.
func isMoney(r []rune, i int) bool {
	return strings.ContainsRune("$£€", r[i]) && i+1 < len(r) && isDigit(r[i+1])
}

// wordLength is that of a word: letters, apostrophes and dots between letters ("U.S."),
// and the last dot of such an abbreviation.
func wordLength(r []rune) int {
	n := 1
	dotted := false
	for ; n < len(r); n++ {
		joins := (r[n] == '\'' || r[n] == '.') && n+1 < len(r) && unicode.IsLetter(r[n+1])
		if r[n] == '.' && joins {
			// One letter between dots only: the next sentence may follow without a space.
			if n >= 2 && unicode.IsLetter(r[n-2]) || n+2 < len(r) && unicode.IsLetter(r[n+2]) {
				break
			}
			dotted = true
			continue
		}
		if !joins && !unicode.IsLetter(r[n]) && !unicode.Is(unicode.Mn, r[n]) {
			break
		}
	}
	if dotted && n < len(r) && r[n] == '.' && n+1 < len(r) {
		n++
	}
	return n
}

// numberLength is that of a number with its sign, currency, separators, clock colon and an
// ordinal's ending.
func numberLength(r []rune) int {
	n := 1
	for n < len(r) {
		sep := strings.ContainsRune(",.:", r[n]) && n+1 < len(r) && isDigit(r[n+1]) && isDigit(r[n-1])
		if !sep && !isDigit(r[n]) {
			break
		}
		n++
	}
	for _, suffix := range []string{"st", "nd", "rd", "th", "s"} {
		s := []rune(suffix)
		end := n + len(s)
		if end <= len(r) && string(r[n:end]) == suffix && (end == len(r) || !unicode.IsLetter(r[end])) {
			return end
		}
	}
	return n
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }
