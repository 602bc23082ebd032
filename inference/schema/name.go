package schema

import (
	"cmp"
	"math/bits"
	"slices"

	"dure/inference/schema/grammar"
	"dure/inference/schema/pattern"
)

// maxPatterns is how many patterns of names may meet: each combination of them is a
// kind of member.
const maxPatterns = 5

// entries are the kinds of members whose names are not mentioned: by which of the
// patterns of names they match.
func (c *compiler) entries(f *flat, names []string) []entry {
	var patterns []patternPart
	for _, o := range f.objects {
		for _, p := range o.patterns {
			if !slices.ContainsFunc(patterns, func(x patternPart) bool { return x.key == p.key }) {
				patterns = append(patterns, p)
			}
		}
	}
	if len(patterns) > maxPatterns {
		c.refuse(f.at, "patternProperties", "more than %d patterns for one object cannot be guaranteed; combine them", maxPatterns)
		return nil
	}
	var out []entry
	for matched := range uint(1) << len(patterns) {
		of := f.entry(patterns, matched)
		if c.never(of) || c.err != nil {
			continue
		}
		if key := c.entryName(f, names, patterns, matched); key != nil {
			out = append(out, entry{key, c.rule(of)})
		}
	}
	return out
}

// entry is what a member has to fulfil whose name matches exactly these patterns.
func (f *flat) entry(patterns []patternPart, matched uint) set {
	var of set
	for _, o := range f.objects {
		known := false
		for _, p := range o.patterns {
			i := slices.IndexFunc(patterns, func(x patternPart) bool { return x.key == p.key })
			if matched>>i&1 != 0 {
				of = union(of, set{p.value})
				known = true
			}
		}
		if !known && o.rest != nil {
			of = union(of, set{o.rest})
		}
	}
	return of
}

// entryName is the names that match exactly these patterns, and are not mentioned;
// nil if there are none.
func (c *compiler) entryName(f *flat, names []string, patterns []patternPart, matched uint) grammar.Expr {
	var rules []*pattern.Automaton
	for i, p := range patterns {
		if matched>>i&1 != 0 {
			rules = append(rules, p.surely)
		} else {
			rules = append(rules, p.perhaps.Complement())
		}
	}
	allowed, err := c.namesOf(f.names)
	if len(rules) == 0 && allowed == nil && err == nil {
		return c.otherName(names)
	}
	if allowed != nil {
		rules = append(rules, allowed)
	}
	mentioned, textsErr := pattern.Texts(names...)
	err = cmp.Or(err, textsErr)
	if err == nil {
		a := mentioned.Complement()
		for _, r := range rules {
			if err == nil {
				a, err = c.intersect(a, r)
			}
		}
		if err == nil && a.Empty() {
			return nil
		}
		if err == nil {
			return c.quoted(a)
		}
	}
	keyword := "propertyNames"
	if bits.OnesCount(matched) > 0 {
		keyword = "patternProperties"
	}
	c.refuse(f.at, keyword, "the names cannot be told from others: %v", err)
	return nil
}

// namesOf is the set of names that fulfil all of propertyNames; nil is any.
func (c *compiler) namesOf(names set) (*pattern.Automaton, error) {
	if len(c.simplify(names)) == 0 {
		return nil, nil
	}
	all := (*pattern.Automaton)(nil)
	for _, f := range c.flatten(names) {
		if f.types&typeText == 0 {
			continue
		}
		one, err := c.strings(f)
		if err != nil {
			return nil, err
		}
		if one == nil {
			return nil, nil
		}
		if all == nil {
			all = one
			continue
		}
		// Either is what is not outside of both.
		neither, err := c.intersect(all.Complement(), one.Complement())
		if err != nil {
			return nil, err
		}
		all = neither.Complement()
	}
	if all == nil {
		all = &pattern.Automaton{}
	}
	return all, nil
}

// strings is the set of strings of one alternative; nil is any.
func (c *compiler) strings(f *flat) (*pattern.Automaton, error) {
	switch {
	case f.enum != nil:
		var texts []string
		for _, v := range *f.enum {
			if v.kind == text && c.fulfils(v, f) {
				texts = append(texts, v.text)
			}
		}
		return pattern.Texts(texts...)
	case len(f.texts) > 0:
		return c.language(f)
	case f.minLength > 0 || f.maxLength != unlimited:
		return pattern.Length(f.minLength, f.maxLength)
	}
	return nil, nil
}

// otherName is any string but those: as long as what was read begins one of them,
// which characters follow is told apart, and they are written as quote does.
func (c *compiler) otherName(names []string) grammar.Expr {
	if len(names) == 0 {
		return c.lexicon.text
	}
	type node map[rune]int
	nodes := []node{{}}
	final := map[int]bool{}
	for _, name := range names {
		at := 0
		for _, r := range name {
			if _, ok := nodes[at][r]; !ok {
				nodes[at][r] = len(nodes)
				nodes = append(nodes, node{})
			}
			at = nodes[at][r]
		}
		final[at] = true
	}
	free := len(nodes)
	states := make([]grammar.GraphState, free+1)
	states[free] = grammar.GraphState{Final: true, Edges: []grammar.GraphEdge{{On: c.lexicon.char, To: free}}}
	for i, next := range nodes {
		states[i].Final = !final[i]
		var known []grammar.Range
		for r, to := range next {
			known = append(known, grammar.Range{Lo: r, Hi: r})
			states[i].Edges = append(states[i].Edges, grammar.GraphEdge{On: grammar.Literal(escape(r)), To: to})
		}
		slices.SortFunc(states[i].Edges, func(a, b grammar.GraphEdge) int { return a.To - b.To })
		states[i].Edges = append(states[i].Edges, grammar.GraphEdge{On: c.character(grammar.Others(known...)), To: free})
	}
	return grammar.Concat(grammar.Literal(`"`), grammar.Graph(states), grammar.Literal(`"`))
}
