package jinja

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
	"unicode/utf8"
)

// fuzzVariables are made anew for each rendering: a namespace aside, nothing in
// them can change, and the second rendering proves it.
func fuzzVariables() map[string]Value {
	call := NewDict()
	call.Set("name", "f")
	call.Set("arguments", NewDict())
	m := NewDict()
	m.Set("role", "user")
	m.Set("content", "안녕 <b>\n")
	m.Set("tool_calls", NewList(call))
	d := NewDict()
	d.Set("a", int64(1))
	d.Set("b", NewList(1.5, true, nil))
	return map[string]Value{
		"messages": NewList(m, m), "s": "hello", "l": NewList(int64(1), int64(2), int64(3)), "d": d,
		"raise_exception": NewFunc("raise_exception", func(...Value) (Value, error) { return nil, errors.New("raised") }),
	}
}

func FuzzTemplate(f *testing.F) {
	data, err := os.ReadFile("../testdata/language.json")
	if err != nil {
		f.Fatal(err)
	}
	var file struct{ Cases []struct{ Template string } }
	if err := json.Unmarshal(data, &file); err != nil {
		f.Fatal(err)
	}
	for _, c := range file.Cases {
		f.Add(c.Template)
	}
	limits := Limits{Output: 1 << 16, Memory: 1 << 20, Steps: 20_000, Depth: 500}
	f.Fuzz(func(t *testing.T, source string) {
		if !utf8.ValidString(source) {
			return // refused before it comes here
		}
		compiled, err := Compile(source)
		if err != nil {
			if e := (*Error)(nil); !errors.As(err, &e) {
				t.Fatalf("Compile gives a %T: %v", err, err)
			}
			return
		}
		text, err := compiled.Render(fuzzVariables(), limits)
		if e := (*Error)(nil); err != nil && !errors.As(err, &e) {
			t.Fatalf("Render gives a %T: %v", err, err)
		}
		if len(text) > limits.Output || !utf8.ValidString(text) {
			t.Fatalf("Render gives %d bytes, valid UTF-8: %v", len(text), utf8.ValidString(text))
		}
		again, err2 := compiled.Render(fuzzVariables(), limits)
		if again != text || (err == nil) != (err2 == nil) {
			t.Fatalf("the second rendering differs: %q, %v and %q, %v", text, err, again, err2)
		}
	})
}

// FuzzText gives hostile texts to what handles text.
func FuzzText(f *testing.F) {
	source := `{{ s|upper }}{{ s|lower }}{{ s|title }}{{ s|capitalize }}{{ s|trim }}{{ s|indent }}{{ s|tojson }}{{ s|tojson(ensure_ascii=true) }}{{ [s] }}` +
		`{{ s|reverse }}{{ s[1:] }}{{ s[::-1] }}{{ s[::2] }}{{ s[0] }}{{ s|first }}{{ s|last }}{{ s|list }}{{ s.split() }}{{ s.split(none, 1) }}{{ s.rsplit() }}{{ s.splitlines() }}` +
		`{{ s|int(0) if s.isascii is defined else '' }}{{ s|float }}{{ s|urlencode }}{{ s|e }}{{ s|wordcount }}{{ s|truncate(5) }}{{ s.center(9) }}{{ s.zfill(9) }}` +
		`{{ s.title() }}{{ s.swapcase() }}{{ s.find('a') }}{{ s.partition(' ') }}{{ s|replace('', '-') }}{{ {s: 1} }}{% for c in s %}{{ c }}{% endfor %}`
	compiled, err := Compile(source)
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"", "a b\r\nc", "안녕 \u2028 😀", "ΑΣ İ ﬁ", "1_0.5e3", "\x00\x7f\u200b", "'\"\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, err := compiled.Render(map[string]Value{"s": s}, Limits{Output: 1 << 20, Memory: 1 << 26, Steps: 1 << 20, Depth: 100})
		if err != nil {
			if !errors.Is(err, ErrLimit) {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		if utf8.ValidString(s) && !utf8.ValidString(text) {
			t.Fatalf("%q became invalid UTF-8: %q", s, text)
		}
	})
}
