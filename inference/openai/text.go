package openai

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// text returns a string as Unicode text that can go to a model.
func (d *decoder) text(t json.Token) (string, error) {
	s, ok := t.(string)
	switch {
	case !ok:
		return "", d.expected("a string", t)
	case strings.IndexByte(s, 0) >= 0:
		return "", d.invalid("the text holds a NUL character")
	case strings.ContainsRune(s, utf8.RuneError) && loneSurrogate(d.body[d.before:d.json.InputOffset()]):
		return "", d.invalid("the text holds half of a surrogate pair, which is no character")
	}
	return s, nil
}

// loneSurrogate looks for a \u escape of half a character in a JSON string.
// encoding/json has turned such a half into U+FFFD by now, silently.
func loneSurrogate(literal []byte) bool {
	unit := func(i int) (rune, bool) {
		if i+6 > len(literal) || literal[i] != '\\' || literal[i+1] != 'u' {
			return 0, false
		}
		v, err := strconv.ParseUint(string(literal[i+2:i+6]), 16, 16)
		return rune(v), err == nil
	}
	for i := 0; i < len(literal); i++ {
		if literal[i] != '\\' {
			continue
		}
		first, ok := unit(i)
		if !ok {
			i++ // some other escape of two characters
			continue
		}
		i += 5
		if first < 0xd800 || first > 0xdfff {
			continue
		}
		second, ok := unit(i + 1)
		if !ok || first > 0xdbff || second < 0xdc00 || second > 0xdfff {
			return true
		}
		i += 6
	}
	return false
}
