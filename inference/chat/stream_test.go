package chat

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"dure/inference"

	"pgregory.net/rapid"
)

// fataler is what testing.T, testing.B and rapid.T have in common.
type fataler interface{ Fatalf(string, ...any) }

// run pushes the pieces and returns all text, checking what holds for each
// step on the way.
func run(t fataler, stop []string, pieces [][]byte) (string, *Stream) {
	s, err := NewStream(stop)
	if err != nil {
		t.Fatalf("NewStream(%q): %v", stop, err)
	}
	longest := 0
	for _, x := range stop {
		longest = max(longest, len(x))
	}
	var out strings.Builder
	pushed := 0
	for i, piece := range pieces {
		text, stopped := s.Push(string(piece))
		if !utf8.ValidString(text) {
			t.Fatalf("push %d gave half a character: %q", i, text)
		}
		out.WriteString(text)
		pushed += len(piece)
		if len(s.held) > max(longest-1, 0) {
			t.Fatalf("push %d holds back %q, more than any stop string needs", i, s.held)
		}
		// What came in is out, held, part of a character, or (3 bytes for at
		// least one) replaced.
		if !stopped && out.Len()+len(s.held)+s.characters.n < pushed {
			t.Fatalf("push %d lost bytes: %d in, %d out, %d held, %d in a character", i, pushed, out.Len(), len(s.held), s.characters.n)
		}
	}
	text := s.Flush()
	if !utf8.ValidString(text) {
		t.Fatalf("flush gave half a character: %q", text)
	}
	out.WriteString(text)
	return out.String(), s
}

// expect is the definition on the whole answer at once.
func expect(answer []byte, stop []string) (text, matched string) {
	text = decode(answer)
	at := len(text)
	for _, x := range stop {
		i := strings.Index(text, x)
		if i >= 0 && (i < at || i == at && len(x) < len(matched)) {
			at, matched = i, x
		}
	}
	return text[:at], matched
}

// beginnings are all proper beginnings of characters, taken from the characters.
var beginnings = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for r := rune(0x80); r <= utf8.MaxRune; r++ {
		s := string(r)
		for n := 1; n < len(s); n++ {
			out[s[:n]] = true
		}
	}
	return out
})

// decode replaces each maximal subpart of an ill-formed sequence by U+FFFD:
// the longest beginning of a character that is there, or one byte.
func decode(b []byte) string {
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			for n < len(b) && beginnings()[string(b[:n+1])] {
				n++
			}
			out.WriteString(replacement)
		} else {
			out.Write(b[:n])
		}
		b = b[n:]
	}
	return out.String()
}

func TestInvalidBytes(t *testing.T) {
	for in, want := range map[string]string{
		"\xE2\x82A":                "\uFFFDA",
		"\xE2\x82":                 "\uFFFD",
		"\xFF\xFE":                 "\uFFFD\uFFFD",
		"\x80\x80":                 "\uFFFD\uFFFD",
		"\xC0\xAF":                 "\uFFFD\uFFFD",             // overlong
		"\xE0\x80\xAF":             "\uFFFD\uFFFD\uFFFD",       // overlong
		"\xED\xA0\x80":             "\uFFFD\uFFFD\uFFFD",       // surrogate
		"\xF4\x90\x80\x80":         "\uFFFD\uFFFD\uFFFD\uFFFD", // beyond U+10FFFF
		"\xF0\x9F\x98\xF0\x9F":     "\uFFFD\uFFFD",
		"a\xF0\x9F\x98\x80b\xC3":   "a😀b\uFFFD",
		"\xF1\x80\x80\xE1\x80\xC2": "\uFFFD\uFFFD\uFFFD", // the standard's example, table 3-8
	} {
		if got, _ := run(t, nil, cut([]byte(in), 1)); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
		if got := decode([]byte(in)); got != want {
			t.Errorf("the test's own decoder gives %q for %q, want %q", got, in, want)
		}
	}
}

func cut(b []byte, n int) [][]byte {
	var out [][]byte
	for len(b) > n {
		out = append(out, b[:n])
		b = b[n:]
	}
	return append(out, b)
}

func TestStop(t *testing.T) {
	for _, c := range []struct {
		in      string
		stop    []string
		want    string
		matched string
	}{
		{"no stop here", []string{"###"}, "no stop here", ""},
		{"abc###def", []string{"###"}, "abc", "###"},
		{"abc##", []string{"###"}, "abc##", ""},         // held back, then released
		{"aaab", []string{"aab"}, "a", "aab"},           // a failed start overlaps the real one
		{"xabcdx", []string{"bc", "abcd"}, "x", "abcd"}, // the earlier start wins though it ends later
		{"xabce", []string{"bc", "abcd"}, "xa", "bc"},   // unless it fails
		{"xabc", []string{"bc", "abcd"}, "xa", "bc"},    // or the text ends
		{"xab", []string{"abab", "ab"}, "x", "ab"},      // same start: the shorter
		{"안녕 세상", []string{"세"}, "안녕 ", "세"},
		{"안녕 \xEC\x84", []string{"세"}, "안녕 \uFFFD", ""},
		{"stop", []string{"stop"}, "", "stop"},
		{"aabaaabaaac", []string{"aabaaac"}, "aaba", "aabaaac"}, // a border within a border
		{"ababacababab", []string{"ababab"}, "ababac", "ababab"},
		{"x\xE2\x82A", []string{"\uFFFDA"}, "x", "\uFFFDA"},
		{"x\xE2\x82A", []string{"\uFFFD"}, "x", "\uFFFD"},
	} {
		for n := 1; n <= len(c.in); n++ {
			got, s := run(t, c.stop, cut([]byte(c.in), n))
			if matched, _ := s.Matched(); got != c.want || matched != c.matched {
				t.Errorf("%q in pieces of %d, stop %q: %q by %q, want %q by %q", c.in, n, c.stop, got, matched, c.want, c.matched)
			}
		}
	}
}

// The engine must not be kept running once the stop string is complete.
func TestStopIsReportedWithTheByteThatCompletesIt(t *testing.T) {
	s, err := NewStream([]string{"END"})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		piece, text string
		stopped     bool
	}{{"an E", "an ", false}, {"N", "", false}, {"D of it", "", true}, {"more", "", true}} {
		if text, stopped := s.Push(step.piece); text != step.text || stopped != step.stopped {
			t.Errorf("Push(%q) = %q, %v; want %q, %v", step.piece, text, stopped, step.text, step.stopped)
		}
	}
	if text := s.Flush(); text != "" {
		t.Errorf("Flush after the stop gives %q", text)
	}
}

func TestNewStreamRefusesUselessStopStrings(t *testing.T) {
	for _, x := range []string{"", "\xE2\x82"} {
		_, err := NewStream([]string{"ok", x})
		var e *inference.Error
		if !errors.As(err, &e) || e.Code != inference.CodeInvalidRequest || e.Param != "stop" {
			t.Errorf("NewStream(%q) = %v, want invalid_request for stop", x, err)
		}
	}
}

func TestAnyCutGivesTheSameText(t *testing.T) {
	// A small alphabet, so that stop strings occur and nearly occur.
	fragment := rapid.SampledFrom([]string{"a", "b", "aa", "ab", "é", "가", "😀", "\u07FF", "\uFFFF", "\U0010FFFF", "\xE2", "\x82", "\xF0\x9F", "\xFF", "\xED\xA0"})
	rapid.Check(t, func(t *rapid.T) {
		answer := []byte(strings.Join(rapid.SliceOfN(fragment, 0, 40).Draw(t, "answer"), ""))
		valid := func(letters ...string) *rapid.Generator[string] {
			return rapid.Map(rapid.SliceOfN(rapid.SampledFrom(letters), 1, 8), func(x []string) string { return strings.Join(x, "") })
		}
		// Two letters make strings whose ends are beginnings.
		stop := rapid.SliceOfN(rapid.OneOf(valid("a", "b"), valid("a", "é", "가", "😀", "\uFFFD")), 0, 4).Draw(t, "stop")
		want, wantMatched := expect(answer, stop)

		var pieces [][]byte
		for rest := answer; len(rest) > 0; {
			n := rapid.IntRange(0, len(rest)).Draw(t, "cut")
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		for _, p := range [][][]byte{pieces, cut(answer, 1), {answer}} {
			got, s := run(t, stop, p)
			if matched, _ := s.Matched(); got != want || matched != wantMatched {
				t.Fatalf("%q in %d pieces, stop %q: %q by %q, want %q by %q", answer, len(p), stop, got, matched, want, wantMatched)
			}
		}
	})
}

func FuzzStream(f *testing.F) {
	f.Add([]byte("abc###def"), "###", "de", 2)
	f.Add([]byte("x\xE2\x82A가나다\xED\xA0\x80"), "\uFFFDA", "나", 1)
	f.Add([]byte("aaaaaaaab"), "aaab", "aab", 3)
	f.Fuzz(func(t *testing.T, answer []byte, a, b string, n int) {
		var stop []string
		for _, x := range []string{a, b} {
			if x != "" && utf8.ValidString(x) {
				stop = append(stop, x)
			}
		}
		want, wantMatched := expect(answer, stop)
		got, s := run(t, stop, cut(answer, max(1, n)))
		if matched, _ := s.Matched(); got != want || matched != wantMatched {
			t.Errorf("%q by %d, stop %q: %q by %q, want %q by %q", answer, n, stop, got, matched, want, wantMatched)
		}
	})
}

func TestPushDoesNotAllocateByLengthOfTheAnswer(t *testing.T) {
	s, err := NewStream([]string{"<|end|>", "\n\nUser:"})
	if err != nil {
		t.Fatal(err)
	}
	piece := []byte(" 안녕 <|en") // holds back the end of every piece
	push := func() {
		if _, stopped := s.Push(string(piece)); stopped {
			t.Fatal("stopped")
		}
	}
	push()
	before := testing.AllocsPerRun(100, push)
	for range 100_000 {
		push()
	}
	if after := testing.AllocsPerRun(100, push); before != 1 || after != 1 {
		t.Errorf("%v allocations per push at the start, %v after 100,000; want 1, the text", before, after)
	}
	if c := cap(s.held); c > 256 {
		t.Errorf("the stream holds a buffer of %d bytes", c)
	}
}

func BenchmarkPush(b *testing.B) {
	s, err := NewStream([]string{"<|end|>", "\n\nUser:"})
	if err != nil {
		b.Fatal(err)
	}
	piece := []byte(" token")
	b.ReportAllocs()
	for b.Loop() {
		s.Push(string(piece))
	}
}
