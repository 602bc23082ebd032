package jinja

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// splitMethod is split and, from the right, rsplit.
func splitMethod(right bool) stringMethod {
	return func(m *machine, s string, a arguments) (Value, error) {
		p, err := a.bind("split", "sep?", "maxsplit?")
		if err != nil {
			return nil, err
		}
		limit, err := intOr("split", p[1], -1)
		if err != nil {
			return nil, err
		}
		if limit < 0 || limit > int64(len(s)) {
			limit = int64(len(s)) + 1
		}
		if p[0] == (absent{}) || p[0] == nil {
			if err := m.allocItems(transitions(s, isSpace)); err != nil {
				return nil, err
			}
			return m.strings(len(s), fields(s, int(limit), right))
		}
		sep, err := stringOr("split", p[0], "")
		if err != nil {
			return nil, err
		}
		if sep == "" {
			return nil, fail("empty separator")
		}
		if err := m.allocItems(strings.Count(s, sep)); err != nil {
			return nil, err
		}
		return m.strings(len(s), cut(s, sep, int(limit), right))
	}
}

// transitions counts how often s goes over to characters that are such.
func transitions(s string, is func(rune) bool) int {
	n, was := 1, false
	for _, r := range s {
		now := is(r)
		if now && !was {
			n++
		}
		was = now
	}
	return n
}

// strings makes a list of strings that took n bytes of work.
func (m *machine) strings(n int, parts []string) (Value, error) {
	if err := m.allocItems(2 * len(parts)); err != nil {
		return nil, err
	}
	out := make([]Value, len(parts))
	for i, p := range parts {
		out[i] = p
	}
	return &List{out}, m.work(n)
}

// cut splits at up to limit separators, counted from the left or the right.
func cut(s, sep string, limit int, right bool) []string {
	if !right {
		return strings.SplitN(s, sep, limit+1)
	}
	var out []string
	for ; limit > 0; limit-- {
		i := strings.LastIndex(s, sep)
		if i < 0 {
			break
		}
		out = append(out, s[i+len(sep):])
		s = s[:i]
	}
	out = append(out, s)
	slices.Reverse(out)
	return out
}

// fields splits at runs of whitespace, which are dropped at both ends.
func fields(s string, limit int, right bool) []string {
	var out []string
	if right {
		for s = strings.TrimRightFunc(s, isSpace); s != ""; limit-- {
			i := strings.LastIndexFunc(s, isSpace)
			if i < 0 || limit == 0 {
				out = append(out, s)
				break
			}
			_, n := utf8.DecodeRuneInString(s[i:])
			out = append(out, s[i+n:])
			s = strings.TrimRightFunc(s[:i], isSpace)
		}
		slices.Reverse(out)
		return out
	}
	for s = strings.TrimLeftFunc(s, isSpace); s != ""; limit-- {
		i := strings.IndexFunc(s, isSpace)
		if i < 0 || limit == 0 {
			return append(out, s)
		}
		out = append(out, s[:i])
		s = strings.TrimLeftFunc(s[i:], isSpace)
	}
	return out
}

func splitlinesMethod(m *machine, s string, a arguments) (Value, error) {
	p, err := a.bind("splitlines", "keepends?")
	if err != nil {
		return nil, err
	}
	lines, err := m.splitlines(s, truthyOr(p[0], false))
	if err != nil {
		return nil, err
	}
	return m.strings(len(s), lines)
}

// splitlines splits at what Python takes as the end of a line.
func (m *machine) splitlines(s string, keep bool) ([]string, error) {
	n := 1
	for _, r := range s {
		if isLineEnd(r) {
			n++
		}
	}
	if err := m.allocItems(n); err != nil {
		return nil, err
	}
	out := make([]string, 0, n)
	for s != "" {
		i := strings.IndexFunc(s, isLineEnd)
		if i < 0 {
			out = append(out, s)
			break
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		if strings.HasPrefix(s[i:], "\r\n") {
			n = 2
		}
		if keep {
			out = append(out, s[:i+n])
		} else {
			out = append(out, s[:i])
		}
		s = s[i+n:]
	}
	return out, nil
}

func isLineEnd(r rune) bool {
	return r >= '\n' && r <= '\r' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
}

func partition(name string, search func(s, sep string) int) stringMethod {
	return func(m *machine, s string, a arguments) (Value, error) {
		p, err := a.bind(name, "sep")
		if err != nil {
			return nil, err
		}
		sep, err := stringOr(name, p[0], "")
		if err != nil {
			return nil, err
		}
		if sep == "" {
			return nil, fail("empty separator")
		}
		parts := []Value{s, "", ""}
		if i := search(s, sep); i >= 0 {
			parts = []Value{s[:i], sep, s[i+len(sep):]}
		} else if name == "rpartition" {
			parts = []Value{"", "", s}
		}
		return &Tuple{items: parts}, m.work(len(s))
	}
}

func replaceMethod(m *machine, s string, a arguments) (Value, error) {
	p, err := a.bind("replace", "old", "new", "count?")
	if err != nil {
		return nil, err
	}
	from, err := stringOr("replace", p[0], "")
	if err != nil {
		return nil, err
	}
	to, err := stringOr("replace", p[1], "")
	if err != nil {
		return nil, err
	}
	count, err := intOr("replace", p[2], -1)
	if err != nil {
		return nil, err
	}
	return m.replace(s, from, to, count)
}

func (m *machine) replace(s, from, to string, count int64) (Value, error) {
	if err := m.work(len(s)); err != nil {
		return nil, err
	}
	n := strings.Count(s, from) // for an empty from: one more than characters
	if count >= 0 {
		n = int(min(int64(n), count))
	}
	if n > 0 && len(to) > m.limits.Memory/n {
		return nil, limitError("the memory used", m.limits.Memory)
	}
	if err := m.alloc(len(s) + n*len(to)); err != nil {
		return nil, err
	}
	return strings.Replace(s, from, to, n), nil
}

func joinMethod(m *machine, s string, a arguments) (Value, error) {
	p, err := a.bind("join", "iterable")
	if err != nil {
		return nil, err
	}
	items, err := m.iterate(p[0])
	if err != nil {
		return nil, err
	}
	for i, x := range items {
		if _, ok := str(x); !ok {
			return nil, fail("sequence item %d: expected str instance, %s found", i, typeName(x))
		}
	}
	return m.joinText(s, items)
}

// joinText joins the texts of items.
func (m *machine) joinText(sep string, items []Value) (Value, error) {
	var b strings.Builder
	for i, x := range items {
		s, err := m.text(x)
		if err != nil {
			return nil, err
		}
		if err := m.alloc(len(sep) + len(s)); err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(s)
	}
	return b.String(), m.step(len(items))
}
