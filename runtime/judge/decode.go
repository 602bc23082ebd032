package judge

import (
	"encoding/base64"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lumps are runs of text long enough to hold an encoded command.
var lumps = regexp.MustCompile(`[A-Za-z0-9+/]{16,}={0,2}`)

// encodedWithin reads commands that stand base64-encoded in a text. Only what decodes to
// plain text and reads as a command of several words counts; its acts are hidden.
func (s *sources) encodedWithin(name, text string) []act {
	var all []act
	for _, lump := range lumps.FindAllString(text, 20) {
		raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(lump, "="))
		if err != nil || !plain(raw) {
			continue
		}
		r := s.reader(name)
		r.hidden, r.guess = true, true
		if r.script(string(raw), pipe{}) == nil {
			all = append(all, r.acts...)
		}
	}
	return all
}

func plain(b []byte) bool {
	if !utf8.Valid(b) || !strings.ContainsAny(string(b), " /") {
		return false
	}
	for _, c := range string(b) {
		if !unicode.IsPrint(c) && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}
