package pattern

import (
	"fmt"
	"slices"
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
