package schema

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"dure/inference/schema/grammar"
	"dure/inference/schema/pattern"
)

// maxPatterned is how long a string under a pattern and a maxLength beyond that is
// written, in characters: there, each character more is a state more.
const maxPatterned = 4096

func (c *compiler) applyPattern(f *flat, at, v *value) {
	if v.kind != text {
		c.fail(at, "pattern", "it must be a string")
		return
	}
	a, err := c.pattern(v.text, false)
	if err != nil {
		c.refuse(at, "pattern", "%.100q cannot be guaranteed: %v", v.text, err)
		return
	}
	f.texts = append(f.texts, textRule{"pattern " + v.text, a})
}

func (c *compiler) applyFormat(f *flat, at, v *value) {
	if v.kind != text {
		c.fail(at, "format", "it must be a string")
		return
	}
	if r, ok := numberFormats[v.text]; ok {
		f.implied |= typeNumber
		f.low, f.high = tighter(f.low, r.low, 1), tighter(f.high, r.high, -1)
		return
	}
	f.implied |= typeText
	expr, ok := formats[v.text]
	switch {
	case ok:
		a, err := c.pattern(expr, false)
		if err != nil {
			c.fail(at, "format", "%v", err)
			return
		}
		f.texts = append(f.texts, textRule{"format " + v.text, a})
	case looseFormats[v.text]:
		c.ignore(at, "format "+v.text)
	default:
		c.refuse(at, "format", "%.60q is not known here; write a pattern, or leave it out (known are %s)", v.text, strings.Join(formatNames, ", "))
	}
}

// emitText is the strings of one alternative.
func (c *compiler) emitText(f *flat) grammar.Expr {
	if len(f.texts) == 0 && f.minLength == 0 && f.maxLength == unlimited {
		return c.lexicon.text
	}
	var keys []string
	for _, t := range f.texts {
		keys = append(keys, t.key)
	}
	slices.Sort(keys)
	key := strconv.Quote(strings.Join(keys, "\x00")) + strconv.Itoa(f.minLength) + " " + strconv.Itoa(f.maxLength)
	e := c.texts[key]
	if e == nil {
		rule := grammar.NewRule("string of #" + f.at.path)
		rule.Define(c.textOf(f))
		e = rule
		c.texts[key] = e
	}
	return e
}

func (c *compiler) textOf(f *flat) grammar.Expr {
	if len(f.texts) == 0 {
		return grammar.Concat(grammar.Literal(`"`), grammar.Repeat(c.lexicon.char, f.minLength, f.maxLength), grammar.Literal(`"`))
	}
	a, err := c.language(f)
	if err != nil {
		keyword := "pattern"
		if len(f.texts) == 1 {
			keyword, _, _ = strings.Cut(f.texts[0].key, " ")
		}
		c.refuse(f.at, keyword, "together with the other keywords for the string: %v", err)
		return c.lexicon.text
	}
	return c.quoted(a)
}

// language is the set of strings of one alternative that has texts.
func (c *compiler) language(f *flat) (*pattern.Automaton, error) {
	a := f.texts[0].automaton
	var err error
	for _, t := range f.texts[1:] {
		if a, err = c.intersect(a, t.automaton); err != nil {
			return nil, err
		}
	}
	if a.Empty() || f.minLength == 0 && f.maxLength == unlimited {
		return a, nil
	}
	shortest, longest := a.Lengths()
	if f.minLength <= shortest && (f.maxLength == unlimited || longest >= 0 && longest <= f.maxLength) {
		return a, nil
	}
	longest = f.maxLength
	if longest > maxPatterned {
		longest = max(maxPatterned, f.minLength)
	}
	lengths, err := pattern.Length(f.minLength, longest)
	if err != nil {
		return nil, err
	}
	return c.intersect(a, lengths)
}

func (c *compiler) intersect(a, b *pattern.Automaton) (*pattern.Automaton, error) {
	both, err := a.Intersect(b)
	if err != nil {
		c.spend(failureWork)
		return nil, err
	}
	c.spend(1 + both.Size()/automatonWork)
	return both, nil
}

// quoted is the strings of a set in quotation marks.
func (c *compiler) quoted(a *pattern.Automaton) grammar.Expr {
	return grammar.Concat(grammar.Literal(`"`), graph(a, c.character), grammar.Literal(`"`))
}

// character is one of the ranges. Those that take many bytes to tell from others
// are a rule, which all that need them share.
func (c *compiler) character(ranges []grammar.Range) grammar.Expr {
	if last := ranges[len(ranges)-1]; last.Hi < 0x80 && len(ranges) <= 4 {
		return oneOf(ranges)
	}
	var b []byte
	for _, r := range ranges {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(r.Lo)), uint64(r.Hi))
	}
	key := string(b)
	e := c.classes[key]
	if e == nil {
		rule := grammar.NewRule("character")
		rule.Define(oneOf(ranges))
		e = rule
		c.classes[key] = e
	}
	return e
}

// graph is the texts of a set, each character written by one.
func graph(a *pattern.Automaton, one func([]grammar.Range) grammar.Expr) grammar.Expr {
	states := make([]grammar.GraphState, a.Len())
	for i := range states {
		states[i].Final = a.Final(i)
		to := map[int][]grammar.Range{}
		var order []int
		for r, next := range a.Edges(i) {
			if to[next] == nil {
				order = append(order, next)
			}
			to[next] = append(to[next], r)
		}
		for _, next := range order {
			states[i].Edges = append(states[i].Edges, grammar.GraphEdge{On: one(to[next]), To: next})
		}
	}
	return grammar.Graph(states)
}
