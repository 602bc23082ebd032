package strict

import (
	"bytes"
	"encoding/json"
)

// Value is a JSON value, or where it is an object or a list only its beginning.
type Value struct {
	Kind Kind
	Raw  []byte // the whole value as it stands in the body, of plain ones
}

// nests reports whether the value may hold others.
func (v Value) nests() bool { return v.Kind == KindList || v.Kind == KindObject }

// Kind is the byte that tells the kind of a value.
type Kind byte

// Kinds.
const (
	KindString  Kind = '"'
	KindNumber  Kind = '0'
	KindTrue    Kind = 't'
	KindFalse   Kind = 'f'
	KindNull    Kind = 'n'
	KindObject  Kind = '{'
	KindList    Kind = '['
	closeObject      = '}'
	closeList        = ']'
)

func (k Kind) String() string {
	switch k {
	case KindString:
		return "a string"
	case KindNumber:
		return "a number"
	case KindTrue, KindFalse:
		return "a boolean"
	case KindList:
		return "a list"
	case KindObject:
		return "an object"
	}
	return "null"
}

// text is the value of a string. Half a surrogate pair becomes U+FFFD.
func (v Value) text() string {
	if bytes.IndexByte(v.Raw, '\\') < 0 {
		return string(v.Raw[1 : len(v.Raw)-1])
	}
	var s string
	if err := json.Unmarshal(v.Raw, &s); err != nil {
		panic(err) // checkBody accepted it
	}
	return s
}

// scanner reads the values of a body that checkBody accepted, and relies on
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

// value reads a plain value whole and only the first byte of an object or list.
func (s *scanner) value() Value {
	c, from := s.peek(), s.pos
	switch c {
	case '{', '[':
		s.pos++
		return Value{Kind: Kind(c)}
	case '"':
		s.skipString()
	default:
		for s.pos < len(s.body) && !endsPlain(s.body[s.pos]) {
			s.pos++
		}
	}
	return Value{Kind: kindOf(c), Raw: s.body[from:s.pos]}
}

// kindOf is the kind of a value that begins with c.
func kindOf(c byte) Kind {
	if c == '-' || '0' <= c && c <= '9' {
		return KindNumber
	}
	return Kind(c)
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
	name := s.value().text()
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
