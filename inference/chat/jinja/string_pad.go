package jinja

import (
	"strings"
	"unicode/utf8"
)

// pad is center, ljust and rjust.
func pad(name string) stringMethod {
	return func(m *machine, s string, a arguments) (Value, error) {
		p, err := a.bind(name, "width", "fillchar?")
		if err != nil {
			return nil, err
		}
		width, err := intOr(name, p[0], 0)
		if err != nil {
			return nil, err
		}
		fill, err := stringOr(name, p[1], " ")
		if err != nil {
			return nil, err
		}
		if utf8.RuneCountInString(fill) != 1 {
			return nil, fail("the fill character must be exactly one character long")
		}
		return m.pad(s, fill, width, map[string]byte{"center": '^', "ljust": '<', "rjust": '>'}[name])
	}
}

// pad fills s up to a width in characters; align is one of < > ^.
func (m *machine) pad(s, fill string, width int64, align byte) (Value, error) {
	missing := width - int64(utf8.RuneCountInString(s))
	if missing <= 0 {
		return s, m.work(len(s))
	}
	if missing > int64(m.limits.Memory/4) {
		return nil, limitError("the memory used", m.limits.Memory)
	}
	if err := m.alloc(len(s) + int(missing)*len(fill)); err != nil {
		return nil, err
	}
	left := missing
	switch align {
	case '<':
		left = 0
	case '^':
		left = missing/2 + missing&width&1 // str.center's own way to round
	}
	return strings.Repeat(fill, int(left)) + s + strings.Repeat(fill, int(missing-left)), nil
}

func zfill(m *machine, s string, a arguments) (Value, error) {
	p, err := a.bind("zfill", "width")
	if err != nil {
		return nil, err
	}
	width, err := intOr("zfill", p[0], 0)
	if err != nil {
		return nil, err
	}
	sign := ""
	if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
		sign, s = s[:1], s[1:]
	}
	v, err := m.pad(s, "0", width-int64(len(sign)), '>')
	if err != nil {
		return nil, err
	}
	return m.addStrings("", sign, "", v.(string))
}
