package schema

import (
	"slices"

	"dure/inference/schema/pattern"
)

// types is a set of kinds of values. A number is an integer or it is not.
type types uint8

const (
	typeNull types = 1 << iota
	typeBoolean
	typeInteger
	typeFraction
	typeText
	typeArray
	typeObject

	typeNumber = typeInteger | typeFraction
	typeAny    = 1<<7 - 1
)

var typeNames = map[string]types{
	"null": typeNull, "boolean": typeBoolean, "integer": typeInteger, "number": typeNumber,
	"string": typeText, "array": typeArray, "object": typeObject,
}

// typeOf says of which type a value is.
func typeOf(v *value) types {
	switch v.kind {
	case null:
		return typeNull
	case boolean:
		return typeBoolean
	case number:
		if v.number.integer() {
			return typeInteger
		}
		return typeFraction
	case text:
		return typeText
	case array:
		return typeArray
	}
	return typeObject
}

// set is several schemas that all have to hold: sorted by id, each once.
type set []*value

// unlimited as a maximum means that there is none.
const unlimited = -1

// flat is a schema without references and alternatives: all its parts have to hold.
// It is immutable once made.
type flat struct {
	at    *value // where it comes from, for messages
	types types
	// stated: the types were named, or follow from enum or const. Where they are not,
	// they are taken to be those that the other keywords are about (implied).
	stated  bool
	implied types
	enum    *[]*value // nil where any value may be

	low, high *bound
	step      *decimal // all numbers are multiples of it

	minLength, maxLength int
	texts                []textRule

	arrays             []arrayPart
	minItems, maxItems int
	unique             *value // a schema that says so

	objects  []objectPart
	names    set // every name of a member fulfils it
	required []string
	minProps int
	maxProps int
}

// textRule is a set of strings.
type textRule struct {
	key       string // rules with the same key are alike
	automaton *pattern.Automaton
}

// arrayPart says of each item which schema it fulfils.
type arrayPart struct {
	prefix []*value
	rest   *value // nil is any value
}

// objectPart says of each member which schemas it fulfils: those of its name and of
// all patterns that its name matches; rest only where there are none.
type objectPart struct {
	properties []member
	patterns   []patternPart
	rest       *value // nil is any value
	// closed: members that are not named were said something about.
	explicit bool
}

type patternPart struct {
	key     string
	surely  *pattern.Automaton // names that match
	perhaps *pattern.Automaton // names that may match, as programs read it differently
	value   *value
}

func anything(at *value) *flat {
	return &flat{at: at, types: typeAny, maxLength: unlimited, maxItems: unlimited, maxProps: unlimited}
}

// emitted are the types that values are made of.
func (f *flat) emitted() types {
	if !f.stated && f.implied != 0 {
		return f.types & f.implied
	}
	return f.types
}

// least returns the smaller of two maxima.
func least(a, b int) int {
	if a == unlimited || b != unlimited && b < a {
		return b
	}
	return a
}

// merge returns what fulfils both, or nil where that is plainly nothing.
func merge(a, b *flat) *flat {
	f := *a
	f.types &= b.types
	f.stated = a.stated || b.stated
	f.implied |= b.implied
	f.enum = commonValues(a.enum, b.enum)
	f.low, f.high = tighter(a.low, b.low, 1), tighter(a.high, b.high, -1)
	f.step = commonStep(a.step, b.step)
	f.minLength, f.maxLength = max(a.minLength, b.minLength), least(a.maxLength, b.maxLength)
	f.texts = slices.Clip(f.texts)
	for _, t := range b.texts {
		if !slices.ContainsFunc(f.texts, func(x textRule) bool { return x.key == t.key }) {
			f.texts = append(f.texts, t)
		}
	}
	f.arrays = slices.Concat(a.arrays, b.arrays)
	f.minItems, f.maxItems = max(a.minItems, b.minItems), least(a.maxItems, b.maxItems)
	if f.unique == nil {
		f.unique = b.unique
	}
	f.objects = slices.Concat(a.objects, b.objects)
	f.names = union(a.names, b.names)
	f.required = slices.Clip(f.required)
	for _, name := range b.required {
		if !slices.Contains(f.required, name) {
			f.required = append(f.required, name)
		}
	}
	f.minProps, f.maxProps = max(a.minProps, b.minProps), least(a.maxProps, b.maxProps)
	f.types = f.possible()
	if f.types == 0 || f.enum != nil && len(*f.enum) == 0 {
		return nil
	}
	return &f
}

// possible are the types whose bounds leave something.
func (f *flat) possible() types {
	t := f.types
	if apart(f.low, f.high) {
		t &^= typeNumber
	}
	if f.maxLength != unlimited && f.minLength > f.maxLength {
		t &^= typeText
	}
	if f.maxItems != unlimited && f.minItems > f.maxItems {
		t &^= typeArray
	}
	if f.maxProps != unlimited && max(f.minProps, len(f.required)) > f.maxProps {
		t &^= typeObject
	}
	return t
}

func commonStep(a, b *decimal) *decimal {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	step := commonMultiple(*a, *b)
	return &step
}

func commonValues(a, b *[]*value) *[]*value {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	in := map[string]bool{}
	for _, v := range *b {
		in[v.canonical()] = true
	}
	common := []*value{}
	for _, v := range *a {
		if in[v.canonical()] {
			common = append(common, v)
		}
	}
	return &common
}

// union returns the schemas of both.
func union(a, b set) set {
	if len(b) == 0 {
		return a
	}
	out := slices.Concat(a, b)
	slices.SortFunc(out, func(x, y *value) int { return x.id - y.id })
	return slices.Compact(out)
}
