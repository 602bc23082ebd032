package pattern

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"dure/inference/schema/grammar"
)

// set is the characters of a class as the strictest reader and as the most generous
// one takes it. Readers differ in what is white space and what ends a line: those
// characters are in wide and not in narrow.
type set struct{ narrow, wide []grammar.Range }

func exactly(ranges ...grammar.Range) set {
	ranges = grammar.Join(ranges...)
	return set{ranges, ranges}
}

func one(r rune) set { return exactly(grammar.Range{Lo: r, Hi: r}) }

// not swaps the two: what surely is not in the set, and what may not be.
func (s set) not() set { return set{grammar.Others(s.wide...), grammar.Others(s.narrow...)} }

func (s set) or(o set) set {
	return set{grammar.Join(slices.Concat(s.narrow, o.narrow)...), grammar.Join(slices.Concat(s.wide, o.wide)...)}
}

var (
	digits = exactly(grammar.Range{Lo: '0', Hi: '9'})
	words  = exactly(grammar.Range{Lo: '0', Hi: '9'}, grammar.Range{Lo: 'A', Hi: 'Z'}, grammar.Range{Lo: '_', Hi: '_'}, grammar.Range{Lo: 'a', Hi: 'z'})
	spaces = set{
		narrow: []grammar.Range{{Lo: '\t', Hi: '\n'}, {Lo: '\f', Hi: '\r'}, {Lo: ' ', Hi: ' '}},
		wide: grammar.Join(grammar.Range{Lo: '\t', Hi: '\r'}, grammar.Range{Lo: ' ', Hi: ' '}, grammar.Range{Lo: 0x85, Hi: 0x85},
			grammar.Range{Lo: 0xa0, Hi: 0xa0}, grammar.Range{Lo: 0x1680, Hi: 0x1680}, grammar.Range{Lo: 0x2000, Hi: 0x200a},
			grammar.Range{Lo: 0x2028, Hi: 0x2029}, grammar.Range{Lo: 0x202f, Hi: 0x202f}, grammar.Range{Lo: 0x205f, Hi: 0x205f},
			grammar.Range{Lo: 0x3000, Hi: 0x3000}, grammar.Range{Lo: 0xfeff, Hi: 0xfeff}),
	}
	lineEnds = set{
		narrow: []grammar.Range{{Lo: '\n', Hi: '\n'}},
		wide:   []grammar.Range{{Lo: '\n', Hi: '\n'}, {Lo: '\r', Hi: '\r'}, {Lo: 0x2028, Hi: 0x2029}},
	}
	anyChar = exactly(grammar.Others()...)
)

// classEscape returns the set of \d, \w, \s and their opposites.
func classEscape(b rune) (set, bool) {
	switch b {
	case 'd':
		return digits, true
	case 'D':
		return digits.not(), true
	case 'w':
		return words, true
	case 'W':
		return words.not(), true
	case 's':
		return spaces, true
	case 'S':
		return spaces.not(), true
	}
	return set{}, false
}

// property returns the set of \p{name}.
func property(name string) (set, error) {
	key, value, ok := strings.Cut(name, "=")
	var table *unicode.RangeTable
	switch {
	case !ok && key == "Any":
		return anyChar, nil
	case !ok && key == "ASCII":
		return exactly(grammar.Range{Lo: 0, Hi: 0x7f}), nil
	case ok && (key == "Script" || key == "sc"):
		table = unicode.Scripts[value]
	case ok && (key == "General_Category" || key == "gc"):
		table = category(value)
	case !ok:
		if table = category(key); table == nil {
			table = unicode.Properties[key]
		}
	}
	if table == nil {
		return set{}, fmt.Errorf(`the property \p{%.40s} is not known here; use a general category such as \p{L}, or \p{Script=Greek}`, name)
	}
	var ranges []grammar.Range
	for _, r := range table.R16 {
		ranges = appendTable(ranges, uint32(r.Lo), uint32(r.Hi), uint32(r.Stride))
	}
	for _, r := range table.R32 {
		ranges = appendTable(ranges, r.Lo, r.Hi, r.Stride)
	}
	return exactly(ranges...), nil
}

func category(name string) *unicode.RangeTable {
	if short, ok := unicode.CategoryAliases[name]; ok {
		name = short
	}
	return unicode.Categories[name]
}

func appendTable(ranges []grammar.Range, lo, hi, stride uint32) []grammar.Range {
	if stride == 1 {
		return append(ranges, grammar.Range{Lo: rune(lo), Hi: rune(hi)})
	}
	for c := lo; c <= hi; c += stride {
		ranges = append(ranges, grammar.Range{Lo: rune(c), Hi: rune(c)})
	}
	return ranges
}
