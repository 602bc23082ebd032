package answer

import (
	"bytes"
	"encoding/json"
)

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// isWord says that a byte can be part of a name or a literal. Bytes of characters
// beyond ASCII are among them.
func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// quoteJSON appends a string's text as it stands in JSON, without the quotes.
func quoteJSON(out []byte, text ...byte) []byte {
	const hex = "0123456789abcdef"
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c == '\n':
			out = append(out, `\n`...)
		case c == '\t':
			out = append(out, `\t`...)
		case c == '\r':
			out = append(out, `\r`...)
		case c < 0x20:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			out = append(out, c)
		}
	}
	return out
}

// jsonString is a text as JSON.
func jsonString(text string) string {
	return string(append(quoteJSON([]byte{'"'}, []byte(text)...), '"'))
}

// unquote reads a JSON string that a mender wrote.
func unquote(text []byte) (string, bool) {
	var s string
	if !bytes.HasPrefix(text, []byte{'"'}) || json.Unmarshal(text, &s) != nil {
		return "", false
	}
	return s, true
}
