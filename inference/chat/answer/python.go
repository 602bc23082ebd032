package answer

import (
	"strings"

	"dure/inference"
)

// python reads calls as Python writes them, to the end of a block of code or of the
// text, and puts them out when all of them are read.
type python struct {
	p      *Parser
	fenced bool
	// bare: it may be just code.
	bare bool
	// closer is what ends them, where that is no block of code.
	closer string
	text   []byte
}

func (y *python) idle() bool { return false }

func (y *python) push(c byte) verdict {
	y.text = append(y.text, c)
	if y.fenced && strings.HasSuffix(string(y.text[max(0, len(y.text)-4):]), "\n```") {
		y.text = y.text[:len(y.text)-4]
		return y.finish()
	}
	if n := len(y.text) - len(y.closer); y.closer != "" && n >= 0 && string(y.text[n:]) == y.closer {
		y.text = y.text[:n]
		return y.finish()
	}
	return more
}

func (y *python) finish() verdict {
	calls, ok := pythonCalls(strings.TrimSuffix(string(y.text), "```"), y.p)
	if !ok {
		if y.bare {
			return quiet
		}
		return y.p.fail("what looks like a call in Python cannot be read")
	}
	for _, c := range calls {
		if _, known := y.p.known(c.name); !known && y.bare {
			return quiet
		}
	}
	raw, from := string(y.p.call.raw), y.p.mark+len(y.p.text.space)
	for i, c := range calls {
		if y.p.begin(c.name) {
			y.p.argument([]byte(c.arguments)...)
			y.p.endCall()
			continue
		}
		if i == 0 || y.p.ended {
			return broken
		}
		// The calls before it are out, and the whole text with them.
		y.p.warn(inference.CodeToolParse, "%s; it is in the answer as text", y.p.call.reason)
		y.p.sayAt([]byte(c.source), from+strings.Index(raw, c.source))
	}
	return done
}

// pythonCall is one call: the tool, its arguments as JSON, and its text.
type pythonCall struct{ name, arguments, source string }

// pythonCalls reads calls with line breaks, commas or semicolons between them,
// perhaps as a list, perhaps each within print().
func pythonCalls(text string, p *Parser) ([]pythonCall, bool) {
	s := &scanner{text: strings.TrimSpace(text), p: p}
	list := s.take("[")
	var out []pythonCall
	for {
		s.space()
		if s.rest() == "" || list && s.take("]") {
			return out, s.rest() == "" && len(out) > 0
		}
		from := s.at
		c, ok := s.call()
		if !ok {
			return nil, false
		}
		c.source = s.text[from:s.at]
		out = append(out, c)
		for s.space(); s.take(",") || s.take(";"); s.space() {
		}
	}
}

// scanner reads a text of Python.
type scanner struct {
	text string
	at   int
	p    *Parser
}

func (s *scanner) rest() string { return s.text[s.at:] }

func (s *scanner) space() { s.at = len(s.text) - len(strings.TrimLeft(s.rest(), " \t\r\n")) }

func (s *scanner) take(word string) bool {
	if !strings.HasPrefix(s.rest(), word) {
		return false
	}
	s.at += len(word)
	return true
}

// word reads a name, perhaps with dots.
func (s *scanner) word() string {
	from := s.at
	for s.at < len(s.text) && (isWord(s.text[s.at]) || s.text[s.at] == '.' || s.text[s.at] == '-') {
		s.at++
	}
	return s.text[from:s.at]
}

func (s *scanner) call() (pythonCall, bool) {
	name := s.word()
	if s.space(); name == "" || !s.take("(") {
		return pythonCall{}, false
	}
	if name == "print" {
		s.space()
		c, ok := s.call()
		s.space()
		return c, ok && s.take(")")
	}
	name = strings.TrimSuffix(name, ".call")
	if _, ok := s.p.known(name); !ok {
		if _, last, dotted := cutLast(name, "."); dotted {
			name = last
		}
	}
	arguments, ok := s.arguments(name)
	return pythonCall{name: name, arguments: arguments}, ok
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// arguments reads them up to the bracket, as a JSON object. One without a name is
// the tool's only parameter.
func (s *scanner) arguments(name string) (string, bool) {
	out := []byte{'{'}
	for {
		s.space()
		if s.take(")") {
			return string(append(out, '}')), true
		}
		from := s.at
		key := s.word()
		if s.space(); key == "" || !s.take("=") {
			s.at = from
			full, _ := s.p.known(name)
			t := s.p.tools[full]
			if t == nil || len(out) > 1 {
				return "", false
			}
			var ok bool
			if key, ok = t.single(); !ok {
				return "", false
			}
		}
		value, ok := s.value()
		if !ok {
			return "", false
		}
		if len(out) > 1 {
			out = append(out, ", "...)
		}
		out = append(append(append(out, jsonString(key)...), ": "...), value...)
		if s.space(); !s.take(",") && !strings.HasPrefix(s.rest(), ")") {
			return "", false
		}
	}
}

// value reads one value, as JSON. Its end is the first comma or bracket that is in
// no string and no bracket of its own.
func (s *scanner) value() (string, bool) {
	s.space()
	for _, q := range []string{`"""`, "'''"} {
		if s.take(q) {
			text, _, ok := strings.Cut(s.rest(), q)
			s.at += len(text) + len(q)
			return jsonString(text), ok
		}
	}
	from, depth := s.at, 0
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case '"', '\'':
			if !s.quoted(c) {
				return "", false
			}
		case '(', '[', '{':
			depth++
		case ')', ']', '}', ',':
			if depth == 0 {
				return mend(s.text[from:s.at])
			}
			if c != ',' {
				depth--
			}
		}
	}
	return "", false
}

// quoted goes to the end of a string.
func (s *scanner) quoted(quote byte) bool {
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case quote:
			return true
		}
	}
	return false
}
