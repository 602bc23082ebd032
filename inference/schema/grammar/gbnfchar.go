package grammar

import (
	"slices"
	"strings"
	"unicode/utf8"
)

func (p *gbnf) literal() Expr {
	p.at++
	var out strings.Builder
	for p.err == nil && !p.take(`"`) {
		out.WriteRune(p.char())
	}
	return literal(out.String())
}

func (p *gbnf) class() Expr {
	begin := p.at
	p.at++
	not := p.take("^")
	var ranges []Range
	for p.err == nil && !p.take("]") {
		at := p.at
		r := Range{Lo: p.char()}
		r.Hi = r.Lo
		if p.next() == '-' && !strings.HasPrefix(p.text[p.at:], "-]") {
			p.at++
			r.Hi = p.char()
		}
		if r.Lo > r.Hi {
			p.at = at
			p.fail("the range runs backwards")
		}
		ranges = append(ranges, r)
	}
	if len(ranges) == 0 {
		p.at = begin
		p.fail("there is no character in the class")
	}
	if not {
		return Except(ranges...)
	}
	return Class(ranges...)
}

// char reads one character of a literal or a class.
func (p *gbnf) char() rune {
	r, n := utf8.DecodeRuneInString(p.text[p.at:])
	switch {
	case n == 0:
		p.fail("the text ends within a literal or a class")
	case r == utf8.RuneError && n == 1:
		p.fail("this is not UTF-8")
	case r == '\\':
		return p.escape()
	default:
		p.at += n
	}
	return r
}

func (p *gbnf) escape() rune {
	begin := p.at
	if p.at++; p.at == len(p.text) {
		p.fail("the text ends within a literal or a class")
		return 0
	}
	b := p.text[p.at]
	p.at++
	switch b {
	case 'x':
		return p.hex(begin, 2)
	case 'u':
		return p.hex(begin, 4)
	case 'U':
		return p.hex(begin, 8)
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'n':
		return '\n'
	}
	if !slices.Contains([]byte(`\"[]-`), b) {
		p.at = begin
		p.fail(`there is no such escape; those known are \x \u \U \t \r \n \\ \" \[ \] \-`)
	}
	return rune(b)
}

func (p *gbnf) hex(begin, digits int) rune {
	r := rune(0)
	for range digits {
		n := strings.IndexByte("0123456789abcdef", p.next()|0x20)
		if p.next() < '0' || n < 0 || r >= 1<<24 {
			p.at = begin
			p.fail("here should be %d hexadecimal digits of a character", digits)
			return 0
		}
		r = 16*r + rune(n)
		p.at++
	}
	if !utf8.ValidRune(r) {
		p.at = begin
		p.fail("there is no such character")
	}
	return r
}
