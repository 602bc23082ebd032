package schema

import "dure/inference/schema/pattern"

// applyArray reads the keywords that say what the items are.
func (c *compiler) applyArray(f *flat, at *value) {
	prefix, items, additional := at.get("prefixItems"), at.get("items"), at.get("additionalItems")
	if prefix == nil && items != nil && items.kind == array {
		// Before 2020-12.
		prefix, items = items, additional
		additional = nil
	}
	if additional != nil {
		c.ignore(at, "additionalItems")
	}
	var part arrayPart
	if prefix != nil {
		if prefix.kind != array {
			c.fail(at, "prefixItems", "it must be a list of schemas")
			return
		}
		part.prefix = prefix.items
		for _, v := range prefix.items {
			c.isSchema(at, v, "prefixItems")
		}
	}
	if items != nil && c.isSchema(at, items, "items") {
		part.rest = items
	}
	if prefix != nil || items != nil {
		f.arrays = append(f.arrays, part)
	}
}

// applyObject reads the keywords that say what the members are.
func (c *compiler) applyObject(f *flat, at *value) {
	properties, patterns, rest := at.get("properties"), at.get("patternProperties"), at.get("additionalProperties")
	part := objectPart{explicit: patterns != nil || rest != nil}
	if properties != nil {
		if properties.kind != object {
			c.fail(at, "properties", "it must be an object of schemas")
			return
		}
		part.properties = properties.members
		for _, m := range properties.members {
			c.isSchema(at, m.value, "properties")
		}
	}
	if patterns != nil && !c.applyPatterns(&part, at, patterns) {
		return
	}
	if rest != nil && c.isSchema(at, rest, "additionalProperties") {
		part.rest = rest
	}
	if properties != nil || part.explicit {
		f.objects = append(f.objects, part)
	}
}

// applyPatterns reads patternProperties; false if it is left to the caller.
func (c *compiler) applyPatterns(part *objectPart, at, patterns *value) bool {
	if patterns.kind != object {
		c.fail(at, "patternProperties", "it must be an object of schemas")
		return false
	}
	for _, m := range patterns.members {
		if !c.isSchema(at, m.value, "patternProperties") {
			return false
		}
		surely, err := c.pattern(m.name, false)
		perhaps := surely
		if err == nil {
			perhaps, err = c.pattern(m.name, true)
		}
		if err != nil {
			c.refuse(at, "patternProperties", "the pattern %.100q: %v", m.name, err)
			return false
		}
		part.patterns = append(part.patterns, patternPart{m.name, surely, perhaps, m.value})
	}
	return true
}

// pattern reads a pattern, once.
func (c *compiler) pattern(text string, wide bool) (*pattern.Automaton, error) {
	parse, key := pattern.Parse, "surely "+text
	if wide {
		parse, key = pattern.ParseWide, "perhaps "+text
	}
	if a := c.patterns[key]; a != nil {
		return a, nil
	}
	a, err := parse(text)
	if err != nil {
		c.spend(failureWork)
		return nil, err
	}
	c.spend(1 + a.Size()/automatonWork)
	c.patterns[key] = a
	return a, nil
}
