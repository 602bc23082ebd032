package schema

import "dure/inference/schema/grammar"

// emitEnum is those of the values that fulfil the rest of the alternative too.
func (c *compiler) emitEnum(f *flat) grammar.Expr {
	var plain []string
	var out []grammar.Expr
	for _, v := range *f.enum {
		if c.spend(1); c.err != nil {
			return nil
		}
		if !c.fulfils(v, f) {
			continue
		}
		if v.kind == array || v.kind == object {
			out = append(out, c.exactly(v))
		} else {
			plain = append(plain, scalar(v))
		}
	}
	return grammar.Alternative(append(out, grammar.Literals(plain...))...)
}

func scalar(v *value) string {
	switch {
	case v.kind == number:
		return v.raw
	case v.kind == text:
		return quote(v.text)
	case v.kind == null:
		return "null"
	case v.is:
		return "true"
	}
	return "false"
}

// exactly is one value.
func (c *compiler) exactly(v *value) grammar.Expr {
	var parts []grammar.Expr
	switch v.kind {
	case array:
		for _, item := range v.items {
			parts = append(parts, c.exactly(item))
		}
		return grammar.Concat(grammar.Literal("["), c.lexicon.space, c.listed(parts), grammar.Literal("]"))
	case object:
		for _, m := range v.members {
			parts = append(parts, c.lexicon.member(grammar.Literal(quote(m.name)), c.exactly(m.value)))
		}
		return c.lexicon.braces(c.listed(parts))
	}
	return grammar.Literal(scalar(v))
}

// listed is all parts, with space behind the last.
func (c *compiler) listed(parts []grammar.Expr) grammar.Expr {
	var out []grammar.Expr
	for i, part := range parts {
		if i > 0 {
			out = append(out, c.lexicon.next())
		}
		out = append(out, part)
	}
	if len(parts) > 0 {
		out = append(out, c.lexicon.space)
	}
	return grammar.Concat(out...)
}
