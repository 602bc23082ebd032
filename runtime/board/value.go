package board

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Value is what a column of a row holds: nil, an int64, a float64 or a string. It
// survives JSON as that.
type Value struct{ V any }

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) { return AppendValue(nil, v.V) }

// UnmarshalJSON implements json.Unmarshaler.
func (v *Value) UnmarshalJSON(data []byte) error {
	text := string(bytes.TrimSpace(data))
	switch {
	case text == "null":
		v.V = nil
		return nil
	case strings.HasPrefix(text, `"`):
		var s string
		err := json.Unmarshal(data, &s)
		v.V = s
		return err
	case strings.ContainsAny(text, ".eE"):
		f, err := strconv.ParseFloat(text, 64)
		v.V = f
		return err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	v.V = n
	return err
}

// AppendValue appends a value as JSON, in the one form that it has in events and
// dumps: a float always shows that it is one, and zero has no sign.
func AppendValue(to []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(to, "null"...), nil
	case int64:
		return strconv.AppendInt(to, v, 10), nil
	case float64:
		return appendReal(to, v)
	case string:
		return appendText(to, v)
	}
	return nil, fmt.Errorf("value: %w: a %T", ErrInvalid, v)
}

func appendReal(to []byte, v float64) ([]byte, error) {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return nil, fmt.Errorf("value: %w: %v is not a finite number", ErrInvalid, v)
	}
	if v == 0 {
		return append(to, "0.0"...), nil
	}
	from := len(to)
	to = strconv.AppendFloat(to, v, 'g', -1, 64)
	if !bytes.ContainsAny(to[from:], ".e") {
		to = append(to, ".0"...)
	}
	return to, nil
}

const hex = "0123456789abcdef"

// appendText escapes what JSON demands and nothing else.
func appendText(to []byte, s string) ([]byte, error) {
	if err := CheckText(s); err != nil {
		return nil, err
	}
	to = append(to, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		to = append(to, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			to = append(to, '\\', c)
		case '\n':
			to = append(to, `\n`...)
		default:
			to = append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(to, s[from:]...), '"'), nil
}

// CheckText says why a text cannot be kept, or nil.
func CheckText(s string) error {
	if !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
		return fmt.Errorf("text: %w: want UTF-8 without NUL", ErrInvalid)
	}
	return nil
}

// Size is the bytes that a value counts as in Limits.Write and Limits.Stored.
func Size(v any) int64 {
	switch v := v.(type) {
	case nil:
		return 0
	case string:
		return int64(len(v))
	}
	return 8
}

// AppendChange appends a change as JSON, in the form that its event has. It is
// json.Marshal, several times as fast for what is large.
func AppendChange(to []byte, c Change) ([]byte, error) {
	to = append(to, `{"table":"`...)
	to = append(append(to, c.Table...), `","op":"`...) // names need no escapes
	to = append(append(to, c.Op...), `","id":`...)
	to = strconv.AppendInt(to, c.ID, 10)
	if len(c.Row) == 0 {
		return append(to, '}'), nil
	}
	to = append(to, `,"row":{`...)
	for i, name := range slices.Sorted(maps.Keys(c.Row)) {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(append(append(to, '"'), name...), `":`...)
		var err error
		if to, err = AppendValue(to, c.Row[name].V); err != nil {
			return nil, fmt.Errorf("%s.%s: %w", c.Table, name, err)
		}
	}
	return append(to, "}}"...), nil
}
