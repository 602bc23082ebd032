package grammar

// Expr describes texts. It is built with the functions of this package, never
// changes afterwards (but for a Rule, once, by Define), and may be used in any
// number of other expressions.
type Expr interface {
	// compile adds the nodes of the expression to c, so that they go on at next,
	// and returns the node where they begin.
	compile(c *compiler, next int32) int32
}

// Unlimited as the maximum of Repeat means that there is none.
const Unlimited = -1

type (
	literal     string
	concat      []Expr
	alternative []Expr
	repetition  struct {
		of       Expr
		min, max int
	}
	graph []GraphState
)

// Literal is exactly this text, which may be empty. Any bytes will do.
func Literal(text string) Expr { return literal(text) }

// Concat is one of each, in this order; of none it is the empty text.
func Concat(of ...Expr) Expr { return concat(of) }

// Alternative is one of them; of none it is what no text fulfils.
func Alternative(of ...Expr) Expr { return alternative(of) }

// Optional is one or nothing.
func Optional(of Expr) Expr { return Repeat(of, 0, 1) }

// Repeat is at least min and at most max (or Unlimited) of them. The numbers cost
// nothing: repetitions are counted, not written out.
func Repeat(of Expr, min, max int) Expr { return repetition{of, min, max} }

// Rule is an expression with a name, which may refer to itself, directly or
// through others, but not before any of its text (see ErrLeftRecursion).
type Rule struct {
	name    string
	of      Expr
	defined bool
}

// NewRule makes a rule that has still to be defined. Names need not differ: they
// are for messages.
func NewRule(name string) *Rule { return &Rule{name: name} }

// Define says what the rule stands for. It is called once.
func (r *Rule) Define(of Expr) {
	if r.defined {
		panic("grammar: rule " + r.name + " is defined twice")
	}
	r.of, r.defined = of, true
}

// Name is what NewRule was given.
func (r *Rule) Name() string { return r.name }

// GraphState is a state of a Graph.
type GraphState struct {
	Edges []GraphEdge
	// Final states may be the last one.
	Final bool
}

// GraphEdge leads from its state to another one, along any text of On.
type GraphEdge struct {
	On Expr
	To int
}

// Graph is any path from the first state to a final one: the form of finite
// automata, whose loops need no rules.
func Graph(states []GraphState) Expr { return graph(states) }

// Literals is any one of the texts. Those with a common beginning share it, so
// that thousands are no burden.
func Literals(texts ...string) Expr {
	g := graph{{}}
	children := []map[byte]int{{}}
	for _, text := range texts {
		at := 0
		for i := range len(text) {
			to, ok := children[at][text[i]]
			if !ok {
				to = len(g)
				g = append(g, GraphState{})
				children = append(children, map[byte]int{})
				children[at][text[i]] = to
				g[at].Edges = append(g[at].Edges, GraphEdge{literal(text[i : i+1]), to})
			}
			at = to
		}
		g[at].Final = true
	}
	if len(texts) == 0 {
		return alternative(nil)
	}
	return g
}

// Until is any text that ends in the first occurrence of end in it, whole
// characters only.
func Until(end string) Expr {
	runes := []rune(end)
	g := make(graph, len(runes)+1)
	g[len(runes)].Final = true
	for i := range runes {
		// As in the algorithm of Knuth, Morris and Pratt: state i has seen the first
		// i characters of end, and a character leads to the longest beginning of end
		// that the text then ends in.
		var known []Range
		for _, r := range runes[:i+1] {
			if containsRune(known, r) {
				continue
			}
			known = append(known, Range{r, r})
			g[i].Edges = append(g[i].Edges, GraphEdge{Class(Range{r, r}), overlap(runes, i, r)})
		}
		g[i].Edges = append(g[i].Edges, GraphEdge{Except(known...), 0})
	}
	return g
}

// overlap is the length of the longest beginning of text that text[:n] followed by
// r ends in.
func overlap(text []rune, n int, r rune) int {
	seen := append(append([]rune{}, text[:n]...), r)
	for k := len(seen); k > 0; k-- {
		if string(seen[len(seen)-k:]) == string(text[:k]) {
			return k
		}
	}
	return 0
}
