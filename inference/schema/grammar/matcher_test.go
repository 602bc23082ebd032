package grammar

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// fataler is what tests and properties have in common.
type fataler interface {
	Helper()
	Fatal(...any)
}

func compiled(t fataler, e Expr) *Grammar {
	t.Helper()
	g, err := Compile(e)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// shortest finds a text that leads from a state to the end of the text.
func shortest(s State) (string, bool) {
	type place struct {
		at   *config
		text string
	}
	seen := map[*config]bool{s.at: true}
	work := []place{{s.at, ""}}
	for len(work) > 0 && len(seen) < 3000 {
		p := work[0]
		work = work[1:]
		if p.at.done {
			return p.text, true
		}
		for _, b := range s.m.grammar.samples {
			if to := s.m.step(p.at, b); to != s.m.dead && !seen[to] {
				seen[to] = true
				work = append(work, place{to, p.text + string([]byte{b})})
			}
		}
	}
	return "", false
}

// What a Matcher accepts is what the expression means, and what it accepts of a text
// can always be completed.
func TestMatcherAgainstMeaning(t *testing.T) {
	letters := []string{"a", "b", "é", "\xc3"}
	rapid.Check(t, func(t *rapid.T) {
		e := anyGrammar(t)
		g, err := Compile(e)
		if errors.Is(err, ErrLeftRecursion) {
			return
		}
		words := allowed(e, letters, 4)
		if errors.Is(err, ErrEmpty) && len(words) == 0 {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		m := NewMatcher(g, nil)
		for w := range words {
			if s := m.Start(); !s.Accept([]byte(w)) || !s.Done() {
				t.Fatalf("%q is refused, or not done", w)
			}
		}
		begins := func(p string) bool {
			return slices.ContainsFunc(slices.Collect(maps.Keys(words)), func(w string) bool { return strings.HasPrefix(w, p) })
		}
		check := func(p string) bool {
			s := m.Start()
			switch ok := s.Accept([]byte(p)); {
			case !ok && begins(p):
				t.Fatalf("the beginning %q is refused", p)
			case ok && s.Done() && !ends(e, p, 0)[len(p)]:
				t.Fatalf("%q is done", p)
			case ok:
				rest, found := shortest(s)
				if !found || !ends(e, p+rest, 0)[len(p+rest)] {
					t.Fatalf("after %q there is no end (%q)", p, rest)
				}
				return true
			}
			return false
		}
		walk(check, letters, "", 3)
	})
}

func walk(check func(string) bool, letters []string, p string, n int) {
	if !check(p) || n == 0 {
		return
	}
	for _, l := range letters {
		walk(check, letters, p+l, n-1)
	}
}

func TestRefusedGrammars(t *testing.T) {
	rule := func(f func(*Rule) Expr) Expr {
		r := NewRule("r")
		r.Define(f(r))
		return r
	}
	deep := Literal("x")
	for range MaxDepth + 1 {
		inner := deep
		deep = rule(func(*Rule) Expr { return Concat(Literal("("), inner, Literal(")")) })
	}
	for name, test := range map[string]struct {
		e    Expr
		want error
	}{
		"left":               {rule(func(r *Rule) Expr { return Alternative(Concat(r, Literal("a")), Literal("b")) }), ErrLeftRecursion},
		"left behind empty":  {rule(func(r *Rule) Expr { return Alternative(Concat(Optional(Literal("x")), r, Literal("a")), Literal("b")) }), ErrLeftRecursion},
		"left in repetition": {rule(func(r *Rule) Expr { return Alternative(Repeat(r, 2, 5), Literal("b")) }), ErrLeftRecursion},
		"left in a graph":    {rule(func(r *Rule) Expr { return Graph([]GraphState{{[]GraphEdge{{r, 0}}, true}}) }), ErrLeftRecursion},
		"endless":            {rule(func(r *Rule) Expr { return Concat(Literal("a"), r) }), ErrEmpty},
		"nothing":            {Alternative(), ErrEmpty},
		"no literals":        {Literals(), ErrEmpty},
		"no character":       {Class(), ErrEmpty},
		"undefined":          {NewRule("u"), ErrUndefined},
		"bounds":             {Repeat(Literal("a"), 3, 2), ErrRepeat},
		"large bound":        {Repeat(Literal("a"), 3, MaxRepeat+1), ErrRepeat},
		"large":              {Literal(strings.Repeat("a", MaxNodes)), ErrTooLarge},
		"deep":               {deep, ErrTooDeep},
	} {
		if _, err := Compile(test.e); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, not %v", name, err, test.want)
		}
	}
}

// Recursion at the end of a rule, through others or not, takes no frames; brackets
// take as many as are open, up to the limit, and can always be closed.
func TestNesting(t *testing.T) {
	a, b := NewRule("a"), NewRule("b")
	a.Define(Concat(Literal("a"), Alternative(b, Literal("."))))
	b.Define(Alternative(Concat(Literal("b"), b), a))
	m := NewMatcher(compiled(t, a), nil)
	s := m.Start()
	if !s.Accept([]byte(strings.Repeat("aabbbabb", 3000))) {
		t.Fatal("refused")
	}
	if len(m.frames) > 10 || len(m.configs) > 10 {
		t.Errorf("%d frames and %d configs for a regular language", len(m.frames), len(m.configs))
	}

	r := NewRule("r")
	r.Define(Alternative(Literal("x"), Concat(Literal("("), r, Literal(")"))))
	s = NewMatcher(compiled(t, r), nil).Start()
	n := 0
	for s.Accept([]byte("(")) {
		n++
	}
	if n < MaxDepth-2 || n > MaxDepth {
		t.Errorf("%d brackets may be open", n)
	}
	if !s.Accept([]byte("x"+strings.Repeat(")", n))) || !s.Done() {
		t.Error("they cannot be closed")
	}
}

// Alternatives that begin alike with recursion cost no more than one of them.
func TestSharedBeginnings(t *testing.T) {
	e := NewRule("e")
	e.Define(Alternative(
		Concat(Literal("("), e, Literal("+"), e, Literal(")")),
		Concat(Literal("("), e, Literal(")!")),
		Concat(Literal("("), e, Literal(")?")),
		Literal("x")))
	m := NewMatcher(compiled(t, e), nil)
	s := m.Start()
	for range 100 {
		if !s.Accept([]byte("(")) {
			t.Fatal("refused")
		}
	}
	if n := len(s.at.threads); n > 4 {
		t.Errorf("%d threads", n)
	}
	if !s.Accept([]byte("x"+strings.Repeat(")!", 99)+"+x)")) || !s.Done() {
		t.Error("refused")
	}
}

// A grammar that can be read in too many ways ends in an error, soon.
func TestLimit(t *testing.T) {
	counted := Repeat(Alternative(Literal("a"), Literal("aa")), 0, 1<<20)
	var parts []Expr
	for i := range 60 {
		parts = append(parts, Concat(Repeat(counted, i, 1<<20), Literal(fmt.Sprint(i))))
	}
	m := NewMatcher(compiled(t, Alternative(parts...)), nil)
	s := m.Start()
	for range 1 << 20 {
		if !s.Accept([]byte("a")) {
			if !errors.Is(m.Err(), ErrLimit) {
				t.Fatal("refused without a reason")
			}
			if !s.Accept(nil) || m.Err() != nil {
				t.Error("the error stays")
			}
			return
		}
	}
	t.Error("there is no limit")
}

// What a Matcher remembers is bounded, and forgetting changes nothing.
func TestForget(t *testing.T) {
	e := Repeat(Concat(Repeat(Class(Range{'a', 'z'}), 1, 1<<20), Literal(",")), 0, Unlimited)
	m := NewMatcher(compiled(t, e), nil)
	s := m.Start()
	for i := range 1 << 18 {
		if !s.Accept([]byte("x")) {
			t.Fatalf("refused after %d", i)
		}
	}
	if m.epoch < 2 {
		t.Error("nothing was forgotten")
	}
	if m.memory > 2*maxMemory {
		t.Errorf("%d bytes remembered", m.memory)
	}
	old := s
	if !s.Accept([]byte(",ab,")) || !s.Done() || !old.Accept([]byte("y,")) || !old.Done() {
		t.Error("refused")
	}
}

func TestForced(t *testing.T) {
	e := Concat(Literal(`{"name":`), Alternative(Literal(`"ab"`), Literal(`"ac"`), Literal(`"abc"`)), Literal("}"))
	s := NewMatcher(compiled(t, e), nil).Start()
	if got := string(s.Forced()); got != `{"name":"a` {
		t.Errorf("at the beginning: %q", got)
	}
	s.Accept([]byte(`{"name":"ac`))
	if got := string(s.Forced()); got != `"}` {
		t.Errorf("at the end: %q", got)
	}
	s.Accept([]byte(`"}`))
	if got := string(s.Forced()); got != "" || !s.Done() {
		t.Errorf("after the end: %q", got)
	}
}

func TestUntil(t *testing.T) {
	const end = "\n</parameter>"
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.SampledFrom([]string{"\n", "<", "</", "</par", "ameter>", end[:5], end[:12], "é", "한", "\n\n"})).Draw(t, "pieces")
		text := strings.Join(pieces, "")
		s := NewMatcher(compiled(t, Until(end)), nil).Start()
		want := strings.Index(text+end, end)
		if !s.Accept([]byte((text + end)[:want+len(end)])) || !s.Done() {
			t.Fatalf("%q is refused", text+end)
		}
		if s.Accept([]byte("x")) {
			t.Fatalf("it goes on after the end")
		}
		for i := range len((text + end)[:want+len(end)-1]) {
			s = NewMatcher(compiled(t, Until(end)), nil).Start()
			if !s.Accept([]byte((text + end)[:i])) || s.Done() {
				t.Fatalf("%q is refused or done", (text + end)[:i])
			}
		}
	})
}
