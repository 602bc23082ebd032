package clause

import (
	"regexp"
	"strings"
	"unicode"
)

// Language guesses "ko", "ja", "zh" or "en" from a text's script; "en" stands for anything
// in Latin letters. fallback is given for a text without letters.
func Language(text, fallback string) string {
	var hangul, kana, han, latin int
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Hangul, r):
			hangul++
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.IsLetter(r):
			latin++
		}
	}
	switch {
	case hangul+kana+han+latin == 0:
		return fallback
	case hangul > 0 && hangul*4 >= latin:
		return "ko"
	case kana > 0 && (kana+han)*4 >= latin:
		return "ja"
	case han > 0 && han*4 >= latin:
		return "zh"
	}
	return "en"
}

var (
	markdownLink = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	address      = regexp.MustCompile(`https?://[^\s)>\]]+`)
	lineMark     = regexp.MustCompile(`(?m)^\s*(?:#{1,6}|[-*+]|>|\|)\s+`)
	emphasis     = regexp.MustCompile("[*_]{1,3}([^*_\n]+)[*_]{1,3}|`([^`\n]+)`")
	spaces       = regexp.MustCompile(`\s+`)
	// A number with what may stand around it. Groups: sign or currency, digits with
	// separators, decimals, unit.
	number = regexp.MustCompile(`([-−$€£₩]?)(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(%|st\b|nd\b|rd\b|th\b)?`)
	clock  = regexp.MustCompile(`\b([01]?\d|2[0-3]):([0-5]\d)\b`)
)

// Spoken writes a clause the way it is said: without the marks of Markdown, addresses named
// and not spelt, and numbers in words where the language is English or Korean. Other
// languages are left to the synthesiser's own rules.
func Spoken(text, language string) string {
	text = markdownLink.ReplaceAllString(text, "$1")
	text = address.ReplaceAllString(text, linkWord(language))
	text = lineMark.ReplaceAllString(text, "")
	text = emphasis.ReplaceAllString(text, "$1$2")
	switch language {
	case "en":
		text = englishNumbers(text)
	case "ko":
		text = koreanNumbers(text)
	}
	return strings.TrimSpace(spaces.ReplaceAllString(text, " "))
}

func linkWord(language string) string {
	switch language {
	case "ko":
		return "링크"
	case "ja":
		return "リンク"
	case "zh":
		return "链接"
	}
	return "a link"
}

// eachNumber replaces numbers that stand alone: none inside a word or a version.
func eachNumber(text string, say func(sign, whole, decimals, unit, after string) (string, int)) string {
	var out strings.Builder
	for {
		at := number.FindStringSubmatchIndex(text)
		if at == nil {
			out.WriteString(text)
			return out.String()
		}
		group := func(i int) string {
			if at[2*i] < 0 {
				return ""
			}
			return text[at[2*i]:at[2*i+1]]
		}
		start, end := at[0], at[1]
		sign := group(1)
		before := lastRune(text[:start])
		if sign == "-" && before != 0 && !unicode.IsSpace(before) && before != '(' {
			// A hyphen or the dash of a range, not a minus.
			out.WriteString(text[:start+1])
			text = text[start+1:]
			continue
		}
		word, more := "", 0
		if alone(before, sign) && len(group(2)) <= 20 && !(strings.HasPrefix(text[end:], ".") && digitAfter(text[end+1:])) {
			word, more = say(sign, group(2), strings.TrimPrefix(group(3), "."), group(4), text[end:])
		}
		if word == "" {
			out.WriteString(text[:end])
			text = text[end:]
			// The rest of a version or an address stays as it is.
			for text != "" && (text[0] == '.' || text[0] >= '0' && text[0] <= '9') {
				out.WriteByte(text[0])
				text = text[1:]
			}
			continue
		}
		out.WriteString(text[:start])
		out.WriteString(word)
		text = text[end+more:]
	}
}

func alone(before rune, sign string) bool {
	return before == 0 || sign != "" || !(before < 0x250 && unicode.IsLetter(before) || before == '.' || before == '_' || before == '/')
}

func digitAfter(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

func lastRune(s string) rune {
	var last rune
	if s != "" {
		for _, r := range s[max(0, len(s)-4):] {
			last = r
		}
	}
	return last
}
