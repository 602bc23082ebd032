package grammar

import (
	"strings"
	"testing"
)

// places are where the masks of a JSON document differ most in what they cost.
var places = []struct{ name, text string }{
	{"string", `{"note":"some text`},
	{"counted", `{"note":"x","key":"x","name":"some`},
	{"key", `{"note":"x","key": {"a`},
	{"number", `{"note":"x","key":12`},
	{"value", `{"note":"x","key":`},
}

// BenchmarkMask is a mask over a vocabulary of 248,000 tokens: first one by a fresh
// matcher, new one that was not asked for before by a matcher that knows its way,
// again one that is remembered.
func BenchmarkMask(b *testing.B) {
	v := vocabulary(randomPieces(248000, 3))
	plain := Except(Range{0, 0x1f}, Range{'"', '"'}, Range{'\\', '\\'})
	free := Concat(Literal(`{"note":"`), Repeat(Alternative(plain, Literal(`\"`)), 0, Unlimited), Literal(`",`))
	g := compiled(b, Concat(free, jsonTail(1000)))
	mask := func(b *testing.B, s State) {
		if _, err := s.Mask(); err != nil {
			b.Fatal(err)
		}
	}
	at := func(text string) State {
		s := NewMatcher(g, v).Start()
		if !s.Accept([]byte(text)) {
			b.Fatal("refused")
		}
		return s
	}
	for _, p := range places {
		b.Run("first/"+p.name, func(b *testing.B) {
			for b.Loop() {
				mask(b, at(p.text))
			}
		})
		b.Run("new/"+p.name, func(b *testing.B) {
			s := at(p.text)
			for mask(b, s); b.Loop(); mask(b, s) {
				s.m.masks.forget()
			}
		})
		b.Run("again/"+p.name, func(b *testing.B) {
			s := at(p.text)
			for mask(b, s); b.Loop(); mask(b, s) {
			}
		})
	}
}

func BenchmarkAllows(b *testing.B) {
	v := vocabulary([]string{"word", " and", `",`})
	s := NewMatcher(compiled(b, jsonLike(1000)), v).Start()
	s.Accept([]byte(`{"key":"some text`))
	for b.Loop() {
		s.Allows(0)
	}
}

func BenchmarkAccept(b *testing.B) {
	text := []byte(`{"key":"` + strings.Repeat("some text ", 100) + `","name":"abc"}`)
	m := NewMatcher(compiled(b, jsonLike(1000)), nil)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if s := m.Start(); !s.Accept(text) || !s.Done() {
			b.Fatal("refused")
		}
	}
}

func BenchmarkVocabulary(b *testing.B) {
	pieces := randomPieces(248000, 3)
	for b.Loop() {
		vocabulary(pieces)
	}
}
