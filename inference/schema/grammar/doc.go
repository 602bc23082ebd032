// Package grammar follows texts through grammars over bytes, and says which tokens of
// a vocabulary may come next.
//
// It owns expressions ([Expr]: literals, classes, repetition, rules), llama.cpp's
// notation of them ([ParseGBNF]), their compiled form ([Grammar]), the automaton that a
// [Matcher] makes of one as it is needed, and the sets of tokens that a [State] allows
// ([Mask]). It does not own what a schema means, when an answer is held to a grammar,
// or how a token is drawn.
//
// Invariants: a State allows a token if and only if the grammar has a text that begins
// with what was accepted and the token's bytes; a mask is exactly the tokens that are
// allowed; a token that ends the text is allowed only where a text may end. Ways to read
// a text are bounded in number and depth: beyond that a text is refused (ErrLimit),
// never followed half. A Grammar and a Vocabulary are immutable and shared; a Matcher,
// with all its States, belongs to one goroutine at a time.
//
//	e, err := grammar.ParseGBNF(`root ::= "yes" | "no"`)
//	g, err := grammar.Compile(e)
//	s := grammar.NewMatcher(g, vocabulary).Start()
//	if s.Allows(token) {
//		s.AcceptToken(token)
//	}
//
// The package is pure: no goroutine, file, network or clock. Package schema builds
// expressions, package llm follows them.
package grammar
