package schema

import (
	"cmp"
	"math/bits"
	"slices"

	"dure/inference/schema/grammar"
	"dure/inference/schema/pattern"
)

const (
	// maxPatterns is how many patterns of names may meet: each combination of them is
	// a kind of member.
	maxPatterns = 5
	// maxCounted is how many members by how many of them are counted for
	// minProperties and maxProperties.
	maxCounted = 20000
)

// named returns the names that the schema mentions, in its order, and those that are
// only required behind them.
func (f *flat) named() []string {
	var names []string
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, o := range f.objects {
		for _, m := range o.properties {
			add(m.name)
		}
	}
	for _, name := range f.required {
		add(name)
	}
	return names
}

// property is what the member of a name that is mentioned has to fulfil.
func (f *flat) property(name string) set {
	var out set
	for _, o := range f.objects {
		known := false
		for _, m := range o.properties {
			if m.name == name {
				out = union(out, set{m.value})
				known = true
			}
		}
		for _, p := range o.patterns {
			if p.perhaps.Matches(name) {
				out = union(out, set{p.value})
				known = known || p.surely.Matches(name)
			}
		}
		if !known && o.rest != nil {
			out = union(out, set{o.rest})
		}
	}
	return out
}

// open says whether members that are not mentioned are written. Where a schema only
// lists properties they would be valid, but nobody expects them.
func (f *flat) open(names []string) bool {
	return len(names) == 0 || f.minProps > len(names) || slices.ContainsFunc(f.objects, func(o objectPart) bool { return o.explicit })
}

// property of an object as it is emitted.
type property struct {
	name     string
	value    grammar.Expr
	required bool
}

// emitObject is the objects of one alternative.
func (c *compiler) emitObject(f *flat) grammar.Expr {
	names := f.named()
	required := map[string]bool{}
	for _, name := range f.required {
		required[name] = true
	}
	var properties []property
	for _, name := range names {
		if c.spend(1); c.err != nil {
			return nil
		}
		switch of := f.property(name); {
		case c.nameFulfils(name, f.names) && !c.never(of):
			properties = append(properties, property{name, c.rule(of), required[name]})
		case required[name]:
			return grammar.Alternative() // there is no such object
		}
	}
	var entries []entry
	if f.open(names) {
		entries = c.entries(f, names)
	}
	return c.lexicon.braces(c.members(f, properties, entries))
}

// never says whether plainly nothing fulfils a set.
func (c *compiler) never(of set) bool {
	return slices.ContainsFunc(c.simplify(of), func(v *value) bool { return v.kind == boolean && !v.is })
}

// nameFulfils says whether a name fulfils all of propertyNames.
func (c *compiler) nameFulfils(name string, names set) bool {
	return c.fulfilsSet(&value{kind: text, text: name}, names)
}

// counting says how many members an object has to have at least and at most, as far as
// that is not certain anyway, and up to which number they are told apart.
type counting struct{ least, most, upTo int }

func (c *compiler) counting(f *flat, properties []property, entries []entry) counting {
	need, n := 0, len(properties)
	for _, p := range properties {
		if p.required {
			need++
		}
	}
	k := counting{f.minProps, f.maxProps, 1}
	if k.least <= need {
		k.least = 0
	}
	if k.most >= n && len(entries) == 0 {
		k.most = unlimited
	}
	// Beyond those that are known, only entries count.
	k.upTo = min(max(1, k.least, k.most), n+1)
	if (n+1)*(k.upTo+1) > maxCounted {
		c.refuse(f.at, "minProperties", "so many properties cannot be counted; leave minProperties and maxProperties out")
		return counting{0, unlimited, 1}
	}
	if k.least > n+1 && len(entries) > 0 {
		// Two entries may have the same name, and then they are one.
		c.refuse(f.at, "minProperties", "only names that are known can be counted: name the properties, or set it to %d", n+1)
		k.least = n + 1
	}
	return k
}

// members is the properties in their order, each there or not, and then entries. The
// states of the graph are how many properties were decided on, by how many are there.
func (c *compiler) members(f *flat, properties []property, entries []entry) grammar.Expr {
	count := c.counting(f, properties, entries)
	state := func(i, k int) int { return i*(count.upTo+1) + k }
	states := make([]grammar.GraphState, state(len(properties), count.upTo)+2)
	last := len(states) - 1
	states[last].Final = true
	for i, p := range properties {
		first := c.lexicon.member(grammar.Literal(quote(p.name)), p.value)
		further := grammar.Concat(c.lexicon.next(), first)
		for k := range count.upTo + 1 {
			s := &states[state(i, k)]
			if !p.required {
				s.Edges = append(s.Edges, grammar.GraphEdge{On: grammar.Literal(""), To: state(i+1, k)})
			}
			on := further
			if k == 0 {
				on = first
			}
			if count.most == unlimited || k < count.most {
				s.Edges = append(s.Edges, grammar.GraphEdge{On: on, To: state(i+1, min(k+1, count.upTo))})
			}
		}
	}
	for k := range count.upTo + 1 {
		if e := c.ending(count, k, entries); e != nil {
			states[state(len(properties), k)].Edges = []grammar.GraphEdge{{On: e, To: last}}
		}
	}
	return grammar.Graph(states)
}

// ending is what may follow k properties: entries, and space where there is a member.
// It is nil where there must be more members than can be told from each other.
func (c *compiler) ending(count counting, k int, entries []entry) grammar.Expr {
	missing, room := max(count.least-k, 0), unlimited
	if count.most != unlimited {
		room = max(count.most-k, 0)
	}
	switch {
	case missing > 1:
		return nil
	case len(entries) > 0 && room != 0:
		return c.lexicon.rest(c.lexicon.anyEntry(entries), missing, room, k == 0)
	case missing > 0:
		return nil
	case k == 0:
		return grammar.Literal("")
	}
	return c.lexicon.space
}

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
			return quoted(a)
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
		states[i].Edges = append(states[i].Edges, grammar.GraphEdge{On: oneOf(grammar.Others(known...)), To: free})
	}
	return grammar.Concat(grammar.Literal(`"`), grammar.Graph(states), grammar.Literal(`"`))
}
