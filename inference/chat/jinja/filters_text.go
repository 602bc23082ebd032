package jinja

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// textFilter makes a filter of a function of the text alone, which at most
// triples it.
func textFilter(name string, fn func(string) string) filterFunc {
	return func(m *machine, v Value, a arguments) (Value, error) {
		if err := a.none(name); err != nil {
			return nil, err
		}
		s, err := m.text(v)
		if err != nil {
			return nil, err
		}
		if err := m.alloc(3 * len(s)); err != nil {
			return nil, err
		}
		return fn(s), nil
	}
}

func filterString(m *machine, v Value, a arguments) (Value, error) {
	if s, ok := v.(markup); ok {
		return s, a.none("string")
	}
	s, err := m.text(v)
	if err != nil {
		return nil, err
	}
	return s, a.none("string")
}

// jinjaTitle makes the first letter of each word a capital; words end at blanks
// and opening brackets, not at apostrophes as str.title has it.
func jinjaTitle(s string) string {
	first := true
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("-({[<", r) || isSpace(r):
			first = true
			return r
		case first:
			first = false
			return []rune(upper(string(r)))[0]
		}
		return []rune(lower(string(r)))[0]
	}, s)
}

func filterTrim(m *machine, v Value, a arguments) (Value, error) {
	p, err := a.bind("trim", "chars?")
	if err != nil {
		return nil, err
	}
	s, err := m.text(v)
	if err != nil {
		return nil, err
	}
	return stripped(m, s, p[0], strings.TrimFunc)
}

func filterReplace(m *machine, v Value, a arguments) (Value, error) {
	p, err := a.bind("replace", "old", "new", "count?")
	if err != nil {
		return nil, err
	}
	var texts [3]string
	for i, x := range []Value{v, p[0], p[1]} {
		if texts[i], err = m.text(x); err != nil {
			return nil, err
		}
	}
	count := int64(-1)
	if p[2] != nil {
		if count, err = intOr("replace", p[2], -1); err != nil {
			return nil, err
		}
	}
	return m.replace(texts[0], texts[1], texts[2], count)
}

func filterIndent(m *machine, v Value, a arguments) (Value, error) {
	p, err := a.bind("indent", "width?", "first?", "blank?")
	if err != nil {
		return nil, err
	}
	s, err := m.text(v)
	if err != nil {
		return nil, err
	}
	pad, isString := str(p[0])
	if !isString {
		width, err := intOr("indent", p[0], 4)
		if err != nil {
			return nil, err
		}
		if width > maxWidth {
			return nil, limitError("the width of indent", maxWidth)
		}
		pad = strings.Repeat(" ", int(max(width, 0)))
	}
	lines, err := m.splitlines(s+"\n", false)
	if err != nil {
		return nil, err
	}
	if len(pad) > m.limits.Memory/len(lines) {
		return nil, limitError("the memory used", m.limits.Memory)
	}
	if err := m.alloc(2*len(s) + len(lines)*len(pad)); err != nil {
		return nil, err
	}
	blank := truthyOr(p[2], false)
	for i, line := range lines {
		if i == 0 && truthyOr(p[1], false) || i > 0 && (blank || line != "") {
			lines[i] = pad + line
		}
	}
	return strings.Join(lines, "\n"), nil
}

func filterCenter(m *machine, v Value, a arguments) (Value, error) {
	p, err := a.bind("center", "width?")
	if err != nil {
		return nil, err
	}
	s, err := m.text(v)
	if err != nil {
		return nil, err
	}
	width, err := intOr("center", p[0], 80)
	if err != nil {
		return nil, err
	}
	return m.pad(s, " ", width, '^')
}

// filterTruncate cuts a text to a length, at a word's end unless killwords.
func filterTruncate(m *machine, v Value, a arguments) (Value, error) {
	p, err := a.bind("truncate", "length?", "killwords?", "end?", "leeway?")
	if err != nil {
		return nil, err
	}
	s, err := m.text(v)
	if err != nil {
		return nil, err
	}
	length, err := intOr("truncate", p[0], 255)
	if err != nil {
		return nil, err
	}
	end, err := stringOr("truncate", p[2], "...")
	if err != nil {
		return nil, err
	}
	leeway := int64(5)
	if p[3] != nil {
		if leeway, err = intOr("truncate", p[3], 5); err != nil {
			return nil, err
		}
	}
	keep := length - int64(utf8.RuneCountInString(end))
	if keep < 0 || leeway < 0 {
		return nil, fail("truncate: the length must hold the end %q, and the leeway not be negative", end)
	}
	if int64(utf8.RuneCountInString(s))-leeway <= length {
		return s, m.work(len(s))
	}
	s = truncateText(s, int(min(keep, int64(len(s)))))
	if !truthyOr(p[1], false) {
		if i := strings.LastIndexByte(s, ' '); i >= 0 {
			s = s[:i]
		}
	}
	return s + end, m.alloc(len(s) + len(end))
}

func filterWordCount(m *machine, v Value, a arguments) (Value, error) {
	s, err := m.text(v)
	if err != nil {
		return nil, err
	}
	if err := m.allocItems(len(s)); err != nil {
		return nil, err
	}
	words := strings.FieldsFunc(s, func(r rune) bool { return !isWord(r) })
	return int64(len(words)), a.none("wordcount")
}

// filterFormat is the % operator with its arguments in brackets.
func filterFormat(m *machine, v Value, a arguments) (Value, error) {
	s, err := m.text(v)
	if err != nil {
		return nil, err
	}
	if len(a.keyword) == 0 {
		return m.percentFormat(s, &Tuple{items: a.positional})
	}
	if len(a.positional) > 0 {
		return nil, fail("format takes positional or keyword arguments, not both")
	}
	d := NewDict()
	for _, k := range a.keyword {
		d.Set(k.name, k.value)
	}
	return m.percentFormat(s, d)
}

func filterEscape(m *machine, v Value, a arguments) (Value, error) {
	if s, ok := v.(markup); ok {
		return s, a.none("escape")
	}
	s, err := m.text(v)
	if err != nil {
		return nil, err
	}
	if err := m.alloc(6 * len(s)); err != nil {
		return nil, err
	}
	return markup(escapeHTML(s)), a.none("escape")
}

func filterSafe(m *machine, v Value, a arguments) (Value, error) {
	s, err := m.text(v)
	if err != nil {
		return nil, err
	}
	return markup(s), a.none("safe")
}

// filterURLEncode quotes a string; Jinja keeps slashes.
func filterURLEncode(m *machine, v Value, a arguments) (Value, error) {
	if err := a.none("urlencode"); err != nil {
		return nil, err
	}
	switch v.(type) {
	case *Dict, *List, *Tuple, *sequence:
		return nil, fail("urlencode of a %s is not supported", typeName(v))
	}
	s, err := m.text(v)
	if err != nil {
		return nil, err
	}
	if err := m.alloc(3 * len(s)); err != nil {
		return nil, err
	}
	return strings.NewReplacer("+", "%20", "%2F", "/").Replace(url.QueryEscape(s)), nil
}
