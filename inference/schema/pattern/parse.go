package pattern

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"dure/inference/schema/grammar"
)

// SyntaxError says what in a pattern is malformed or cannot be expressed.
type SyntaxError struct {
	Pos     int // in characters, from 0
	Message string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("at character %d: %s", e.Pos, e.Message) }

// expr is a part of a pattern.
type expr interface{}

type (
	chars  set
	concat []expr
	either []expr
	times  struct {
		of       expr
		min, max int // max below 0 is no bound
	}
	begin struct{}
	end   struct{}
	look  struct {
		ahead expr
		not   bool
	}
)

const (
	// maxGroups is how deep groups may be nested.
	maxGroups = 100
	// maxTimes is the largest number of repetitions.
	maxTimes = MaxStates
)

type parser struct {
	text   []rune
	at     int
	groups int
	looks  int // how deep inside of lookaheads
	err    *SyntaxError
}

func parse(text string) (expr, error) {
	if !utf8.ValidString(text) {
		return nil, &SyntaxError{0, "it is not UTF-8"}
	}
	p := &parser{text: []rune(text)}
	e := p.alternatives()
	if p.err == nil && p.at < len(p.text) {
		p.fail(p.at, "there is no ( for this )")
	}
	if p.err != nil {
		return nil, p.err
	}
	return e, nil
}

func (p *parser) fail(pos int, format string, args ...any) {
	if p.err == nil {
		p.err = &SyntaxError{pos, fmt.Sprintf(format, args...)}
		p.at = len(p.text)
	}
}

const eof = rune(-1)

func (p *parser) next() rune {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return eof
}

func (p *parser) take(s string) bool {
	n := utf8.RuneCountInString(s)
	if p.at+n > len(p.text) || string(p.text[p.at:p.at+n]) != s {
		return false
	}
	p.at += n
	return true
}

func (p *parser) alternatives() expr {
	out := either{p.sequence()}
	for p.take("|") {
		out = append(out, p.sequence())
	}
	if len(out) == 1 {
		return out[0]
	}
	return out
}

func (p *parser) sequence() expr {
	var out concat
	for p.err == nil {
		switch p.next() {
		case eof, '|', ')':
			return out
		}
		pos := p.at
		e, repeats := p.term()
		if p.err != nil {
			break
		}
		if min, max, ok := p.quantifier(); ok {
			if !repeats {
				p.fail(pos, "this cannot be repeated")
			}
			e = times{e, min, max}
		}
		out = append(out, e)
	}
	return out
}

// term reads a part, and says whether it may be repeated.
func (p *parser) term() (e expr, repeats bool) {
	pos := p.at
	r := p.next()
	p.at++
	switch r {
	case '^':
		if p.looks > 0 {
			p.fail(pos, "^ in a lookahead cannot be expressed")
		}
		return begin{}, false
	case '$':
		return end{}, false
	case '(':
		return p.group(pos)
	case '[':
		return chars(p.class(pos)), true
	case '.':
		return chars(lineEnds.not()), true
	case '\\':
		return chars(p.escape(pos)), true
	case '*', '+', '?':
		p.fail(pos, "there is nothing to repeat")
	case '{':
		p.at = pos
		if _, _, ok := p.quantifier(); ok {
			p.fail(pos, "there is nothing to repeat")
		}
		p.at = pos + 1
	}
	return chars(one(r)), true
}

func (p *parser) group(pos int) (expr, bool) {
	if p.groups++; p.groups > maxGroups {
		p.fail(pos, "groups are nested more than %d deep", maxGroups)
		return nil, false
	}
	defer func() { p.groups-- }()
	ahead, not := p.take("?="), false
	if !ahead {
		not = p.take("?!")
		ahead = not
	}
	switch {
	case ahead:
		p.looks++
		defer func() { p.looks-- }()
	case p.take("?<=") || p.take("?<!"):
		p.fail(pos, "a lookbehind cannot be expressed")
	case p.take("?:"):
	case p.take("?<") || p.take("?P<"):
		for name := p.at; ; p.at++ {
			if r := p.next(); r == '>' && p.at > name {
				p.at++
				break
			} else if r == eof || !slices.ContainsFunc(words.wide, func(x grammar.Range) bool { return x.Lo <= r && r <= x.Hi }) {
				p.fail(pos, "the name of the group is not one")
				break
			}
		}
	case p.next() == '?':
		p.fail(pos, "groups that begin with (? and no : = ! or < cannot be expressed (flags such as (?i): write both cases in a class)")
	}
	e := p.alternatives()
	if !p.take(")") {
		p.fail(pos, "there is no ) for this (")
	}
	if ahead {
		return look{e, not}, false
	}
	return e, true
}

// quantifier reads *, +, ?, {n}, {n,}, {n,m}, each with or without a ? behind it that
// makes no difference to what matches. A { that begins none of these is a character.
func (p *parser) quantifier() (least, most int, ok bool) {
	pos := p.at
	switch {
	case p.take("*"):
		least, most = 0, -1
	case p.take("+"):
		least, most = 1, -1
	case p.take("?"):
		least, most = 0, 1
	case p.next() == '{':
		if least, most, ok = p.bounds(); !ok {
			p.at = pos
			return 0, 0, false
		}
	default:
		return 0, 0, false
	}
	if least > maxTimes || most > maxTimes {
		p.fail(pos, "more than %d repetitions; use minLength or maxLength for lengths", maxTimes)
	}
	if most >= 0 && least > most {
		p.fail(pos, "at least %d and at most %d is never", least, most)
	}
	p.take("?")
	if n := p.next(); n == '+' || n == '*' || n == '?' {
		p.fail(p.at, "there is nothing to repeat")
	}
	return least, most, true
}

func (p *parser) bounds() (least, most int, ok bool) {
	p.at++
	least, ok = p.number()
	if !ok {
		return 0, 0, false
	}
	most = least
	if p.take(",") {
		if most, ok = p.number(); !ok {
			most = -1
		}
	}
	return least, most, p.take("}")
}

func (p *parser) number() (int, bool) {
	n, pos := 0, p.at
	for ; '0' <= p.next() && p.next() <= '9'; p.at++ {
		n = min(10*n+int(p.next()-'0'), maxTimes+1)
	}
	return n, p.at > pos
}

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
