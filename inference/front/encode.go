package front

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// AppendJSON appends v without the escapes that only HTML needs.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return dst, fmt.Errorf("encode answer: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// AppendEvent appends v as a server-sent event without a name.
func AppendEvent(dst []byte, v any) ([]byte, error) {
	dst, err := AppendJSON(append(dst, "data: "...), v)
	return append(dst, "\n\n"...), err
}

// AppendNamedEvent appends v as a server-sent event.
func AppendNamedEvent(dst []byte, name string, v any) ([]byte, error) {
	dst = append(append(append(dst, "event: "...), name...), '\n')
	return AppendEvent(dst, v)
}

// AppendLine appends v as a line of its own.
func AppendLine(dst []byte, v any) ([]byte, error) {
	dst, err := AppendJSON(dst, v)
	return append(dst, '\n'), err
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string, in quotes: byte for byte what
// encoding/json writes with SetEscapeHTML(false). It is the one encoder on the
// path of a token, where encoding/json would cost an allocation and reflection
// per event.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[from:i]...)
			dst = appendControl(dst, c)
			i++
			from = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(append(dst, s[from:i]...), `\ufffd`...)
			from = i + size
		case r == '\u2028' || r == '\u2029':
			// Legal in JSON, but line ends in older JavaScript.
			dst = append(append(dst, s[from:i]...), `\u202`...)
			dst = append(dst, hexDigits[r&0xf])
			from = i + size
		}
		i += size
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

// appendControl appends the escape of a quote, a backslash or a control
// character.
func appendControl(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}
