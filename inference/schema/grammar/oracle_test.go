package grammar

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// busy are the rules that ends is in, and where they began.
var busy = map[entered]bool{}

type entered struct {
	rule *Rule
	pos  int
}

// ends is the meaning of expressions, written down as plainly as can be: the set of
// places where a text that e allows and that begins at pos in s may end.
func ends(e Expr, s string, pos int) map[int]bool {
	out := map[int]bool{}
	switch e := e.(type) {
	case literal:
		if strings.HasPrefix(s[pos:], string(e)) {
			out[pos+len(e)] = true
		}
	case class:
		if r, n := utf8.DecodeRuneInString(s[pos:]); n > 0 && (r != utf8.RuneError || n > 1) && containsRune(e, r) {
			out[pos+n] = true
		}
	case concat:
		out[pos] = true
		for _, part := range e {
			out = endsAll(part, s, out)
		}
	case alternative:
		for _, part := range e {
			for p := range ends(part, s, pos) {
				out[p] = true
			}
		}
	case repetition:
		at := map[int]bool{pos: true}
		for k := 0; (e.max == Unlimited || k <= e.max) && k <= e.min+len(s)+1; k++ {
			if k >= e.min {
				for p := range at {
					out[p] = true
				}
			}
			at = endsAll(e.of, s, at)
		}
	case graph:
		graphEnds(e, s, pos, out)
	case *Rule:
		if busy[entered{e, pos}] {
			return out // left recursion
		}
		busy[entered{e, pos}] = true
		defer delete(busy, entered{e, pos})
		return ends(e.of, s, pos)
	default:
		panic(fmt.Sprintf("%T", e))
	}
	return out
}

func endsAll(e Expr, s string, from map[int]bool) map[int]bool {
	out := map[int]bool{}
	for p := range from {
		for q := range ends(e, s, p) {
			out[q] = true
		}
	}
	return out
}

func graphEnds(g graph, s string, pos int, out map[int]bool) {
	type place struct{ state, pos int }
	seen := map[place]bool{{0, pos}: true}
	work := []place{{0, pos}}
	for len(work) > 0 {
		at := work[0]
		work = work[1:]
		if g[at.state].Final {
			out[at.pos] = true
		}
		for _, x := range g[at.state].Edges {
			for p := range ends(x.On, s, at.pos) {
				if to := (place{x.To, p}); !seen[to] {
					seen[to] = true
					work = append(work, to)
				}
			}
		}
	}
}

// allowed is the set of words of at most n letters that e allows.
func allowed(e Expr, letters []string, n int) map[string]bool {
	out := map[string]bool{}
	level := []string{""}
	for ; n >= 0; n-- {
		var next []string
		for _, w := range level {
			if ends(e, w, 0)[len(w)] {
				out[w] = true
			}
			for _, l := range letters {
				next = append(next, w+l)
			}
		}
		level = next
	}
	return out
}

// anyExpr draws an expression over the letters a, b and é.
func anyExpr(t *rapid.T, rules []*Rule, depth int) Expr {
	kinds := 8
	if depth == 0 {
		kinds = 3
	}
	part := func() Expr { return anyExpr(t, rules, depth-1) }
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0, 1:
		return Literal(rapid.SampledFrom([]string{"a", "b", "é", "ab", "aa", "", "\xc3"}).Draw(t, "literal"))
	case 2:
		return Class(rapid.SampledFrom([][]Range{{{'a', 'b'}}, {{'b', 'é'}}, {{'é', 'é'}, {'a', 'a'}}, {}}).Draw(t, "class")...)
	case 3:
		return rules[rapid.IntRange(0, len(rules)-1).Draw(t, "rule")]
	case 4, 5:
		return Concat(part(), part())
	case 6:
		return Alternative(part(), part())
	case 7:
		n := rapid.IntRange(0, 3).Draw(t, "min")
		return Repeat(part(), n, rapid.SampledFrom([]int{n, n + 1, n + 3, Unlimited}).Draw(t, "max"))
	default:
		g := make([]GraphState, rapid.IntRange(1, 3).Draw(t, "states"))
		for i := range g {
			g[i].Final = rapid.Bool().Draw(t, "final")
			for range rapid.IntRange(0, 2).Draw(t, "edges") {
				g[i].Edges = append(g[i].Edges, GraphEdge{part(), rapid.IntRange(0, len(g)-1).Draw(t, "to")})
			}
		}
		return Graph(g)
	}
}

// anyGrammar draws an expression with rules that call each other.
func anyGrammar(t *rapid.T) Expr {
	rules := make([]*Rule, rapid.IntRange(1, 3).Draw(t, "rules"))
	for i := range rules {
		rules[i] = NewRule(string(rune('r' + i)))
	}
	for _, r := range rules {
		r.Define(anyExpr(t, rules, 3))
	}
	return rules[0]
}
