package schema

import "slices"

// fulfilsSet says whether a value fulfils all schemas of a set, as far as they are
// understood.
func (c *compiler) fulfilsSet(v *value, of set) bool {
	if len(of) == 0 {
		return true
	}
	return slices.ContainsFunc(c.flatten(of), func(f *flat) bool { return c.fulfils(v, f) && f.has(v) })
}

// has says whether a value is one of the enum.
func (f *flat) has(v *value) bool {
	return f.enum == nil || len(*commonValues(f.enum, &[]*value{v})) > 0
}

// fulfils says whether a value fulfils everything of an alternative but its enum.
func (c *compiler) fulfils(v *value, f *flat) bool {
	if c.spend(1); c.err != nil || typeOf(v)&f.types == 0 {
		return false
	}
	switch v.kind {
	case number:
		return f.low.allowsAbove(v.number) && f.high.allowsBelow(v.number) && (f.step == nil || v.number.multipleOf(*f.step))
	case text:
		n := length(v.text)
		return n >= f.minLength && (f.maxLength == unlimited || n <= f.maxLength) &&
			!slices.ContainsFunc(f.texts, func(t textRule) bool { return !t.automaton.Matches(v.text) })
	case array:
		return c.fulfilsArray(v, f)
	case object:
		return c.fulfilsObject(v, f)
	}
	return true
}

func (c *compiler) fulfilsArray(v *value, f *flat) bool {
	n := len(v.items)
	if n < f.minItems || f.maxItems != unlimited && n > f.maxItems {
		return false
	}
	seen := map[string]bool{}
	for i, item := range v.items {
		if f.unique != nil && seen[item.canonical()] || !c.fulfilsSet(item, f.item(i)) {
			return false
		}
		seen[item.canonical()] = true
	}
	return true
}

func (c *compiler) fulfilsObject(v *value, f *flat) bool {
	n := len(v.members)
	if n < f.minProps || f.maxProps != unlimited && n > f.maxProps {
		return false
	}
	for _, name := range f.required {
		if v.get(name) == nil {
			return false
		}
	}
	for _, m := range v.members {
		if !c.nameFulfils(m.name, f.names) || !c.fulfilsSet(m.value, f.property(m.name)) {
			return false
		}
	}
	return true
}
