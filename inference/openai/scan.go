package openai

import (
	"bytes"
	"encoding/json"
)

// token is a JSON value, or where it is an object or a list only its beginning.
type token struct {
	kind kind
	raw  []byte // the whole value as it stands in the body, of plain ones
}

// kind is the byte that tells the kind of a value.
type kind byte

const (
	kindString  kind = '"'
	kindNumber  kind = '0'
	kindTrue    kind = 't'
	kindFalse   kind = 'f'
	kindNull    kind = 'n'
	kindObject  kind = '{'
	kindList    kind = '['
	closeObject      = '}'
	closeList        = ']'
)

func (k kind) String() string {
	switch k {
	case kindString:
		return "a string"
	case kindNumber:
		return "a number"
	case kindTrue, kindFalse:
		return "a boolean"
	case kindList:
		return "a list"
	case kindObject:
		return "an object"
	}
	return "null"
}

// text is the value of a string. Half a surrogate pair becomes U+FFFD.
func (t token) text() string {
	if bytes.IndexByte(t.raw, '\\') < 0 {
		return string(t.raw[1 : len(t.raw)-1])
	}
	var s string
	if err := json.Unmarshal(t.raw, &s); err != nil {
		panic(err) // checkJSON accepted it
	}
	return s
}

// scanner reads the tokens of a body that checkJSON accepted, and relies on
// that: it looks only as far as it must to tell where a value ends. It is much
// faster than json.Decoder.Token, which a body of millions of values would keep
// busy for seconds.
type scanner struct {
	body []byte
	pos  int
}

// peek skips white space and returns the next byte.
func (s *scanner) peek() byte {
	for s.body[s.pos] <= ' ' {
		s.pos++
	}
	return s.body[s.pos]
}

// token reads a plain value whole and only the first byte of an object or list.
func (s *scanner) token() token {
	c, from := s.peek(), s.pos
	switch c {
	case '{', '[':
		s.pos++
		return token{kind: kind(c)}
	case '"':
		s.skipString()
	default:
		for s.pos < len(s.body) && !endsPlain(s.body[s.pos]) {
			s.pos++
		}
	}
	t := token{kind: kind(c), raw: s.body[from:s.pos]}
	if c == '-' || '0' <= c && c <= '9' {
		t.kind = kindNumber
	}
	return t
}

func endsPlain(c byte) bool {
	return c <= ' ' || c == ',' || c == ']' || c == '}'
}

// skipString reads over the string that begins at s.pos.
func (s *scanner) skipString() {
	for s.pos++; ; s.pos++ {
		switch s.body[s.pos] {
		case '\\':
			s.pos++
		case '"':
			s.pos++
			return
		}
	}
}

// more reports whether another member or item comes, and reads what stands
// before it; otherwise it reads the closing bracket.
func (s *scanner) more(closing byte) bool {
	switch s.peek() {
	case closing:
		s.pos++
		return false
	case ',':
		s.pos++
	}
	return true
}

// name reads the name of a member and the colon behind it.
func (s *scanner) name() string {
	name := s.token().text()
	s.peek()
	s.pos++
	return name
}

// skipNested reads on to the end of the object or list whose beginning was read
// last. It reports false where that nests deeper than most levels.
func (s *scanner) skipNested(most int) bool {
	for depth := 1; depth > 0; {
		switch s.body[s.pos] {
		case '"':
			s.skipString()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth > most {
			return false
		}
		s.pos++
	}
	return true
}
