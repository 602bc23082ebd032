package jinja

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// number measures the number at the front of s.
func number(s string) (tokenKind, int) {
	if len(s) > 2 && s[0] == '0' && strings.IndexByte("xXoObB", s[1]) >= 0 {
		n := 2
		for n < len(s) && (isHex(s[n]) || s[n] == '_') {
			n++
		}
		return tokInt, n
	}
	n := digits(s, 0)
	kind := tokInt
	if n+1 < len(s) && s[n] == '.' && isDigit(s[n+1]) {
		n = digits(s, n+1)
		kind = tokFloat
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		i := n + 1
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if i < len(s) && isDigit(s[i]) {
			return tokFloat, digits(s, i)
		}
	}
	return kind, n
}

func digits(s string, i int) int {
	for i < len(s) && (isDigit(s[i]) || s[i] == '_' && i+1 < len(s) && isDigit(s[i+1])) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

var errUnclosedString = errors.New("a string is not closed")

// unquote reads the string literal at the front of s, with Python's escapes,
// and returns its value and its length in s.
func unquote(s string) (string, int, error) {
	quote := s[0]
	var b strings.Builder
	for i := 1; i < len(s); {
		switch c := s[i]; {
		case c == quote:
			return b.String(), i + 1, nil
		case c == '\\':
			n, err := unescape(&b, s[i+1:])
			if err != nil {
				return "", 0, err
			}
			i += 1 + n
		default:
			b.WriteByte(c)
			i++
		}
	}
	return "", 0, errUnclosedString
}

var simpleEscapes = map[byte]string{
	'\n': "", '\\': `\`, '\'': "'", '"': `"`,
	'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v",
}

// unescape writes the character that follows a backslash and returns how many
// bytes of s it took. Unknown escapes stay as they are, as in Python.
func unescape(b *strings.Builder, s string) (int, error) {
	if s == "" {
		return 0, errUnclosedString
	}
	if text, ok := simpleEscapes[s[0]]; ok {
		b.WriteString(text)
		return 1, nil
	}
	hex := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[0]]
	switch {
	case hex > 0:
		if len(s) <= hex {
			return 0, errUnclosedString
		}
		code, err := strconv.ParseUint(s[1:1+hex], 16, 32)
		if err != nil || !utf8.ValidRune(rune(code)) {
			return 0, errors.New(`a \x, \u or \U escape is no character`)
		}
		b.WriteRune(rune(code))
		return 1 + hex, nil
	case s[0] >= '0' && s[0] <= '7':
		n := 1
		for n < 3 && n < len(s) && s[n] >= '0' && s[n] <= '7' {
			n++
		}
		code, err := strconv.ParseUint(s[:n], 8, 32)
		if err != nil {
			return 0, err
		}
		b.WriteRune(rune(code))
		return n, nil
	case s[0] == 'N':
		return 0, errors.New(`\N{...} escapes are not supported`)
	}
	b.WriteByte('\\')
	_, n := utf8.DecodeRuneInString(s)
	b.WriteString(s[:n])
	return n, nil
}
