package schema

import (
	"slices"
	"strings"
)

// annotations are keywords that say nothing about which values are valid.
var annotations = map[string]bool{
	"title": true, "description": true, "default": true, "examples": true, "example": true, "deprecated": true, "readOnly": true, "writeOnly": true,
	"$comment": true, "$schema": true, "$id": true, "id": true, "$anchor": true, "$defs": true, "definitions": true, "$vocabulary": true,
	"contentMediaType": true, "contentEncoding": true, "contentSchema": true,
	// Of OpenAPI.
	"discriminator": true, "externalDocs": true, "xml": true,
}

// inexpressible are keywords that no grammar of reasonable size can guarantee, and
// what to do instead.
var inexpressible = map[string]string{
	"if":                "conditions cannot be guaranteed; write anyOf with one schema for each case",
	"then":              "conditions cannot be guaranteed; write anyOf with one schema for each case",
	"else":              "conditions cannot be guaranteed; write anyOf with one schema for each case",
	"dependentRequired": "it cannot be guaranteed; write anyOf with one schema for each case",
	"dependentSchemas":  "it cannot be guaranteed; write anyOf with one schema for each case",
	"dependencies":      "it cannot be guaranteed; write anyOf with one schema for each case",
	"contains":          "it cannot be guaranteed; describe the items with prefixItems and items",
	"minContains":       "it cannot be guaranteed; describe the items with prefixItems and items",
	"maxContains":       "it cannot be guaranteed; describe the items with prefixItems and items",
	"unevaluatedItems":  "it cannot be guaranteed; write items beside prefixItems in one schema",
	"$dynamicRef":       "it is not supported; use $ref",
	"$dynamicAnchor":    "it is not supported; use $anchor or $defs",
	"$recursiveRef":     "it is not supported; use $ref",
	"$recursiveAnchor":  "it is not supported; use $anchor or $defs",
	"extends":           "it is not supported; use allOf",
	"disallow":          "it is not supported; list the types that are allowed",
	"divisibleBy":       "it is not supported; use multipleOf",
}

// keywords are those that are understood: what each does to a schema. A keyword with
// an implied type is about values of that type only.
var keywords map[string]keyword

type keyword struct {
	implied types
	apply   func(c *compiler, f *flat, at, v *value)
}

func init() {
	keywords = map[string]keyword{
		"type":        {0, (*compiler).applyType},
		"enum":        {0, (*compiler).applyEnum},
		"const":       {0, (*compiler).applyConst},
		"uniqueItems": {typeArray, (*compiler).applyUnique},

		"minimum":          {typeNumber, (*compiler).applyMinimum},
		"maximum":          {typeNumber, (*compiler).applyMaximum},
		"exclusiveMinimum": {typeNumber, (*compiler).applyExclusiveMinimum},
		"exclusiveMaximum": {typeNumber, (*compiler).applyExclusiveMaximum},
		"multipleOf":       {typeNumber, (*compiler).applyMultipleOf},

		"minLength": {typeText, (*compiler).applyMinLength},
		"maxLength": {typeText, (*compiler).applyMaxLength},
		"pattern":   {typeText, (*compiler).applyPattern},
		"format":    {0, (*compiler).applyFormat},

		"minItems": {typeArray, (*compiler).applyMinItems},
		"maxItems": {typeArray, (*compiler).applyMaxItems},

		"required":      {typeObject, (*compiler).applyRequired},
		"minProperties": {typeObject, (*compiler).applyMinProperties},
		"maxProperties": {typeObject, (*compiler).applyMaxProperties},
		"propertyNames": {typeObject, (*compiler).applyPropertyNames},
	}
	// Read by applyArray, applyObject and alternatives, several at a time.
	for _, name := range []string{"items", "prefixItems", "additionalItems"} {
		keywords[name] = keyword{typeArray, nil}
	}
	for _, name := range []string{"properties", "patternProperties", "additionalProperties", "unevaluatedProperties"} {
		keywords[name] = keyword{typeObject, nil}
	}
	for _, name := range []string{"$ref", "allOf", "anyOf", "oneOf", "not", "nullable"} {
		keywords[name] = keyword{0, nil}
	}
}

// apply reads all keywords of a schema but those that make alternatives.
func (c *compiler) apply(f *flat, at *value) {
	for _, m := range at.members {
		if c.err != nil {
			return
		}
		k, ok := keywords[m.name]
		if !ok {
			c.foreign(at, m.name)
			continue
		}
		f.implied |= k.implied
		if k.apply != nil {
			k.apply(c, f, at, m.value)
		}
	}
	c.applyArray(f, at)
	c.applyObject(f, at)
}

// foreign deals with a keyword that is not understood.
func (c *compiler) foreign(at *value, name string) {
	if annotations[name] {
		return
	}
	if fix, ok := inexpressible[name]; ok {
		c.refuse(at, name, "%s", fix)
		return
	}
	for known := range keywords {
		if plain(known) == plain(name) {
			c.fail(at, name, "it is not a keyword; %s is", known)
			return
		}
	}
	c.ignore(at, name)
}

// plain is a name without what is easily mistaken in it.
func plain(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

func (c *compiler) applyType(f *flat, at, v *value) {
	names := []*value{v}
	if v.kind == array {
		names = v.items
	}
	t := types(0)
	for _, name := range names {
		bit, ok := typeNames[name.text]
		if name.kind != text || !ok {
			c.fail(at, "type", "it must be one of null, boolean, integer, number, string, array and object, or a list of them")
			return
		}
		t |= bit
	}
	if t == 0 {
		c.fail(at, "type", "the list is empty")
	}
	f.types &= t
	f.stated = true
}

func (c *compiler) applyEnum(f *flat, at, v *value) {
	if v.kind != array || len(v.items) == 0 {
		c.fail(at, "enum", "it must be a list of values")
		return
	}
	if len(v.items) > MaxEnum {
		c.fail(at, "enum", "it has more than %d values", MaxEnum)
		return
	}
	values := []*value{}
	seen := map[string]bool{}
	for _, item := range v.items {
		if !seen[item.canonical()] {
			seen[item.canonical()] = true
			values = append(values, item)
		}
	}
	c.only(f, values)
}

func (c *compiler) applyConst(f *flat, _, v *value) { c.only(f, []*value{v}) }

func (c *compiler) only(f *flat, values []*value) {
	f.enum = commonValues(f.enum, &values)
	f.stated = true
}

// limit reads a number of characters, items or members.
func (c *compiler) limit(at, v *value, keyword string) (int, bool) {
	if v.kind != number || v.number.negative || !v.number.integer() {
		c.fail(at, keyword, "it must be an integer, not below 0")
		return 0, false
	}
	n := 0
	for _, digit := range v.number.whole {
		if n = 10*n + int(digit-'0'); n > MaxRepeat {
			return MaxRepeat + 1, true
		}
	}
	return n, true
}

// atLeast and atMost apply such a limit. One too large to count is beyond what any
// answer reaches, as a maximum; as a minimum it is refused.
func (c *compiler) atLeast(at, v *value, keyword string, to *int) {
	n, ok := c.limit(at, v, keyword)
	if ok && n > MaxRepeat {
		c.fail(at, keyword, "it is more than %d", MaxRepeat)
		return
	}
	*to = max(*to, n)
}

func (c *compiler) atMost(at, v *value, keyword string, to *int) {
	if n, ok := c.limit(at, v, keyword); ok && n <= MaxRepeat {
		*to = least(*to, n)
	}
}

func (c *compiler) applyMinLength(f *flat, at, v *value) { c.atLeast(at, v, "minLength", &f.minLength) }
func (c *compiler) applyMaxLength(f *flat, at, v *value) { c.atMost(at, v, "maxLength", &f.maxLength) }
func (c *compiler) applyMinItems(f *flat, at, v *value)  { c.atLeast(at, v, "minItems", &f.minItems) }
func (c *compiler) applyMaxItems(f *flat, at, v *value)  { c.atMost(at, v, "maxItems", &f.maxItems) }
func (c *compiler) applyMinProperties(f *flat, at, v *value) {
	c.atLeast(at, v, "minProperties", &f.minProps)
}
func (c *compiler) applyMaxProperties(f *flat, at, v *value) {
	c.atMost(at, v, "maxProperties", &f.maxProps)
}

func (c *compiler) applyUnique(f *flat, at, v *value) {
	if v.kind != boolean {
		c.fail(at, "uniqueItems", "it must be true or false")
	} else if v.is {
		f.unique = at
	}
}

// edge reads one end of a range. In older drafts exclusiveMinimum and
// exclusiveMaximum are flags beside minimum and maximum.
func (c *compiler) edge(at, v *value, keyword, flag string) *bound {
	if v.kind != number {
		c.fail(at, keyword, "it must be a number")
		return nil
	}
	other := at.get(flag)
	return &bound{v.number, flag == keyword || other != nil && other.kind == boolean && other.is}
}

func (c *compiler) applyMinimum(f *flat, at, v *value) {
	f.low = tighter(f.low, c.edge(at, v, "minimum", "exclusiveMinimum"), 1)
}

func (c *compiler) applyMaximum(f *flat, at, v *value) {
	f.high = tighter(f.high, c.edge(at, v, "maximum", "exclusiveMaximum"), -1)
}

func (c *compiler) applyExclusiveMinimum(f *flat, at, v *value) {
	if !c.isFlag(at, v, "exclusiveMinimum", "minimum") {
		f.low = tighter(f.low, c.edge(at, v, "exclusiveMinimum", "exclusiveMinimum"), 1)
	}
}

func (c *compiler) applyExclusiveMaximum(f *flat, at, v *value) {
	if !c.isFlag(at, v, "exclusiveMaximum", "maximum") {
		f.high = tighter(f.high, c.edge(at, v, "exclusiveMaximum", "exclusiveMaximum"), -1)
	}
}

// isFlag says whether an exclusive bound is a flag, which edge looks at.
func (c *compiler) isFlag(at, v *value, keyword, of string) bool {
	if v.kind == boolean && at.get(of) == nil {
		c.fail(at, keyword, "it is true or false, and there is no %s", of)
	}
	return v.kind == boolean
}

func (c *compiler) applyMultipleOf(f *flat, at, v *value) {
	if v.kind != number || v.number.negative || v.number.zero() {
		c.fail(at, "multipleOf", "it must be a number above 0")
		return
	}
	f.step = commonStep(f.step, &v.number)
}

func (c *compiler) applyRequired(f *flat, at, v *value) {
	if v.kind != array {
		c.fail(at, "required", "it must be a list of names")
		return
	}
	for _, name := range v.items {
		if name.kind != text {
			c.fail(at, "required", "it must be a list of names")
			return
		}
		if !slices.Contains(f.required, name.text) {
			f.required = append(f.required, name.text)
		}
	}
}

func (c *compiler) applyPropertyNames(f *flat, at, v *value) {
	if c.isSchema(at, v, "propertyNames") {
		f.names = union(f.names, set{v})
	}
}

// isSchema says whether a value can be a schema, and notes an error if not.
func (c *compiler) isSchema(at, v *value, keyword string) bool {
	if v.kind != object && v.kind != boolean {
		c.fail(at, keyword, "what is at #%s should be a schema: an object, true or false", v.path)
		return false
	}
	return true
}
