package jinja

import (
	"strings"
	"unicode/utf8"
)

// formatMethod is str.format with {}, {0}, {name}, !r, !s and :spec. Access to
// attributes and items inside the braces is refused.
func formatMethod(m *machine, s string, a arguments) (Value, error) {
	var b strings.Builder
	auto := 0
	for {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			break
		}
		b.WriteString(s[:i])
		if i+1 < len(s) && s[i+1] == s[i] {
			b.WriteByte(s[i])
			s = s[i+2:]
			continue
		}
		end := strings.IndexByte(s[i:], '}')
		if s[i] == '}' || end < 0 {
			return nil, fail("single %q encountered in format string", s[i])
		}
		text, err := m.braces(s[i+1:i+end], a, &auto)
		if err != nil {
			return nil, err
		}
		if err := m.alloc(len(text)); err != nil {
			return nil, err
		}
		b.WriteString(text)
		s = s[i+end+1:]
	}
	b.WriteString(s)
	return b.String(), m.alloc(b.Len())
}

// braces formats one replacement field.
func (m *machine) braces(field string, a arguments, auto *int) (string, error) {
	field, format, _ := strings.Cut(field, ":")
	field, conversion, _ := strings.Cut(field, "!")
	v, err := a.field(field, auto)
	if err != nil {
		return "", err
	}
	switch conversion {
	case "":
	case "r":
		v, err = m.repr(v)
	case "s":
		v, err = m.text(v)
	default:
		return "", fail("unsupported conversion %q in format string", conversion)
	}
	if err != nil {
		return "", err
	}
	if format == "" {
		return m.text(v)
	}
	sp, err := parseSpec(format)
	if err != nil {
		return "", err
	}
	return m.formatSpec(v, sp)
}

// field finds the argument that a replacement field names.
func (a arguments) field(field string, auto *int) (Value, error) {
	if strings.ContainsAny(field, ".[{") {
		return nil, fail("access to parts of a value in a format string is not supported: {%s}", field)
	}
	n, rest, err := formatNumber(field)
	if err != nil {
		return nil, err
	}
	if rest != "" {
		for _, k := range a.keyword {
			if k.name == field {
				return k.value, nil
			}
		}
		return nil, fail("the format has no value for %s", field)
	}
	if field == "" {
		n = *auto
		*auto++
	}
	if n >= len(a.positional) {
		return nil, fail("replacement index %d out of range", n)
	}
	return a.positional[n], nil
}

// parseSpec reads [[fill]align][sign][#][0][width][,][.precision][type].
func parseSpec(s string) (spec, error) {
	sp := spec{fill: " ", precision: -1}
	_, n := utf8.DecodeRuneInString(s)
	if len(s) > n && strings.IndexByte("<>^=", s[n]) >= 0 {
		sp.fill, sp.align, s = s[:n], s[n], s[n+1:]
	} else if s != "" && strings.IndexByte("<>^=", s[0]) >= 0 {
		sp.align, s = s[0], s[1:]
	}
	if s != "" && strings.IndexByte("+- ", s[0]) >= 0 {
		if s[0] != '-' {
			sp.sign = s[0]
		}
		s = s[1:]
	}
	if strings.HasPrefix(s, "0") {
		sp.zero, s = true, s[1:]
	}
	var err error
	if sp.width, s, err = formatNumber(s); err != nil {
		return sp, err
	}
	if strings.HasPrefix(s, ",") {
		sp.commas, s = true, s[1:]
	}
	if strings.HasPrefix(s, ".") {
		if sp.precision, s, err = formatNumber(s[1:]); err != nil {
			return sp, err
		}
	}
	if len(s) > 1 || s != "" && strings.IndexByte("sdfFeEgxXo", s[0]) < 0 {
		return sp, fail("unsupported format spec %q", s)
	}
	if s != "" {
		sp.verb = s[0]
	}
	return sp, nil
}

func (m *machine) formatSpec(v Value, sp spec) (string, error) {
	if s, ok := str(v); ok {
		if sp.verb != 0 && sp.verb != 's' {
			return "", fail("unknown format code %q for object of type 'str'", sp.verb)
		}
		if sp.align == 0 {
			sp.align = '<'
		}
		return m.fit(truncateText(s, sp.precision), sp)
	}
	_, _, isInt, ok := numeric(v)
	if !ok {
		return "", fail("unsupported format of a %s", typeName(v))
	}
	if sp.align == 0 {
		sp.align = '>'
	}
	if sp.verb == 0 {
		if !isInt {
			return "", fail("a float in a format needs a type such as f")
		}
		sp.verb = 'd'
	}
	return m.formatNumber(v, sp)
}
