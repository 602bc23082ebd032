package answer

import "strings"

// maxSpace is how much white space is held back, in bytes.
const maxSpace = 256

// open begins a string. Of Gemma 4's quote the rest must follow.
func (m *mender) open(c byte) bool {
	m.held = m.held[:0]
	if c == '<' {
		m.state, m.quote, m.held = mendTag, tagQuote, append(m.held, c)
		return true
	}
	m.state, m.quote = mendString, string(c)
	m.write('"')
	return true
}

func (m *mender) tag(c byte) bool {
	m.held = append(m.held, c)
	if !strings.HasPrefix(tagQuote, string(m.held)) {
		return false
	}
	if len(m.held) == len(tagQuote) {
		m.state, m.held = mendString, m.held[:0]
		m.write('"')
	}
	return true
}

// text takes a byte of a string.
func (m *mender) text(c byte) bool {
	switch {
	case m.quote == tagQuote:
		m.tagText(c)
	case c == m.quote[0]:
		m.state, m.held = mendQuote, append(m.held[:0], c)
	case c == '\\':
		m.state, m.held = mendEscape, m.held[:0]
	default:
		m.writeText(c)
	}
	return true
}

// tagText takes a byte of a string that ends with tagQuote: in it nothing is
// escaped.
func (m *mender) tagText(c byte) {
	m.held = append(m.held, c)
	for len(m.held) > 0 && !strings.HasPrefix(tagQuote, string(m.held)) {
		m.writeText(m.held[0])
		m.held = m.held[:copy(m.held, m.held[1:])]
	}
	if len(m.held) == len(tagQuote) {
		m.endString()
	}
}

// escape takes a byte behind a backslash. One that escapes nothing stands for
// itself.
func (m *mender) escape(c byte) bool {
	if len(m.held) > 0 {
		return m.codePoint(c)
	}
	switch c {
	case 'u':
		m.held = append(m.held, c)
		return true
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		m.write('\\', c)
	case '\'':
		m.writeText(c)
	default:
		m.writeText('\\')
		m.state = mendString
		return m.text(c)
	}
	m.state = mendString
	return true
}

func (m *mender) codePoint(c byte) bool {
	if !isHex(c) {
		m.writeText('\\')
		m.writeText(m.held...)
		m.state, m.held = mendString, m.held[:0]
		return m.text(c)
	}
	m.held = append(m.held, c)
	if len(m.held) == len("u0000") {
		m.write('\\')
		m.write(m.held...)
		m.state, m.held = mendString, m.held[:0]
	}
	return true
}

// afterQuote decides, by what comes behind a quote and white space, whether the
// quote ended the string.
func (m *mender) afterQuote(c byte) bool {
	if isSpace(c) && len(m.held) < maxSpace {
		m.held = append(m.held, c)
		return true
	}
	if m.follows(c) {
		m.endString()
		return m.step(c)
	}
	m.writeText(m.held...)
	m.state, m.held = mendString, m.held[:0]
	return m.text(c)
}

// follows says that a byte can come behind a string where the mender stands.
func (m *mender) follows(c byte) bool {
	switch {
	case m.isKey:
		return c == ':'
	case len(m.stack) == 0:
		return false
	}
	return c == ',' || c == m.stack[len(m.stack)-1].open+2
}

func (m *mender) endString() {
	m.write('"')
	m.held = m.held[:0]
	if m.isKey {
		m.state = mendColon
		return
	}
	m.complete()
}

// write appends to the output, and to the key if it is one.
func (m *mender) write(text ...byte) {
	m.out = append(m.out, text...)
	if m.isKey {
		m.key = append(m.key, text...)
	}
}

// writeText appends text of a string, escaped.
func (m *mender) writeText(text ...byte) {
	m.out = quoteJSON(m.out, text...)
	if m.isKey {
		m.key = quoteJSON(m.key, text...)
	}
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
