package schema

import "slices"

// maxLook is how deep members are looked into for what tells two objects apart.
const maxLook = 4

// disjoint says whether surely no value fulfils both alternatives.
func (c *compiler) disjoint(a, b *flat, depth int) bool {
	if c.spend(1); c.err != nil {
		return false
	}
	if a.enum == nil {
		a, b = b, a
	}
	if a.enum != nil {
		// All values are known.
		return !slices.ContainsFunc(*a.enum, func(v *value) bool { return c.fulfils(v, a) && c.fulfils(v, b) && b.has(v) })
	}
	both := a.types & b.types
	switch {
	case both&(typeNull|typeBoolean) != 0:
		return false
	case both&typeNumber != 0 && !apart(tighter(a.low, b.low, 1), tighter(a.high, b.high, -1)):
		return false
	case both&typeText != 0 && !c.disjointTexts(a, b):
		return false
	case both&typeArray != 0 && !c.disjointArrays(a, b, depth):
		return false
	}
	return both&typeObject == 0 || c.disjointObjects(a, b, depth)
}

func (c *compiler) disjointTexts(a, b *flat) bool {
	f := merge(a, b)
	if f == nil || f.types&typeText == 0 {
		return true // by their lengths
	}
	all, err := c.strings(f)
	return err == nil && all != nil && all.Empty()
}

func (c *compiler) disjointArrays(a, b *flat, depth int) bool {
	f := merge(a, b)
	if f == nil || f.types&typeArray == 0 {
		return true // by their lengths
	}
	for i := range min(f.minItems, f.prefix()+1) {
		if c.disjointSets(a.item(i), b.item(i), depth) {
			return true
		}
	}
	return false
}

func (c *compiler) disjointObjects(a, b *flat, depth int) bool {
	f := merge(a, b)
	if f == nil || f.types&typeObject == 0 {
		return true // by their numbers of members
	}
	return slices.ContainsFunc(f.required, func(name string) bool {
		return c.disjointSets(a.property(name), b.property(name), depth) ||
			!c.nameFulfils(name, a.names) || !c.nameFulfils(name, b.names)
	})
}

// disjointSets says whether surely no value fulfils both sets.
func (c *compiler) disjointSets(a, b set, depth int) bool {
	if depth == maxLook || c.never(a) || c.never(b) {
		return depth < maxLook
	}
	a, b = c.simplify(a), c.simplify(b)
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	for _, x := range c.flatten(a) {
		for _, y := range c.flatten(b) {
			if !c.disjoint(x, y, depth+1) {
				return false
			}
		}
	}
	return true
}
