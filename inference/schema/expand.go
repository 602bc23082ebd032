package schema

import "dure/inference/schema/pattern"

// expand returns the alternatives of one schema.
func (c *compiler) expand(at *value) []*flat {
	if flats, ok := c.expanded[at]; ok {
		if flats == nil {
			c.fail(at, "$ref", "it leads back here with nothing in between, so that it says nothing")
		}
		return flats
	}
	if c.spend(1); c.err != nil {
		return nil
	}
	c.expanded[at] = nil
	flats := c.alternatives(at)
	if flats == nil {
		flats = []*flat{} // known to be none
	}
	c.expanded[at] = flats
	return flats
}

func (c *compiler) alternatives(at *value) []*flat {
	f := anything(at)
	if at.kind == boolean {
		if at.is {
			return []*flat{f}
		}
		return nil
	}
	if !c.isSchema(at, at, "") {
		return nil
	}
	c.apply(f, at)
	f.types = f.possible()
	if f.types == 0 || f.enum != nil && len(*f.enum) == 0 {
		return c.nullable(at, nil)
	}
	flats := []*flat{f}
	if ref := at.get("$ref"); ref != nil {
		if to := c.resolve(at, ref); to != nil {
			flats = c.product(at, flats, c.expand(to))
		}
	}
	for _, part := range c.list(at, "allOf") {
		flats = c.product(at, flats, c.expand(part))
	}
	flats = c.anyOf(at, flats)
	flats = c.not(at, flats)
	flats = c.oneOf(at, flats)
	flats = c.unevaluated(at, flats)
	return c.nullable(at, flats)
}

// list returns the schemas of allOf, anyOf or oneOf.
func (c *compiler) list(at *value, keyword string) []*value {
	v := at.get(keyword)
	if v == nil || c.err != nil {
		return nil
	}
	if v.kind != array || len(v.items) == 0 {
		c.fail(at, keyword, "it must be a list of schemas")
		return nil
	}
	return v.items
}

func (c *compiler) anyOf(at *value, flats []*flat) []*flat {
	branches := c.list(at, "anyOf")
	if branches == nil {
		return flats
	}
	var all []*flat
	for _, b := range branches {
		all = append(all, c.expand(b)...)
	}
	return c.product(at, flats, all)
}

// choice is a oneOf: no value may be in two of its branches.
type choice struct {
	at       *value
	branches [][]*flat
}

func (c *compiler) oneOf(at *value, flats []*flat) []*flat {
	branches := c.list(at, "oneOf")
	if branches == nil {
		return flats
	}
	one := choice{at: at}
	var all []*flat
	for _, b := range branches {
		part := c.product(at, flats, c.expand(b))
		one.branches = append(one.branches, part)
		all = append(all, part...)
	}
	// That takes the schemas of members, which may be those being worked on.
	c.choices = append(c.choices, one)
	if len(all) > MaxBranches {
		c.fail(at, "oneOf", "it has more than %d alternatives", MaxBranches)
	}
	return all
}

// checkChoices makes sure that the branches of each oneOf exclude each other.
func (c *compiler) checkChoices() {
	for i := 0; i < len(c.choices) && c.err == nil; i++ {
		c.checkChoice(c.choices[i])
	}
}

func (c *compiler) checkChoice(one choice) {
	for i, a := range one.branches {
		for j, b := range one.branches[:i] {
			for _, x := range a {
				for _, y := range b {
					if !c.disjoint(x, y, 0) {
						c.refuse(one.at, "oneOf", "a value may fulfil both branch %d and branch %d; give each a required property with a const of its own, or write anyOf", j, i)
						return
					}
					if c.err != nil {
						return
					}
				}
			}
		}
	}
}

// not is understood where it excludes types, values, or everything or nothing.
func (c *compiler) not(at *value, flats []*flat) []*flat {
	v := at.get("not")
	if v == nil || c.err != nil {
		return flats
	}
	if !c.isSchema(at, v, "not") {
		return nil
	}
	for _, m := range v.members {
		if m.name != "type" && m.name != "const" && m.name != "enum" && !annotations[m.name] {
			c.refuse(at, "not", "only types, const and enum can be excluded; describe what is allowed instead")
			return flats
		}
	}
	for _, x := range c.expand(v) {
		flats = c.exclude(at, flats, x)
	}
	return flats
}

// exclude takes from each alternative what a schema of types or values is about.
func (c *compiler) exclude(at *value, flats []*flat, x *flat) []*flat {
	var out []*flat
	for _, f := range flats {
		rest := *f
		if x.enum == nil {
			rest.types &^= x.types
			if rest.types&typeNumber == typeFraction {
				c.refuse(at, "not", "numbers that are no integers cannot be guaranteed; describe what is allowed instead")
			}
		} else if rest.enum != nil {
			values := []*value{}
			for _, v := range *rest.enum {
				if !c.isOneOf(v, x) {
					values = append(values, v)
				}
			}
			rest.enum = &values
		} else if !c.excludeTexts(&rest, x) {
			c.refuse(at, "not", "of values, only strings and null can be excluded; describe what is allowed instead")
		}
		if rest.types != 0 && (rest.enum == nil || len(*rest.enum) > 0) {
			out = append(out, &rest)
		}
	}
	return out
}

// isOneOf says whether a value is one of an enum, of the types beside it.
func (c *compiler) isOneOf(v *value, x *flat) bool {
	both := commonValues(x.enum, &[]*value{v})
	return len(*both) > 0 && typeOf(v)&x.types != 0
}

// excludeTexts takes single values out; false where there are others than strings.
func (c *compiler) excludeTexts(f *flat, x *flat) bool {
	var texts []string
	for _, v := range *x.enum {
		switch {
		case typeOf(v)&x.types&f.types == 0:
		case v.kind == text:
			texts = append(texts, v.text)
		case v.kind == null:
			f.types &^= typeNull
		default:
			return false
		}
	}
	if len(texts) == 0 {
		return true
	}
	a, err := pattern.Texts(texts...)
	if err != nil {
		return false
	}
	f.texts = append(f.texts[:len(f.texts):len(f.texts)], textRule{"not " + x.at.path, a.Complement()})
	return true
}

// unevaluated closes objects against members that no part of the schema named.
func (c *compiler) unevaluated(at *value, flats []*flat) []*flat {
	v := at.get("unevaluatedProperties")
	if v == nil || !c.isSchema(at, v, "unevaluatedProperties") {
		return flats
	}
	var out []*flat
	for _, f := range flats {
		closed := *f
		all := objectPart{rest: v, explicit: true}
		for _, o := range f.objects {
			if o.rest != nil {
				// Whatever is not named was evaluated by additionalProperties.
				all.rest = nil
			}
			for _, m := range o.properties {
				all.properties = append(all.properties, member{m.name, trueSchema})
			}
			for _, p := range o.patterns {
				all.patterns = append(all.patterns, patternPart{p.key, p.surely, p.perhaps, trueSchema})
			}
		}
		closed.objects = append(f.objects[:len(f.objects):len(f.objects)], all)
		out = append(out, &closed)
	}
	return out
}

// trueSchema is fulfilled by any value.
var trueSchema = &value{kind: boolean, is: true}

// nullable is OpenAPI's way to allow null beside what a schema says.
func (c *compiler) nullable(at *value, flats []*flat) []*flat {
	v := at.get("nullable")
	if v == nil || c.err != nil {
		return flats
	}
	if v.kind != boolean {
		c.fail(at, "nullable", "it must be true or false")
		return nil
	}
	if !v.is {
		return flats
	}
	f := anything(at)
	f.types, f.stated = typeNull, true
	return append(flats, f)
}
