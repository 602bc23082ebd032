package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type stringMethod = func(*machine, string, arguments) (Value, error)

// stringMethods are the methods of Python's str that templates use.
var stringMethods map[string]stringMethod

func init() { // not a literal: format and join lead back here
	stringMethods = map[string]stringMethod{
		"upper":        mapString(upper),
		"lower":        mapString(lower),
		"casefold":     mapString(lower),
		"capitalize":   mapString(capitalize),
		"title":        mapString(pythonTitle),
		"swapcase":     mapString(swapCase),
		"strip":        strip(strings.TrimFunc),
		"lstrip":       strip(strings.TrimLeftFunc),
		"rstrip":       strip(strings.TrimRightFunc),
		"startswith":   affix("startswith", strings.HasPrefix),
		"endswith":     affix("endswith", strings.HasSuffix),
		"removeprefix": remove("removeprefix", strings.TrimPrefix),
		"removesuffix": remove("removesuffix", strings.TrimSuffix),
		"split":        splitMethod(false),
		"rsplit":       splitMethod(true),
		"splitlines":   splitlinesMethod,
		"partition":    partition("partition", strings.Index),
		"rpartition":   partition("rpartition", strings.LastIndex),
		"replace":      replaceMethod,
		"find":         find("find", strings.Index, false),
		"rfind":        find("rfind", strings.LastIndex, false),
		"index":        find("index", strings.Index, true),
		"rindex":       find("rindex", strings.LastIndex, true),
		"count":        countMethod,
		"join":         joinMethod,
		"format":       formatMethod,
		"center":       pad("center"),
		"ljust":        pad("ljust"),
		"rjust":        pad("rjust"),
		"zfill":        zfill,
		"isdigit":      all(unicode.IsDigit),
		"isdecimal":    all(unicode.IsDigit),
		"isnumeric":    all(unicode.IsNumber),
		"isalpha":      all(unicode.IsLetter),
		"isalnum":      all(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }),
		"isspace":      all(isSpace),
		"isupper":      cased(unicode.IsUpper, unicode.IsLower),
		"islower":      cased(unicode.IsLower, unicode.IsUpper),
	}
}

// mapString makes a method of a function of the text alone. Case changes make
// at most three times as many bytes.
func mapString(fn func(string) string) stringMethod {
	return func(m *machine, s string, a arguments) (Value, error) {
		if err := a.none("the method"); err != nil {
			return nil, err
		}
		if err := m.alloc(3 * len(s)); err != nil {
			return nil, err
		}
		return fn(s), nil
	}
}

// specialUpper are characters that Python makes several of, and Go does not.
var specialUpper = strings.NewReplacer("ß", "SS", "ŉ", "ʼN", "ﬀ", "FF", "ﬁ", "FI", "ﬂ", "FL", "ﬃ", "FFI", "ﬄ", "FFL", "ﬅ", "ST", "ﬆ", "ST")

func upper(s string) string { return specialUpper.Replace(strings.ToUpper(s)) }

// lower differs from strings.ToLower for a dotted capital I, which becomes two
// characters, and for a sigma at the end of a word.
func lower(s string) string {
	s = strings.ReplaceAll(s, "İ", "i\u0307")
	if !strings.Contains(s, "Σ") {
		return strings.ToLower(s)
	}
	runes := []rune(s)
	inWord := false
	for i, r := range runes {
		if r == 'Σ' {
			runes[i] = 'σ'
			if inWord && !wordGoesOn(runes[i+1:]) {
				runes[i] = 'ς'
			}
		}
		if !caseIgnorable(r) {
			inWord = unicode.IsLetter(r)
		}
	}
	return strings.ToLower(string(runes))
}

func wordGoesOn(rest []rune) bool {
	for _, r := range rest {
		if !caseIgnorable(r) {
			return unicode.IsLetter(r)
		}
	}
	return false
}

// caseIgnorable is the property of that name in Unicode, table 3-17.
func caseIgnorable(r rune) bool {
	return strings.ContainsRune("'.:·’‘․﹒", r) || unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

func capitalize(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToTitle(s[:n]) + lower(s[n:])
}

// pythonTitle makes the first letter of each run of letters a capital.
func pythonTitle(s string) string {
	inWord := false
	return strings.Map(func(r rune) rune {
		was := inWord
		inWord = unicode.IsLetter(r)
		if was {
			return unicode.ToLower(r)
		}
		return unicode.ToTitle(r)
	}, s)
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}

func strip(trim func(string, func(rune) bool) string) stringMethod {
	return func(m *machine, s string, a arguments) (Value, error) {
		p, err := a.bind("strip", "chars?")
		if err != nil {
			return nil, err
		}
		return stripped(m, s, p[0], trim)
	}
}

func stripped(m *machine, s string, chars Value, trim func(string, func(rune) bool) string) (Value, error) {
	if chars == (absent{}) || chars == nil {
		return trim(s, isSpace), m.work(len(s))
	}
	set, err := stringOr("strip", chars, "")
	if err != nil {
		return nil, err
	}
	if err := m.work(len(set) + len(s)*min(len(set), 64)); err != nil {
		return nil, err
	}
	return trim(s, func(r rune) bool { return strings.ContainsRune(set, r) }), nil
}

// affix is startswith and endswith, which also take a tuple of strings.
func affix(name string, has func(s, part string) bool) stringMethod {
	return func(m *machine, s string, a arguments) (Value, error) {
		p, err := a.bind(name, "part", "start?", "end?")
		if err != nil {
			return nil, err
		}
		if s, err = substring(m, name, s, p[1], p[2]); err != nil {
			return nil, err
		}
		parts := []Value{p[0]}
		if t, ok := p[0].(*Tuple); ok {
			parts = t.items
		}
		for _, x := range parts {
			part, err := stringOr(name, x, "")
			if err != nil {
				return nil, err
			}
			if err := m.work(len(part)); err != nil {
				return nil, err
			}
			if has(s, part) {
				return true, nil
			}
		}
		return false, nil
	}
}

// substring is s[start:end] for methods that search in a part.
func substring(m *machine, name, s string, start, end Value) (string, error) {
	if start == (absent{}) && end == (absent{}) {
		return s, nil
	}
	cut := &slice{}
	for _, p := range []struct {
		v  Value
		to *Value
	}{{start, &cut.start}, {end, &cut.stop}} {
		if p.v != (absent{}) && p.v != nil {
			i, err := intOr(name, p.v, 0)
			if err != nil {
				return "", err
			}
			*p.to = i
		}
	}
	v, err := m.slice(s, cut)
	part, _ := str(v)
	return part, err
}

func remove(name string, trim func(s, part string) string) stringMethod {
	return func(m *machine, s string, a arguments) (Value, error) {
		p, err := a.bind(name, "part")
		if err != nil {
			return nil, err
		}
		part, err := stringOr(name, p[0], "")
		if err != nil {
			return nil, err
		}
		return trim(s, part), m.work(len(part))
	}
}

func find(name string, search func(s, part string) int, must bool) stringMethod {
	return func(m *machine, s string, a arguments) (Value, error) {
		p, err := a.bind(name, "part", "start?", "end?")
		if err != nil {
			return nil, err
		}
		if p[1] != (absent{}) || p[2] != (absent{}) {
			return nil, fail("%s with a start or an end is not supported", name)
		}
		part, err := stringOr(name, p[0], "")
		if err != nil {
			return nil, err
		}
		if err := m.work(len(s)); err != nil {
			return nil, err
		}
		i := search(s, part)
		if i < 0 {
			if must {
				return nil, fail("substring not found")
			}
			return int64(-1), nil
		}
		return int64(utf8.RuneCountInString(s[:i])), nil
	}
}

func countMethod(m *machine, s string, a arguments) (Value, error) {
	p, err := a.bind("count", "part")
	if err != nil {
		return nil, err
	}
	part, err := stringOr("count", p[0], "")
	if err != nil {
		return nil, err
	}
	return int64(strings.Count(s, part)), m.work(len(s))
}

// all is isdigit and its kin: true if there is a character and all are such.
func all(is func(rune) bool) stringMethod {
	return func(m *machine, s string, a arguments) (Value, error) {
		if err := a.none("the method"); err != nil {
			return nil, err
		}
		other := strings.IndexFunc(s, func(r rune) bool { return !is(r) })
		return s != "" && other < 0, m.work(len(s))
	}
}

// cased is isupper and islower: some characters are such and none is other.
func cased(is, other func(rune) bool) stringMethod {
	return func(m *machine, s string, a arguments) (Value, error) {
		if err := a.none("the method"); err != nil {
			return nil, err
		}
		return strings.IndexFunc(s, is) >= 0 && strings.IndexFunc(s, other) < 0, m.work(len(s))
	}
}
