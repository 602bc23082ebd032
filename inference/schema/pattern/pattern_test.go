package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// anyPattern draws a pattern; with looks also lookaheads, which Go's regexp has not.
func anyPattern(t *rapid.T, depth int, looks bool) string {
	kinds := 9
	if looks {
		kinds = 11
	}
	if depth == 0 {
		kinds = 3
	}
	part := func() string { return anyPattern(t, depth-1, looks) }
	switch kind := rapid.IntRange(0, kinds).Draw(t, "kind"); kind {
	case 0, 1:
		return rapid.SampledFrom([]string{"a", "b", "ab", "é", "-", " ", `\n`, `\.`, `\x41`, `\/`, ".", "", "a"}).Draw(t, "chars")
	case 2:
		return rapid.SampledFrom([]string{`[ab]`, `[^a]`, `[a-cé]`, `\d`, `\w`, `\W`, `\D`, `[\d_-]`, `[^\w.]`, `[-a]`, `\p{Lu}`, `[^\p{L}\d]`}).Draw(t, "class")
	case 3:
		return rapid.SampledFrom([]string{"^", "$", "^a", "b$"}).Draw(t, "anchor")
	case 4, 5:
		return part() + part()
	case 6:
		return part() + "|" + part()
	case 7:
		return rapid.SampledFrom([]string{"(", "(?:", "(?<x1>"}).Draw(t, "group") + part() + "|" + part() + ")"
	case 8, 9:
		return "(?:" + part() + ")" + rapid.SampledFrom([]string{"*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "{1,3}?"}).Draw(t, "times")
	default:
		return rapid.SampledFrom([]string{"(?=", "(?!"}).Draw(t, "look") + part() + ")"
	}
}

func anyText(t *rapid.T) string {
	return rapid.StringOfN(rapid.SampledFrom([]rune("aaabbcé-_ .1\nA/")), 0, 8, -1).Draw(t, "text")
}

// The group name x1 may occur more than once in a drawn pattern, which Go refuses.
func forGo(p string) string { return strings.ReplaceAll(p, "(?<x1>", "(") }

func TestAgainstRegexp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPattern(t, 4, false)
		// Programs differ in what ends a line; Go knows \n only.
		re, err := regexp.Compile(forGo(p))
		if err != nil {
			t.Fatalf("%q: %v", p, err)
		}
		a, err := Parse(p)
		if err != nil {
			t.Fatalf("%q: %v", p, err)
		}
		for range 10 {
			text := anyText(t)
			if got, want := a.Matches(text), re.MatchString(text); got != want {
				t.Fatalf("%q in %q: %v", p, text, got)
			}
		}
		if !a.Empty() {
			checkLengths(t, a)
		}
	})
}

// checkLengths draws a walk through the automaton to a text of its set.
func checkLengths(t *rapid.T, a *Automaton) {
	shortest, longest := a.Lengths()
	at, n := 0, 0
	for !a.Final(at) || rapid.Bool().Draw(t, "on") {
		edges := a.states[at].edges
		if len(edges) == 0 || n == 30 {
			break
		}
		at = rapid.SampledFrom(edges).Draw(t, "edge").to
		n++
	}
	if a.Final(at) && (n < shortest || longest >= 0 && n > longest) {
		t.Fatalf("a text of %d characters, not %d to %d", n, shortest, longest)
	}
}

// search is what patterns mean, written down as plainly as can be.
func search(e expr, text []rune) bool {
	for i := 0; i <= len(text); i++ {
		if matchAt(e, text, i, func(int) bool { return true }) {
			return true
		}
	}
	return false
}

func matchAt(e expr, s []rune, i int, then func(int) bool) bool {
	switch e := e.(type) {
	case chars:
		return i < len(s) && contains(e.narrow, s[i]) && then(i+1)
	case concat:
		if len(e) == 0 {
			return then(i)
		}
		return matchAt(e[0], s, i, func(j int) bool { return matchAt(e[1:], s, j, then) })
	case either:
		for _, x := range e {
			if matchAt(x, s, i, then) {
				return true
			}
		}
		return false
	case times:
		if e.max == 0 {
			return then(i)
		}
		less := times{e.of, max(e.min-1, 0), e.max - 1}
		if matchAt(e.of, s, i, func(j int) bool { return (j > i || e.min > 0) && matchAt(less, s, j, then) }) {
			return true
		}
		return e.min == 0 && then(i)
	case begin:
		return i == 0 && then(i)
	case end:
		return i == len(s) && then(i)
	case look:
		return matchAt(e.ahead, s, i, func(int) bool { return true }) != e.not && then(i)
	}
	panic(fmt.Sprintf("%T", e))
}

// all classes of the drawn patterns but . are alike for all programs, and so is . on
// the drawn texts.
func TestLookaheads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPattern(t, 4, true)
		e, err := parse(p)
		if err != nil {
			var syntax *SyntaxError
			if errors.As(err, &syntax) && strings.Contains(syntax.Message, "this cannot be repeated") {
				return
			}
			t.Fatalf("%q: %v", p, err)
		}
		a, err := Parse(p)
		if err != nil {
			t.Fatalf("%q: %v", p, err)
		}
		for range 10 {
			text := anyText(t)
			if got, want := a.Matches(text), search(e, []rune(text)); got != want {
				t.Fatalf("%q in %q: %v", p, text, got)
			}
		}
	})
}

func TestAlgebra(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func() *Automaton {
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				min := rapid.IntRange(0, 4).Draw(t, "min")
				a, err := Length(min, rapid.SampledFrom([]int{-1, min, min + 2, min - 1}).Draw(t, "max"))
				if err != nil {
					t.Fatal(err)
				}
				return a
			case 1:
				a, err := Texts(rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("abé")), 0, 3, -1), 0, 4).Draw(t, "texts")...)
				if err != nil {
					t.Fatal(err)
				}
				return a
			}
			p := anyPattern(t, 3, false)
			a, err := Parse(p)
			if err != nil {
				t.Fatalf("%q: %v", p, err)
			}
			return a
		}
		a, b := draw(), draw()
		both, err := a.Intersect(b)
		if err != nil {
			t.Fatal(err)
		}
		not := a.Complement()
		in, err := a.Contains(b)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			text := anyText(t)
			x, y := a.Matches(text), b.Matches(text)
			if both.Matches(text) != (x && y) || not.Matches(text) == x || in && y && !x {
				t.Fatalf("%q: %v and %v, both %v, not %v, contained %v", text, x, y, both.Matches(text), not.Matches(text), in)
			}
		}
		none, err := a.Intersect(not)
		if err != nil || !none.Empty() {
			t.Fatalf("a set and its complement share texts (%v)", err)
		}
		if all, err := a.Contains(both); err != nil || !all {
			t.Fatalf("an intersection is not in its parts (%v)", err)
		}
	})
}

// What programs read differently is neither in a set nor surely outside.
func TestDifferences(t *testing.T) {
	for p, texts := range map[string][]string{
		`^\s$`:         {"\v", "\u00a0", "\u2028", "\ufeff"},
		`^\S$`:         {"\v", "\u00a0", "\u2028", "\ufeff"},
		`^[^\s]$`:      {"\v", "\u00a0"},
		`^.$`:          {"\r", "\u2028", "\u2029"},
		`^(?!\s)[^a]$`: {"\v"},
		`^(?=.)[^a]$`:  {"\r"},
	} {
		narrow, err := Parse(p)
		if err != nil {
			t.Fatal(err)
		}
		wide, err := ParseWide(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if narrow.Matches(text) || !wide.Matches(text) {
				t.Errorf("%s on %q: %v, wide %v", p, text, narrow.Matches(text), wide.Matches(text))
			}
		}
		if sure, err := wide.Contains(narrow); err != nil || !sure {
			t.Errorf("%s: what surely matches must match generously too (%v)", p, err)
		}
	}
}

func TestSyntax(t *testing.T) {
	for _, test := range []struct {
		pattern  string
		yes, not []string
	}{
		{`^a{,2}$`, []string{"a{,2}"}, []string{"", "aa"}},
		{`^{x}]$`, []string{"{x}]"}, nil},
		{`^[\w-.]+$`, []string{"a-.b"}, []string{"a,"}},
		{`^[a\]\-z]+$`, []string{"a]-z"}, []string{"b"}},
		{`^\u00e9\u{1F600}\uD83D\uDE00\cJ\0$`, []string{"é😀😀\n\x00"}, nil},
		{`^[\b]$`, []string{"\b"}, []string{"b"}},
		{`^\p{Script=Greek}\p{gc=Nd}\P{L}\p{ASCII}$`, []string{"α1!a"}, []string{"a1!a", "α1aa"}},
		{`^(?P<year>\d{4})$`, []string{"2024"}, []string{"24"}},
		{`^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$`,
			[]string{"a@b.co", "x.y+z@a-b.c.de"}, []string{".a@b.co", "a..b@b.co", "a.@b.co", "a@b"}},
		{`^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$`,
			[]string{"P1W", "P1Y2M", "PT3.5S", "P1DT1H"}, []string{"P", "PT", "P1Y1W", "P1DT"}},
		{`^(?!^[-+.]*$)[+-]?0*\d*\.?\d*$`, []string{"1.5", "-0.25", "7"}, []string{"", "-", ".", "1.2.3"}},
		{`^(?=.*[A-Z])(?=.*\d).{8,}$`, []string{"abcdefG1", "12345678Z"}, []string{"abcdefg1", "G1"}},
		{`(?:(?!ab).)*$`, []string{"", "ab", "xaby"}, nil},
		{`^(?:(?!ab).)*$`, []string{"", "ba", "aab"[:2]}, []string{"ab", "xaby"}},
	} {
		a, err := Parse(test.pattern)
		if err != nil {
			t.Errorf("%s: %v", test.pattern, err)
			continue
		}
		for _, text := range test.yes {
			if !a.Matches(text) {
				t.Errorf("%s does not match %q", test.pattern, text)
			}
		}
		for _, text := range test.not {
			if a.Matches(text) {
				t.Errorf("%s matches %q", test.pattern, text)
			}
		}
	}
}

func TestRefusedPatterns(t *testing.T) {
	for p, want := range map[string]string{
		`(a)\1`:                      "at character 3: a reference to a group cannot be expressed",
		`(?<n>a)\k<n>`:               "at character 7: a reference to a group cannot be expressed",
		`é\b`:                        `at character 1: \b cannot be expressed; say which characters may stand there`,
		`(?<=a)b`:                    "at character 0: a lookbehind cannot be expressed",
		`(?i)a`:                      "at character 0: groups that begin with (? and no : = ! or < cannot be expressed (flags such as (?i): write both cases in a class)",
		`\Aa\Z`:                      `at character 0: \A is not known in JSON Schema; use ^ and $`,
		`a**`:                        "at character 2: there is nothing to repeat",
		`*a`:                         "at character 0: there is nothing to repeat",
		`a|{2}`:                      "at character 2: there is nothing to repeat",
		`^*`:                         "at character 0: this cannot be repeated",
		`(?=a)*`:                     "at character 0: this cannot be repeated",
		`(a`:                         "at character 0: there is no ) for this (",
		`a)`:                         "at character 1: there is no ( for this )",
		`[a`:                         "at character 0: there is no ] for this [",
		`[a-`:                        "at character 0: there is no ] for this [",
		`[]a]`:                       `at character 0: whether [] holds no character or begins with ] is read differently by different programs; write [\]...] or [\s\S]`,
		`[[:alpha:]]`:                `at character 1: [: in a class is read differently by different programs; write \[ or a range such as a-z`,
		`[z-a]`:                      "at character 1: the range runs backwards",
		`a{3,2}`:                     "at character 1: at least 3 and at most 2 is never",
		`a{99999}`:                   "at character 1: more than 20000 repetitions; use minLength or maxLength for lengths",
		`\`:                          `at character 0: there is nothing behind \`,
		`\q`:                         `at character 0: the escape \q is not known`,
		`\x4`:                        "at character 0: here should be 2 hexadecimal digits",
		`\u{110000}`:                 "at character 0: there is no such character",
		`\ud800`:                     "at character 0: there is no such character",
		`\p{Nonsense}`:               `at character 0: the property \p{Nonsense} is not known here; use a general category such as \p{L}, or \p{Script=Greek}`,
		`\pL`:                        `at character 0: behind \p there should be a name in { }`,
		`\c1`:                        `at character 0: behind \c there should be a letter`,
		`(?<>a)`:                     "at character 0: the name of the group is not one",
		"a\xff":                      "at character 0: it is not UTF-8",
		`(a|b)*a(a|b){20}$`:          ErrTooLarge.Error(),
		`^((.{0,99},){0,99}){0,99}$`: ErrTooLarge.Error(),
		strings.Repeat("(", 200):     "at character 100: groups are nested more than 100 deep",
	} {
		if _, err := Parse(p); err == nil || err.Error() != want {
			t.Errorf("%s: %v, not %s", p, err, want)
		}
	}
	for name, err := range map[string]error{
		"length": second(Length(0, MaxStates)),
		"texts":  second(Texts(strings.Repeat("a", MaxStates+1))),
		"both":   second(must(Parse("^(a{499})*$")).Intersect(must(Parse("^(a{497})*$")))),
	} {
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func must(a *Automaton, err error) *Automaton {
	if err != nil {
		panic(err)
	}
	return a
}

// FuzzParse: no pattern panics or takes long.
func FuzzParse(f *testing.F) {
	for _, p := range []string{`^(?!\.)(?!.*\.\.)([\w'+\-\.]*)[^\s]@(\p{L}[\d-]*\.)+[A-Za-z]{2,}$`, `(?<x>a|b{2,3}?)|\u{1F600}[^\W\x41-\x5a]`} {
		f.Add(p, "a@b.co")
	}
	f.Fuzz(func(t *testing.T, p, text string) {
		if len(p) > 300 || len(text) > 100 {
			return
		}
		narrow, err := Parse(p)
		if err != nil {
			return
		}
		wide, err := ParseWide(p)
		if err != nil {
			return
		}
		if narrow.Matches(text) && !wide.Matches(text) {
			t.Errorf("%q surely matches %q, and not generously", text, p)
		}
		if !narrow.Empty() {
			narrow.Lengths()
		}
	})
}
