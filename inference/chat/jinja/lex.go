package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind string

// Operators and delimiters are tokens whose kind is their own text.
const (
	tokData       tokenKind = "text"
	tokVarBegin   tokenKind = "{{"
	tokVarEnd     tokenKind = "}}"
	tokBlockBegin tokenKind = "{%"
	tokBlockEnd   tokenKind = "%}"
	tokName       tokenKind = "name"
	tokString     tokenKind = "string"
	tokInt        tokenKind = "integer"
	tokFloat      tokenKind = "float"
	tokEOF        tokenKind = "end of template"
)

type token struct {
	kind tokenKind
	text string // a string literal's is unescaped
	line int
}

// lexer cuts a template into tokens as jinja2.lexer does with trim_blocks and
// lstrip_blocks: one newline after a block or comment goes, and so do blanks
// before one that is the first thing on its line.
type lexer struct {
	src    string
	pos    int
	line   int
	tokens []token
	// lineStarting says that what comes next is at the start of a line, which
	// the text before it cannot tell when a tag took the newline.
	lineStarting bool
}

func lex(source string) ([]token, error) {
	source = strings.ReplaceAll(strings.ReplaceAll(source, "\r\n", "\n"), "\r", "\n")
	source = strings.TrimSuffix(source, "\n") // keep_trailing_newline is off
	l := &lexer{src: source, line: 1, lineStarting: true}
	for l.pos < len(l.src) {
		if err := l.root(); err != nil {
			return nil, err
		}
	}
	l.emit(tokEOF, "")
	return l.tokens, nil
}

func (l *lexer) emit(kind tokenKind, text string) {
	l.tokens = append(l.tokens, token{kind, text, l.line})
}

// advance moves over n bytes of source.
func (l *lexer) advance(n int) {
	l.line += strings.Count(l.src[l.pos:l.pos+n], "\n")
	l.pos += n
}

// root takes text up to the next tag, and that tag.
func (l *lexer) root() error {
	rest := l.src[l.pos:]
	at := nextTag(rest)
	if at < 0 {
		l.emit(tokData, rest)
		l.advance(len(rest))
		return nil
	}
	kind := rest[at : at+2]
	sign := signAt(rest, at+2)
	text := rest[:at]
	switch {
	case sign == "-":
		text = strings.TrimRightFunc(text, isSpace)
	case sign == "" && kind != "{{":
		text = l.lstrip(text)
	}
	if text != "" {
		l.emit(tokData, text)
	}
	l.advance(at)
	switch kind {
	case "{#":
		return l.comment(2 + len(sign))
	case "{%":
		if n := rawBegin(rest[at:]); n > 0 {
			return l.raw(n)
		}
		l.emit(tokBlockBegin, "")
		l.advance(2 + len(sign))
		return l.inside(tokBlockEnd)
	default:
		l.emit(tokVarBegin, "")
		l.advance(2 + len(sign))
		return l.inside(tokVarEnd)
	}
}

func nextTag(s string) int {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '{' && (s[i+1] == '{' || s[i+1] == '%' || s[i+1] == '#') {
			return i
		}
	}
	return -1
}

// signAt returns the whitespace control sign at a position, if there is one.
func signAt(s string, at int) string {
	if at < len(s) && (s[at] == '-' || s[at] == '+') {
		return s[at : at+1]
	}
	return ""
}

// lstrip removes the blanks between the start of a line and the tag behind text.
func (l *lexer) lstrip(text string) string {
	start := strings.LastIndexByte(text, '\n') + 1
	if (start > 0 || l.lineStarting) && strings.TrimLeftFunc(text[start:], isSpace) == "" {
		return text[:start]
	}
	return text
}

// end measures the end of a tag at the front of s, with the whitespace it
// takes along; 0 if there is none. closer is "%}", "}}" or "#}".
func end(s, closer string) int {
	switch {
	case strings.HasPrefix(s, "-"+closer):
		n := 1 + len(closer)
		return n + len(s[n:]) - len(strings.TrimLeftFunc(s[n:], isSpace))
	case strings.HasPrefix(s, closer):
		n := len(closer)
		if closer != "}}" && strings.HasPrefix(s[n:], "\n") {
			n++
		}
		return n
	case closer != "}}" && strings.HasPrefix(s, "+"+closer):
		return 1 + len(closer)
	}
	return 0
}

// finish moves over the end of a tag.
func (l *lexer) finish(n int) {
	l.lineStarting = l.src[l.pos+n-1] == '\n'
	l.advance(n)
}

func (l *lexer) comment(begin int) error {
	if l.pos+begin == len(l.src) { // Python takes this as closed
		l.advance(begin)
		return nil
	}
	for i := l.pos + begin; i < len(l.src); i++ {
		if n := end(l.src[i:], "#}"); n > 0 {
			l.advance(i - l.pos)
			l.finish(n)
			return nil
		}
	}
	return syntaxError(l.line, "a comment is not closed")
}

// rawBegin measures {% raw %} at the front of s; 0 if it is something else.
func rawBegin(s string) int { return bareTag(s, "raw", false) }

// bareTag measures a tag that is only a name. Unlike others, {% raw %} keeps
// the newline behind it.
func bareTag(s, name string, trim bool) int {
	i := 2 + len(signAt(s, 2))
	i += len(s[i:]) - len(strings.TrimLeftFunc(s[i:], isSpace))
	if !strings.HasPrefix(s[i:], name) {
		return 0
	}
	i += len(name)
	i += len(s[i:]) - len(strings.TrimLeftFunc(s[i:], isSpace))
	n := end(s[i:], "%}")
	if n == 0 {
		return 0
	}
	if !trim && strings.HasPrefix(s[i:], "%}") {
		n = 2
	}
	return i + n
}

func (l *lexer) raw(begin int) error {
	l.finish(begin)
	if l.pos == len(l.src) { // Python takes this as closed
		return nil
	}
	for i := l.pos; i < len(l.src); i++ {
		if !strings.HasPrefix(l.src[i:], "{%") {
			continue
		}
		n := bareTag(l.src[i:], "endraw", true)
		if n == 0 {
			continue
		}
		text := l.src[l.pos:i]
		switch signAt(l.src, i+2) {
		case "-":
			text = strings.TrimRightFunc(text, isSpace)
		case "":
			text = l.lstrip(text)
		}
		if text != "" {
			l.emit(tokData, text)
		}
		l.advance(i - l.pos)
		l.finish(n)
		return nil
	}
	return syntaxError(l.line, "a raw block is not closed")
}

// inside takes the tokens of one tag. Its end counts only outside of brackets,
// so that }} may close two dictionaries.
func (l *lexer) inside(closer tokenKind) error {
	var open []byte
	for l.pos < len(l.src) {
		rest := l.src[l.pos:]
		if len(open) == 0 {
			if n := end(rest, string(closer)); n > 0 {
				l.emit(closer, "")
				l.finish(n)
				return nil
			}
		}
		if r, n := utf8.DecodeRuneInString(rest); isSpace(r) {
			l.advance(n)
			continue
		}
		n, err := l.token(rest)
		if err != nil {
			return err
		}
		switch c := rest[0]; {
		case n == 1 && strings.IndexByte("([{", c) >= 0:
			open = append(open, map[byte]byte{'(': ')', '[': ']', '{': '}'}[c])
		case n == 1 && strings.IndexByte(")]}", c) >= 0:
			if len(open) == 0 || open[len(open)-1] != c {
				return syntaxError(l.line, "unexpected %q", c)
			}
			open = open[:len(open)-1]
		}
		l.advance(n)
	}
	return syntaxError(l.line, "a tag is not closed")
}

var operators = []string{"//", "**", "==", "!=", ">=", "<=",
	"+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ",", ";"}

// token emits the token at the front of s and returns its length.
func (l *lexer) token(s string) (int, error) {
	r, _ := utf8.DecodeRuneInString(s)
	switch {
	case r >= '0' && r <= '9':
		kind, n := number(s)
		l.emit(kind, strings.ReplaceAll(s[:n], "_", ""))
		return n, nil
	case isWord(r):
		n := strings.IndexFunc(s, func(r rune) bool { return !isWord(r) })
		if n < 0 {
			n = len(s)
		}
		l.emit(tokName, s[:n])
		return n, nil
	case r == '\'' || r == '"':
		text, n, err := unquote(s)
		if err != nil {
			return 0, syntaxError(l.line, "%v", err)
		}
		l.emit(tokString, text)
		return n, nil
	}
	for _, op := range operators {
		if strings.HasPrefix(s, op) {
			l.emit(tokenKind(op), op)
			return len(op), nil
		}
	}
	return 0, syntaxError(l.line, "unexpected character %q", r)
}

// isSpace is Python's idea of whitespace.
func isSpace(r rune) bool {
	if r < 0x80 {
		return r == ' ' || r >= '\t' && r <= '\r' || r >= 0x1c && r <= 0x1f
	}
	return unicode.IsSpace(r)
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }
