package strict

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The plain values of a request, each checked for what it may be.

// MaxTokens is how many token ids one list may hold: the longest context of
// any model, and some more.
const MaxTokens = 1 << 20

// Boolean returns a boolean.
func (d *Decoder) Boolean(v Value) (bool, error) {
	if v.Kind != KindTrue && v.Kind != KindFalse {
		return false, d.Expected("true or false", v)
	}
	return v.Kind == KindTrue, nil
}

// Number returns a number in [low, high].
func (d *Decoder) Number(v Value, low, high float64) (float32, error) {
	if v.Kind != KindNumber {
		return 0, d.Expected("a number", v)
	}
	f, err := strconv.ParseFloat(string(v.Raw), 64)
	if err != nil || f < low || f > high {
		return 0, d.Invalid("must be between %g and %g, not %s", low, high, Clip(string(v.Raw)))
	}
	return float32(f), nil
}

// Positive returns a number in (0, high].
func (d *Decoder) Positive(v Value, high float64) (float32, error) {
	f, err := d.Number(v, math.Inf(-1), math.Inf(1))
	if v.Kind == KindNumber && (err != nil || f <= 0 || float64(f) > high) {
		return 0, d.Invalid("must be above 0 and at most %g, not %s", high, Clip(string(v.Raw)))
	}
	return f, err
}

// Integer returns a whole number in [low, high].
func (d *Decoder) Integer(v Value, low, high int64) (int64, error) {
	if v.Kind != KindNumber {
		return 0, d.Expected("an integer", v)
	}
	digits := string(v.Raw)
	if strings.ContainsAny(digits, ".eE") {
		return 0, d.Invalid("expected an integer, got %s", Clip(digits))
	}
	i, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || i < low || i > high {
		return 0, d.Invalid("must be between %d and %d, not %s", low, high, Clip(digits))
	}
	return i, nil
}

// TokenID returns a token. Whether the model has it is the model's to say.
func (d *Decoder) TokenID(v Value) (int32, error) {
	id, err := d.Integer(v, 0, math.MaxInt32)
	return int32(id), err
}

// TokenIDs returns a list of tokens.
func (d *Decoder) TokenIDs(v Value) ([]int32, error) {
	ids := []int32{}
	err := d.List(v, func(v Value) error {
		if len(ids) == MaxTokens {
			return d.Invalid("a list may hold at most %d tokens", MaxTokens)
		}
		id, err := d.TokenID(v)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// Text returns a string as Unicode text that can go to a model.
func (d *Decoder) Text(v Value) (string, error) {
	if v.Kind != KindString {
		return "", d.Expected("a string", v)
	}
	s := v.text()
	switch {
	case strings.IndexByte(s, 0) >= 0:
		return "", d.Invalid("the text holds a NUL character")
	case strings.ContainsRune(s, utf8.RuneError) && loneSurrogate(v.Raw):
		return "", d.Invalid("the text holds half of a surrogate pair, which is no character")
	}
	return s, nil
}

// loneSurrogate looks for a \u escape of half a character in a JSON string.
// encoding/json has turned such a half into U+FFFD by now, silently.
func loneSurrogate(literal []byte) bool {
	unit := func(i int) (rune, bool) {
		if i+6 > len(literal) || literal[i] != '\\' || literal[i+1] != 'u' {
			return 0, false
		}
		v, err := strconv.ParseUint(string(literal[i+2:i+6]), 16, 16)
		return rune(v), err == nil
	}
	for i := 0; i < len(literal); i++ {
		if literal[i] != '\\' {
			continue
		}
		first, ok := unit(i)
		if !ok {
			i++ // some other escape of two characters
			continue
		}
		i += 5
		if first < 0xd800 || first > 0xdfff {
			continue
		}
		second, ok := unit(i + 1)
		if !ok || first > 0xdbff || second < 0xdc00 || second > 0xdfff {
			return true
		}
		i += 6
	}
	return false
}
