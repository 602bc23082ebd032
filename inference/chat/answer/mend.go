package answer

import (
	"encoding/json"
	"strings"
)

// mender reads one JSON value as a model wrote it, byte by byte, and writes JSON
// with Python's separators (", " and ": "). It mends what has one plain reading:
// trailing commas, single quotes, keys without quotes, raw control characters and
// quotes within strings, unknown escapes, Python's literals.
//
// A quote ends a string only if what follows it, behind white space, can follow a
// string there: a quote in valid JSON always does.
type mender struct {
	out   []byte // JSON that is certain and was not taken
	state mendState
	stack []level
	// quote is what ends the string being read: ", ' or tagQuote.
	quote  string
	isKey  bool
	held   []byte // a quote and white space behind it, an escape, or a literal
	key    []byte // the last key that was read, as JSON
	watch  int    // the depth at which keys and values are reported
	keyEnd bool   // the last push completed a key at that depth, colon included
	// valueEnd is where in out a value at that depth was completed by the last
	// push, or -1.
	valueEnd int
}

type level struct {
	open  byte // '{' or '['
	count int
}

type mendState uint8

const (
	mendValue mendState = iota // a value must come
	mendItem                   // a value or ]
	mendKey                    // a key or }
	mendColon
	mendAfter // a comma or the end of the container
	mendTag   // the rest of Gemma 4's quote
	mendString
	mendEscape
	mendQuote // a quote was read that may end the string
	mendLiteral
	mendBareKey
	mendDone
)

// tagQuote is what Gemma 4 writes around strings.
const tagQuote = `<|"|>`

const (
	maxDepth   = 256
	maxLiteral = 1024
)

func newMender() *mender { return &mender{valueEnd: -1} }

// take returns the JSON that is certain and forgets it.
func (m *mender) take() []byte {
	out := m.out
	m.out = nil
	return out
}

// inString says that the next byte is text of a string.
func (m *mender) inString() bool { return m.state == mendString || m.state == mendEscape }

// push takes the next byte. False: it cannot stand there; the mender is used up.
func (m *mender) push(c byte) bool {
	m.keyEnd, m.valueEnd = false, -1
	return m.step(c)
}

func (m *mender) step(c byte) bool {
	switch m.state {
	case mendTag:
		return m.tag(c)
	case mendString:
		return m.text(c)
	case mendEscape:
		return m.escape(c)
	case mendQuote:
		return m.afterQuote(c)
	case mendLiteral:
		return m.literal(c)
	case mendBareKey:
		return m.bareKey(c)
	}
	if isSpace(c) {
		return true
	}
	switch m.state {
	case mendKey:
		return m.member(c)
	case mendColon:
		if c != ':' {
			return false
		}
		m.colon()
		return true
	case mendAfter:
		return m.after(c)
	case mendItem:
		if c == ']' {
			return m.close(c)
		}
		return m.value(c)
	case mendValue:
		return m.value(c)
	}
	return false
}

func (m *mender) element() {
	if len(m.stack) == 0 {
		return
	}
	top := &m.stack[len(m.stack)-1]
	if top.open == '[' || m.isKey {
		if top.count > 0 {
			m.out = append(m.out, ", "...)
		}
		top.count++
	}
}

func (m *mender) value(c byte) bool {
	m.isKey = false
	switch {
	case c == '{' || c == '[':
		if len(m.stack) == maxDepth {
			return false
		}
		m.element()
		m.stack = append(m.stack, level{open: c})
		m.out = append(m.out, c)
		m.state = mendKey
		if c == '[' {
			m.state = mendItem
		}
		return true
	case c == '"' || c == '\'' || c == '<':
		m.element()
		return m.open(c)
	case c == '-' || c == '+' || c == '.' || isWord(c):
		m.element()
		m.state, m.held = mendLiteral, append(m.held[:0], c)
		return true
	}
	return false
}

func (m *mender) member(c byte) bool {
	m.isKey = true
	switch {
	case c == '}':
		return m.close(c)
	case c == '"' || c == '\'' || c == '<':
		m.element()
		m.key = m.key[:0]
		return m.open(c)
	case isWord(c):
		m.element()
		m.state, m.held = mendBareKey, append(m.held[:0], c)
		return true
	}
	return false
}

func (m *mender) bareKey(c byte) bool {
	switch {
	case (isWord(c) || c == '-' || c == '.') && len(m.held) < maxLiteral:
		m.held = append(m.held, c)
		return true
	case isSpace(c) || c == ':':
		m.key = append(append(append(m.key[:0], '"'), m.held...), '"')
		m.out = append(m.out, m.key...)
		m.state = mendColon
		return m.step(c)
	}
	return false
}

func (m *mender) colon() {
	m.out = append(m.out, ": "...)
	m.state = mendValue
	m.keyEnd = len(m.stack) == m.watch
}

func (m *mender) after(c byte) bool {
	if len(m.stack) == 0 {
		return false
	}
	switch {
	case c == ',' && m.stack[len(m.stack)-1].open == '{':
		m.state = mendKey
	case c == ',':
		m.state = mendItem
	default:
		return m.close(c)
	}
	return true
}

func (m *mender) close(c byte) bool {
	if len(m.stack) == 0 || m.stack[len(m.stack)-1].open != c-2 { // { and }, [ and ] are two apart
		return false
	}
	m.stack = m.stack[:len(m.stack)-1]
	m.out = append(m.out, c)
	m.complete()
	return true
}

// complete ends a value.
func (m *mender) complete() {
	if len(m.stack) == m.watch {
		m.valueEnd = len(m.out)
	}
	m.state = mendAfter
	if len(m.stack) == 0 {
		m.state = mendDone
	}
}

// end closes what is open, because the text ends here. It reports whether what
// was read is a value then; of a string that is open only if tagged, when the end
// of the call was marked behind it.
func (m *mender) end(tagged bool) bool {
	m.keyEnd, m.valueEnd = false, -1
	switch m.state {
	case mendLiteral:
		if !m.endLiteral() {
			return false
		}
	case mendQuote:
		m.endString()
	case mendString:
		if !tagged || m.isKey || m.quote == tagQuote && len(m.held) > 0 {
			return false
		}
		m.endString()
	}
	for len(m.stack) > 0 {
		if m.state != mendAfter && m.state != mendKey && m.state != mendItem {
			return false
		}
		if !m.close(m.stack[len(m.stack)-1].open + 2) {
			return false
		}
	}
	return m.state == mendDone
}

func (m *mender) literal(c byte) bool {
	if isWord(c) || c == '-' || c == '+' || c == '.' {
		m.held = append(m.held, c)
		return len(m.held) < maxLiteral
	}
	return m.endLiteral() && m.state != mendDone && m.step(c)
}

func (m *mender) endLiteral() bool {
	text := string(m.held)
	switch text {
	case "True", "False":
		text = strings.ToLower(text)
	case "None":
		text = "null"
	}
	if !json.Valid([]byte(text)) {
		return false
	}
	m.held = m.held[:0]
	m.out = append(m.out, text...)
	m.complete()
	return true
}

// mend makes JSON of a whole text.
func mend(text string) (string, bool) {
	m := newMender()
	text = strings.TrimSpace(text)
	for i := range len(text) {
		if !m.step(text[i]) {
			return "", false
		}
	}
	if !m.end(false) {
		return "", false
	}
	return string(m.out), true
}

// mendObject makes a JSON object of a whole text.
func mendObject(text string) (string, bool) {
	out, ok := mend(text)
	return out, ok && strings.HasPrefix(out, "{")
}
