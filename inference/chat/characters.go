package chat

// characters decodes UTF-8 byte by byte. It holds the beginning of a character
// whose end has not come.
type characters struct {
	begun    [3]byte
	n        int  // bytes in begun
	missing  int  // bytes that complete the character
	low, top byte // what the next of them must lie between
}

const replacement = "\uFFFD"

// push takes one byte and appends to text what became certain with it: a whole
// character, replacements for bytes that cannot be one, both, or nothing.
func (c *characters) push(text []byte, b byte) []byte {
	if c.missing > 0 {
		if b < c.low || b > c.top {
			text = c.flush(text)
			return c.begin(text, b)
		}
		if c.missing--; c.missing == 0 {
			text = append(append(text, c.begun[:c.n]...), b)
			c.n = 0
			return text
		}
		c.begun[c.n] = b
		c.n++
		c.low, c.top = 0x80, 0xBF
		return text
	}
	return c.begin(text, b)
}

// begin takes the first byte of a character. The bounds of the second byte
// exclude overlong forms, surrogates and what lies beyond U+10FFFF (Unicode
// 3.9, table 3-7).
func (c *characters) begin(text []byte, b byte) []byte {
	c.low, c.top = 0x80, 0xBF
	switch {
	case b < 0x80:
		return append(text, b)
	case b < 0xC2 || b > 0xF4:
		return append(text, replacement...)
	case b < 0xE0:
		c.missing = 1
	case b < 0xF0:
		c.missing = 2
	default:
		c.missing = 3
	}
	switch b {
	case 0xE0:
		c.low = 0xA0
	case 0xED:
		c.top = 0x9F
	case 0xF0:
		c.low = 0x90
	case 0xF4:
		c.top = 0x8F
	}
	c.begun[0], c.n = b, 1
	return text
}

// flush replaces the character that was begun, if any.
func (c *characters) flush(text []byte) []byte {
	if c.n == 0 {
		return text
	}
	c.n, c.missing = 0, 0
	return append(text, replacement...)
}
