package grammar

import (
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var borders = []rune{0, 1, 0x7e, 0x7f, 0x80, 0x81, 0x7fe, 0x7ff, 0x800, 0x801, 0xfff, 0x1000, 0xd7fe, 0xd7ff, 0xd800, 0xdfff, 0xe000, 0xfffe, 0xffff,
	0x10000, 0x10001, 0x3ffff, 0x40000, 0xfffff, 0x100000, 0x10fffe, 0x10ffff}

// Every character is in a class if and only if it is in one of its ranges, and what
// is not UTF-8 never is.
func TestClass(t *testing.T) {
	near := rapid.Custom(func(t *rapid.T) rune {
		return rapid.OneOf(rapid.SampledFrom(borders), rapid.Rune()).Draw(t, "rune")
	})
	rapid.Check(t, func(t *rapid.T) {
		var ranges []Range
		for range rapid.IntRange(0, 5).Draw(t, "ranges") {
			a, b := near.Draw(t, "a"), near.Draw(t, "b")
			ranges = append(ranges, Range{min(a, b), max(a, b)})
		}
		in := func(r rune) bool { return containsRune(ranges, r) && (r < surrogateMin || r > surrogateMax) }
		e, not := Alternative(Class(ranges...), Literal("!!")), Alternative(Except(ranges...), Literal("!!"))
		m, n := NewMatcher(compiled(t, e), nil), NewMatcher(compiled(t, not), nil)
		check := func(r rune) {
			if !utf8.ValidRune(r) {
				return
			}
			s, o := m.Start(), n.Start()
			text := []byte(string(r))
			if got := s.Accept(text) && s.Done(); got != in(r) {
				t.Fatalf("%U in %v: %v", r, ranges, got)
			}
			if got := o.Accept(text) && o.Done(); got == in(r) {
				t.Fatalf("%U not in %v: %v", r, ranges, got)
			}
		}
		for _, r := range borders {
			check(r)
		}
		for _, r := range ranges {
			for d := rune(-2); d <= 2; d++ {
				check(r.Lo + d)
				check(r.Hi + d)
			}
		}
		bad := rapid.SampledFrom([]string{"\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff", "\xf8\x80\x80\x80"}).Draw(t, "bad")
		s, o := m.Start(), n.Start()
		if s.Accept([]byte(bad)) || o.Accept([]byte(bad)) {
			t.Fatalf("%q is accepted", bad)
		}
	})
}
