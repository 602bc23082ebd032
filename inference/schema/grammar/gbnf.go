package grammar

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// SyntaxError says where a text is not GBNF, and why.
type SyntaxError struct {
	Line, Column int // from 1; the column in characters
	Message      string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message) }

// maxGroups is how deep groups may be nested.
const maxGroups = 200

// ParseGBNF reads a grammar in llama.cpp's notation (grammars/README.md there) and
// returns its rule "root". All errors are *SyntaxError. Where llama.cpp would read on
// with something else than was written, it is an error here: a rule that is defined
// twice, a class without characters or with a range that runs backwards. What names
// tokens instead of text (<think>, <[1000]>) is refused too.
func ParseGBNF(text string) (Expr, error) {
	p := &gbnf{text: text, rules: map[string]*Rule{}, used: map[string]int{}}
	p.space(true)
	for p.err == nil && p.at < len(p.text) {
		p.rule()
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.whole()
}

type gbnf struct {
	text   string
	at     int
	rules  map[string]*Rule
	names  []string       // of rules, in the order in which they were first seen
	used   map[string]int // where a rule is first referred to
	groups int
	err    *SyntaxError // the first; nothing is read on after it
}

// whole checks that all rules are there.
func (p *gbnf) whole() (Expr, error) {
	for _, name := range p.names {
		if !p.rules[name].defined {
			p.at = p.used[name]
			return nil, p.fail("rule %q is not defined", name)
		}
	}
	root := p.rules["root"]
	if root == nil {
		return nil, p.fail(`there is no rule "root", where a grammar begins`)
	}
	return root, nil
}

// fail notes an error at the place in hand.
func (p *gbnf) fail(format string, args ...any) *SyntaxError {
	if p.err == nil {
		line := p.text[:min(p.at, len(p.text))]
		p.err = &SyntaxError{
			Line: 1 + strings.Count(line, "\n"), Column: 1 + utf8.RuneCountInString(line[strings.LastIndexByte(line, '\n')+1:]),
			Message: fmt.Sprintf(format, args...),
		}
		p.at = len(p.text)
	}
	return p.err
}

// next is the byte in hand, 0 at the end.
func (p *gbnf) next() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// take goes over a text if it is next.
func (p *gbnf) take(s string) bool {
	if !strings.HasPrefix(p.text[p.at:], s) {
		return false
	}
	p.at += len(s)
	return true
}

// space goes over blanks and comments, and where lines may end over their ends.
func (p *gbnf) space(lines bool) {
	for {
		switch b := p.next(); {
		case b == '#':
			if n := strings.IndexAny(p.text[p.at:], "\r\n"); n >= 0 {
				p.at += n
			} else {
				p.at = len(p.text)
			}
		case b == ' ' || b == '\t' || lines && (b == '\r' || b == '\n'):
			p.at++
		default:
			return
		}
	}
}

func isNameByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '-'
}

func (p *gbnf) name() string {
	begin := p.at
	for isNameByte(p.next()) {
		p.at++
	}
	if begin == p.at {
		p.fail("here should be the name of a rule: letters, digits and -")
		return ""
	}
	return p.text[begin:p.at]
}

func (p *gbnf) ruleNamed(name string) *Rule {
	r := p.rules[name]
	if r == nil {
		r = NewRule(name)
		p.rules[name] = r
		p.names = append(p.names, name)
	}
	return r
}

func (p *gbnf) rule() {
	begin := p.at
	name := p.name()
	p.space(false)
	if !p.take("::=") {
		p.fail("here should be ::=")
		return
	}
	r := p.ruleNamed(name)
	if r.defined {
		p.at = begin
		p.fail("rule %q is defined twice", name)
		return
	}
	p.space(true)
	of := p.alternatives(false)
	if p.at < len(p.text) && p.next() != '\r' && p.next() != '\n' {
		p.fail("here should be a part of a rule, | or the end of the line")
		return
	}
	r.Define(of)
	p.space(true)
}

func (p *gbnf) alternatives(nested bool) Expr {
	out := alternative{p.sequence(nested)}
	for p.take("|") {
		p.space(true)
		out = append(out, p.sequence(nested))
	}
	return out
}

// sequence reads parts up to what is none.
func (p *gbnf) sequence(nested bool) Expr {
	var out concat
	for p.err == nil {
		begin := p.at
		var part Expr
		switch b := p.next(); {
		case b == '"':
			part = p.literal()
		case b == '[':
			part = p.class()
		case b == '(':
			part = p.group()
		case b == '.':
			p.at++
			part = Except()
		case b == '<' || b == '!':
			p.fail("tokens cannot be named here; write their text in quotation marks")
		case isNameByte(b):
			name := p.name()
			part = p.ruleNamed(name)
			if _, ok := p.used[name]; !ok {
				p.used[name] = begin
			}
		default:
			return out
		}
		p.space(nested)
		out = append(out, p.repetitions(part, nested))
	}
	return out
}

func (p *gbnf) group() Expr {
	p.at++
	if p.groups++; p.groups > maxGroups {
		p.fail("groups are nested more than %d deep", maxGroups)
		return nil
	}
	p.space(true)
	of := p.alternatives(true)
	if !p.take(")") {
		p.fail("here should be a part of a rule, | or )")
	}
	p.groups--
	return of
}

// repetitions reads what may follow a part: any number of *, +, ? and {m,n}.
func (p *gbnf) repetitions(part Expr, nested bool) Expr {
	for p.err == nil {
		switch {
		case p.take("*"):
			part = Repeat(part, 0, Unlimited)
		case p.take("+"):
			part = Repeat(part, 1, Unlimited)
		case p.take("?"):
			part = Repeat(part, 0, 1)
		case p.next() == '{':
			part = p.bounds(part, nested)
		default:
			return part
		}
		p.space(nested)
	}
	return part
}

func (p *gbnf) bounds(part Expr, nested bool) Expr {
	begin := p.at
	p.at++
	p.space(nested)
	least := p.number()
	most := least
	p.space(nested)
	if p.take(",") {
		p.space(nested)
		most = Unlimited
		if b := p.next(); '0' <= b && b <= '9' {
			most = p.number()
			p.space(nested)
		}
	}
	if !p.take("}") {
		p.fail("here should be , or }")
	}
	if most != Unlimited && least > most {
		p.at = begin
		p.fail("at least %d and at most %d is never", least, most)
	}
	return Repeat(part, least, most)
}

func (p *gbnf) number() int {
	begin, n := p.at, 0
	for ; '0' <= p.next() && p.next() <= '9'; p.at++ {
		if n = 10*n + int(p.next()-'0'); n > MaxRepeat {
			p.fail("a repetition may be at most %d", MaxRepeat)
			return 0
		}
	}
	if begin == p.at {
		p.fail("here should be a number")
	}
	return n
}
