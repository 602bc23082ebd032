package schema

import "dure/inference/schema/grammar"

// item is what the item at a place has to fulfil.
func (f *flat) item(place int) set {
	var out set
	for _, a := range f.arrays {
		switch {
		case place < len(a.prefix):
			out = union(out, set{a.prefix[place]})
		case a.rest != nil:
			out = union(out, set{a.rest})
		}
	}
	return out
}

// prefix is how many items have a schema of their own.
func (f *flat) prefix() int {
	n := 0
	for _, a := range f.arrays {
		n = max(n, len(a.prefix))
	}
	return n
}

// emitArray is the arrays of one alternative.
func (c *compiler) emitArray(f *flat) grammar.Expr {
	if f.unique != nil && (f.maxItems == unlimited || f.maxItems > 1) {
		c.refuse(f.unique, "uniqueItems", "it cannot be guaranteed; set maxItems to 1, list an object with a boolean for each value, or leave it out")
	}
	l := c.lexicon
	prefix := f.prefix()
	if f.maxItems != unlimited && f.maxItems < prefix {
		prefix = f.maxItems
	}
	most := unlimited
	if f.maxItems != unlimited {
		most = f.maxItems - prefix
	}
	// From the last item with a schema of its own to the first.
	e := grammar.Expr(grammar.Literal(""))
	if most == 0 {
		if prefix > 0 {
			e = l.space
		}
	} else {
		e = l.rest(c.rule(f.item(f.prefix())), max(f.minItems-prefix, 0), most, prefix == 0)
	}
	for i := prefix - 1; i >= 0; i-- {
		e = grammar.Concat(c.rule(f.item(i)), e)
		if i > 0 {
			e = grammar.Concat(l.next(), e)
		}
		if f.minItems > i {
			continue
		}
		// It may as well end before this item.
		before := grammar.Expr(grammar.Literal(""))
		if i > 0 {
			before = l.space
		}
		e = grammar.Alternative(before, e)
	}
	return grammar.Concat(grammar.Literal("["), l.space, e, grammar.Literal("]"))
}
