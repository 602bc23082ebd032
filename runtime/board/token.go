package board

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// kind is what a token is.
type kind int

const (
	end    kind = iota
	word        // a name or word of SQL, as it is written
	quoted      // a name in double quotes
	str         // a text in single quotes
	num
	sign // any other character
)

type token struct {
	kind kind
	text string
}

// word reports whether a token is a certain word, in either case.
func (t token) word(w string) bool { return t.kind == word && strings.EqualFold(t.text, w) }

// tokens cuts SQL into tokens. Comments and spaces are passed over. It knows what
// both stores agree on and no more: it serves to read CREATE TABLE, and to see how
// a statement begins, never to decide that a statement is harmless.
type tokens struct {
	rest string
	err  error
}

func (t *tokens) next() token {
	t.skip()
	if t.rest == "" || t.err != nil {
		return token{}
	}
	c := t.rest[0]
	switch {
	case c == '\'' || c == '"':
		return t.quote(c)
	case letter(c):
		return token{word, t.take(func(c byte) bool { return letter(c) || digit(c) })}
	case digit(c):
		return token{num, t.number()}
	}
	_, n := utf8.DecodeRuneInString(t.rest)
	text := t.rest[:n]
	t.rest = t.rest[n:]
	return token{sign, text}
}

func letter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= utf8.RuneSelf }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

func (t *tokens) take(of func(byte) bool) string {
	i := 0
	for i < len(t.rest) && of(t.rest[i]) {
		i++
	}
	text := t.rest[:i]
	t.rest = t.rest[i:]
	return text
}

// number takes digits, one dot and an exponent.
func (t *tokens) number() string {
	text := t.take(digit)
	if strings.HasPrefix(t.rest, ".") {
		t.rest = t.rest[1:]
		text += "." + t.take(digit)
	}
	if e := strings.TrimLeft(t.rest, "eE"); len(e) == len(t.rest)-1 {
		minus := ""
		if e != "" && (e[0] == '-' || e[0] == '+') {
			minus, e = e[:1], e[1:]
		}
		if e != "" && digit(e[0]) {
			t.rest = e
			text += "e" + minus + t.take(digit)
		}
	}
	return text
}

// quote takes a text or name in quotes; a quote in it is doubled.
func (t *tokens) quote(q byte) token {
	var b strings.Builder
	rest := t.rest[1:]
	for {
		i := strings.IndexByte(rest, q)
		if i < 0 {
			t.err = errors.New("a quote without its end")
			return token{}
		}
		b.WriteString(rest[:i])
		rest = rest[i+1:]
		if rest == "" || rest[0] != q {
			break
		}
		b.WriteByte(q)
		rest = rest[1:]
	}
	t.rest = rest
	if q == '"' {
		return token{quoted, b.String()}
	}
	return token{str, b.String()}
}

// skip passes spaces and comments.
func (t *tokens) skip() {
	for {
		t.rest = strings.TrimLeft(t.rest, " \t\r\n\f")
		switch {
		case strings.HasPrefix(t.rest, "--"):
			i := strings.IndexByte(t.rest, '\n')
			if i < 0 {
				i = len(t.rest) - 1
			}
			t.rest = t.rest[i+1:]
		case strings.HasPrefix(t.rest, "/*"):
			i := strings.Index(t.rest[2:], "*/")
			if i < 0 {
				t.rest = "" // SQLite takes it so; PostgreSQL refuses it itself
				return
			}
			t.rest = t.rest[i+4:]
		default:
			return
		}
	}
}

// First is the first word of a statement in lower case, "" if it does not begin
// with one. It says where to try a statement, never that it is allowed.
func First(sql string) string {
	t := &tokens{rest: sql}
	if w := t.next(); w.kind == word {
		return strings.ToLower(w.text)
	}
	return ""
}

// Blank reports whether there is nothing in SQL but spaces, comments and
// semicolons.
func Blank(sql string) bool {
	t := &tokens{rest: sql}
	for {
		w := t.next()
		if w.kind == end {
			return t.err == nil
		}
		if w.text != ";" {
			return false
		}
	}
}
