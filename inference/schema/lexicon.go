package schema

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"dure/inference/schema/grammar"
)

const (
	// maxIndent is how many blanks or tabs a line may begin with.
	maxIndent = 40
	// maxDigits is how many digits a number has at most before its point, and
	// maxFraction behind it, where the schema does not need more: all such integers
	// fit 64 bits, and no answer is digits without end.
	maxDigits   = 18
	maxFraction = 17
)

// lexicon is what JSON is made of.
type lexicon struct {
	space  grammar.Expr // between brackets and what they hold, and behind a comma
	gap    grammar.Expr // behind a colon
	text   *grammar.Rule
	char   grammar.Expr // one character of a string, or an escape
	value  *grammar.Rule
	object *grammar.Rule
}

func chars(s string) grammar.Expr {
	var ranges []grammar.Range
	for _, r := range s {
		ranges = append(ranges, grammar.Range{Lo: r, Hi: r})
	}
	return grammar.Class(ranges...)
}

func digits(least, most int) grammar.Expr {
	return grammar.Repeat(grammar.Class(grammar.Range{Lo: '0', Hi: '9'}), least, most)
}

func newLexicon(compact bool) *lexicon {
	l := &lexicon{
		text: grammar.NewRule("string"), value: grammar.NewRule("any value"), object: grammar.NewRule("any object"),
		space: grammar.Literal(""), gap: grammar.Literal(""),
	}
	if !compact {
		space := grammar.NewRule("space")
		space.Define(grammar.Alternative(grammar.Literal(""), grammar.Literal(" "), grammar.Concat(grammar.Literal("\n"), grammar.Repeat(chars(" \t"), 0, maxIndent))))
		l.space, l.gap = space, grammar.Optional(grammar.Literal(" "))
	}
	hex := chars("0123456789abcdefABCDEF")
	// No half of a pair of surrogates may stand alone.
	unicode := grammar.Concat(grammar.Literal("u"), grammar.Alternative(
		grammar.Concat(chars("0123456789abcefABCEF"), hex, hex, hex),
		grammar.Concat(chars("dD"), chars("01234567"), hex, hex),
		grammar.Concat(chars("dD"), chars("89abAB"), hex, hex, grammar.Literal(`\u`), chars("dD"), chars("cdefCDEF"), hex, hex)))
	l.char = grammar.Alternative(
		grammar.Except(grammar.Range{Lo: 0, Hi: 0x1f}, grammar.Range{Lo: '"', Hi: '"'}, grammar.Range{Lo: '\\', Hi: '\\'}),
		grammar.Concat(grammar.Literal(`\`), grammar.Alternative(chars(`"\/bfnrt`), unicode)))
	l.text.Define(grammar.Concat(grammar.Literal(`"`), grammar.Repeat(l.char, 0, grammar.Unlimited), grammar.Literal(`"`)))
	l.object.Define(l.members([]entry{{key: l.text, value: l.value}}))
	l.value.Define(grammar.Alternative(l.object, l.items(l.value, 0, unlimited), l.text, l.anyNumber(true),
		grammar.Literals("true", "false", "null")))
	return l
}

// anyNumber is a number, or an integer, of bounded length.
func (l *lexicon) anyNumber(fraction bool) grammar.Expr {
	whole := grammar.Concat(grammar.Class(grammar.Range{Lo: '1', Hi: '9'}), digits(0, maxDigits-1))
	minus := grammar.Optional(grammar.Literal("-"))
	if !fraction {
		return grammar.Alternative(grammar.Literal("0"), grammar.Concat(minus, whole))
	}
	return grammar.Concat(minus, grammar.Alternative(grammar.Literal("0"), whole),
		grammar.Optional(grammar.Concat(grammar.Literal("."), digits(1, maxFraction))),
		grammar.Optional(grammar.Concat(chars("eE"), grammar.Optional(chars("+-")), digits(1, 2))))
}

// entry is a member whose name is not known.
type entry struct{ key, value grammar.Expr }

// member is a name and a value.
func (l *lexicon) member(key, value grammar.Expr) grammar.Expr {
	return grammar.Concat(key, grammar.Literal(":"), l.gap, value)
}

// next is what stands between two members or items.
func (l *lexicon) next() grammar.Expr { return grammar.Concat(grammar.Literal(","), l.space) }

// anyEntry is one member out of several kinds.
func (l *lexicon) anyEntry(entries []entry) grammar.Expr {
	var out []grammar.Expr
	for _, e := range entries {
		out = append(out, l.member(e.key, e.value))
	}
	return grammar.Alternative(out...)
}

// members is an object of any number of entries.
func (l *lexicon) members(entries []entry) grammar.Expr {
	one := l.anyEntry(entries)
	more := grammar.Repeat(grammar.Concat(l.next(), one), 0, grammar.Unlimited)
	return l.braces(grammar.Alternative(grammar.Literal(""), grammar.Concat(one, more, l.space)))
}

// braces puts what an object holds, space at its end included, into them.
func (l *lexicon) braces(inside grammar.Expr) grammar.Expr {
	return grammar.Concat(grammar.Literal("{"), l.space, inside, grammar.Literal("}"))
}

// items is an array of least to most items of one kind.
func (l *lexicon) items(item grammar.Expr, least, most int) grammar.Expr {
	return grammar.Concat(grammar.Literal("["), l.space, l.rest(item, least, most, true), grammar.Literal("]"))
}

// rest is so many items, with space behind the last; first says that none is in front.
func (l *lexicon) rest(item grammar.Expr, least, most int, first bool) grammar.Expr {
	next := grammar.Concat(l.next(), item)
	if !first {
		return grammar.Concat(grammar.Repeat(next, least, most), l.space)
	}
	if most == 0 {
		return grammar.Literal("")
	}
	more := most
	if most != unlimited {
		more--
	}
	some := grammar.Concat(item, grammar.Repeat(next, max(least-1, 0), more), l.space)
	if least == 0 {
		return grammar.Optional(some)
	}
	return some
}

// quote writes a string as JSON does, with no more escapes than there must be.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		b.WriteString(escape(r))
	}
	b.WriteByte('"')
	return b.String()
}

var shortEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

func escape(r rune) string {
	if s, ok := shortEscapes[r]; ok {
		return s
	}
	if r < 0x20 {
		return fmt.Sprintf(`\u%04x`, r)
	}
	return string(r)
}

// oneOf is one character of the ranges in a string, written as escape does.
func oneOf(ranges []grammar.Range) grammar.Expr {
	var direct []grammar.Range
	var escapes []string
	for _, r := range ranges {
		lo := r.Lo
		for c := r.Lo; c <= min(r.Hi, '\\'); c++ {
			if e := escape(c); len(e) > 1 {
				escapes = append(escapes, e)
				if lo < c {
					direct = append(direct, grammar.Range{Lo: lo, Hi: c - 1})
				}
				lo = c + 1
			}
		}
		if lo <= r.Hi {
			direct = append(direct, grammar.Range{Lo: lo, Hi: r.Hi})
		}
	}
	class := grammar.Class(direct...)
	switch {
	case len(escapes) == 0:
		return class
	case len(direct) == 0:
		return grammar.Literals(escapes...)
	}
	return grammar.Alternative(class, grammar.Literals(escapes...))
}

func length(s string) int { return utf8.RuneCountInString(s) }
