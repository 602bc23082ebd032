package pattern

import (
	"slices"
	"strings"
	"unicode/utf8"

	"dure/inference/schema/grammar"
)

// class reads what follows a [.
func (p *parser) class(pos int) set {
	not := p.take("^")
	if p.next() == ']' {
		p.fail(pos, `whether [] holds no character or begins with ] is read differently by different programs; write [\]...] or [\s\S]`)
	}
	var out set
	for p.err == nil && !p.take("]") {
		if p.next() == eof {
			p.fail(pos, "there is no ] for this [")
			break
		}
		out = out.or(p.classRange())
	}
	if not {
		return out.not()
	}
	return out
}

// classRange reads a character, a range, or an escape that stands for several.
func (p *parser) classRange() set {
	pos := p.at
	from, single := p.classAtom()
	if p.err != nil || p.next() != '-' || p.at+1 >= len(p.text) || p.text[p.at+1] == ']' {
		return from
	}
	p.at++
	to, alsoSingle := p.classAtom()
	if !single || !alsoSingle {
		return from.or(to).or(one('-')) // as in [\w-.]: no range
	}
	lo, hi := from.wide[0].Lo, to.wide[0].Lo
	if p.err == nil && lo > hi {
		p.fail(pos, "the range runs backwards")
	}
	return exactly(grammar.Range{Lo: lo, Hi: hi})
}

// classAtom reads one character or an escape, and says whether it is one character.
func (p *parser) classAtom() (s set, single bool) {
	pos := p.at
	r := p.next()
	p.at++
	switch {
	case r == eof:
		p.fail(pos, "there is no ] for this class")
		return set{}, false
	case r == '[' && strings.ContainsRune(":.=", p.next()):
		p.fail(pos, `[: in a class is read differently by different programs; write \[ or a range such as a-z`)
	case r != '\\':
		return one(r), true
	case p.take("b"):
		return one('\b'), true
	case p.take("-"):
		return one('-'), true
	}
	s = p.escape(pos)
	return s, len(s.wide) == 1 && s.wide[0].Lo == s.wide[0].Hi
}

// escape reads what follows a \.
func (p *parser) escape(pos int) set {
	r := p.next()
	p.at++
	if s, ok := classEscape(r); ok {
		return s
	}
	switch r {
	case eof:
		p.fail(pos, `there is nothing behind \`)
	case 't':
		return one('\t')
	case 'n':
		return one('\n')
	case 'v':
		return one('\v')
	case 'f':
		return one('\f')
	case 'r':
		return one('\r')
	case 'c':
		return p.control(pos)
	case 'x':
		return one(p.hex(pos, 2))
	case 'u':
		return one(p.unicode(pos))
	case 'p', 'P':
		return p.property(pos, r == 'P')
	case 'b', 'B':
		p.fail(pos, `\%c cannot be expressed; say which characters may stand there`, r)
	case 'A', 'Z', 'z':
		p.fail(pos, `\%c is not known in JSON Schema; use ^ and $`, r)
	case '0':
		if n := p.next(); n < '0' || n > '9' {
			return one(0)
		}
		fallthrough
	default:
		return p.identity(pos, r)
	}
	return one('x')
}

// identity is an escape that stands for the character itself.
func (p *parser) identity(pos int, r rune) set {
	switch {
	case '0' <= r && r <= '9' || r == 'k':
		p.fail(pos, "a reference to a group cannot be expressed")
	case r >= 0x80 || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z':
		p.fail(pos, `the escape \%c is not known`, r)
	}
	return one(r)
}

func (p *parser) control(pos int) set {
	r := p.next()
	if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
		p.fail(pos, `behind \c there should be a letter`)
		return one('x')
	}
	p.at++
	return one(r & 0x1f)
}

func (p *parser) hex(pos, digits int) rune {
	r := rune(0)
	for range digits {
		n := strings.IndexRune("0123456789abcdef", p.next()|0x20)
		if p.next() < '0' || n < 0 {
			p.fail(pos, "here should be %d hexadecimal digits", digits)
			return 'x'
		}
		r = 16*r + rune(n)
		p.at++
	}
	return r
}

// unicode reads what follows a \u: four digits, a pair of surrogates, or {digits}.
func (p *parser) unicode(pos int) rune {
	var r rune
	if p.take("{") {
		n := 0
		for ; p.next() != '}' && p.err == nil; n++ {
			if r = r<<4 | p.hex(pos, 1); r > utf8.MaxRune {
				p.fail(pos, "there is no such character")
			}
		}
		p.at++
		if n == 0 {
			p.fail(pos, "there is no such character")
		}
	} else if r = p.hex(pos, 4); 0xd800 <= r && r < 0xdc00 && p.take(`\u`) {
		if low := p.hex(pos, 4); 0xdc00 <= low && low < 0xe000 {
			r = 0x10000 + (r-0xd800)<<10 + (low - 0xdc00)
		}
	}
	if p.err == nil && !utf8.ValidRune(r) {
		p.fail(pos, "there is no such character")
	}
	return r
}

func (p *parser) property(pos int, not bool) set {
	if !p.take("{") {
		p.fail(pos, `behind \p there should be a name in { }`)
		return one('x')
	}
	closing := slices.Index(p.text[p.at:], '}')
	if closing < 0 {
		p.fail(pos, `behind \p there should be a name in { }`)
		return one('x')
	}
	s, err := property(string(p.text[p.at : p.at+closing]))
	if err != nil {
		p.fail(pos, "%v", err)
		return one('x')
	}
	p.at += closing + 1
	if not {
		return s.not()
	}
	return s
}
