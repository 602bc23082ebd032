package openai

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The plain values of a request, each checked for what it may be.

// maxTokenList is how many token ids one list may hold: the longest context of
// any model, and some more.
const maxTokenList = 1 << 20

func (d *decoder) boolean(t token) (bool, error) {
	if t.kind != kindTrue && t.kind != kindFalse {
		return false, d.expected("true or false", t)
	}
	return t.kind == kindTrue, nil
}

// number returns a number in [low, high].
func (d *decoder) number(t token, low, high float64) (float32, error) {
	if t.kind != kindNumber {
		return 0, d.expected("a number", t)
	}
	f, err := strconv.ParseFloat(string(t.raw), 64)
	if err != nil || f < low || f > high {
		return 0, d.invalid("must be between %g and %g, not %s", low, high, clip(string(t.raw)))
	}
	return float32(f), nil
}

// positive returns a number in (0, high].
func (d *decoder) positive(t token, high float64) (float32, error) {
	f, err := d.number(t, math.Inf(-1), math.Inf(1))
	if t.kind == kindNumber && (err != nil || f <= 0 || float64(f) > high) {
		return 0, d.invalid("must be above 0 and at most %g, not %s", high, clip(string(t.raw)))
	}
	return f, err
}

// integer returns a whole number in [low, high].
func (d *decoder) integer(t token, low, high int64) (int64, error) {
	if t.kind != kindNumber {
		return 0, d.expected("an integer", t)
	}
	digits := string(t.raw)
	if strings.ContainsAny(digits, ".eE") {
		return 0, d.invalid("expected an integer, got %s", clip(digits))
	}
	i, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || i < low || i > high {
		return 0, d.invalid("must be between %d and %d, not %s", low, high, clip(digits))
	}
	return i, nil
}

// tokenID returns a token. Whether the model has it is the model's to say.
func (d *decoder) tokenID(t token) (int32, error) {
	id, err := d.integer(t, 0, math.MaxInt32)
	return int32(id), err
}

// tokenIDs returns a list of tokens.
func (d *decoder) tokenIDs(t token) ([]int32, error) {
	ids := []int32{}
	err := d.list(t, func(t token) error {
		if len(ids) == maxTokenList {
			return d.invalid("a list may hold at most %d tokens", maxTokenList)
		}
		id, err := d.tokenID(t)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// text returns a string as Unicode text that can go to a model.
func (d *decoder) text(t token) (string, error) {
	if t.kind != kindString {
		return "", d.expected("a string", t)
	}
	s := t.text()
	switch {
	case strings.IndexByte(s, 0) >= 0:
		return "", d.invalid("the text holds a NUL character")
	case strings.ContainsRune(s, utf8.RuneError) && loneSurrogate(t.raw):
		return "", d.invalid("the text holds half of a surrogate pair, which is no character")
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
