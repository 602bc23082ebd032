package schema

import (
	"slices"

	"dure/inference/schema/grammar"
)

// maxCounted is how many members by how many of them are counted for minProperties
// and maxProperties.
const maxCounted = 20000

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
