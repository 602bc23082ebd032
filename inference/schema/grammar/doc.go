// Package grammar says which tokens may come next in a text that has to have a given
// form: byte-level grammars, followed as the text grows.
//
// It owns expressions and their compilation, the automaton that follows them, the
// tree of a model's vocabulary, and the masks over it. It reads llama.cpp's GBNF too.
// It does not own what a form means (package schema makes grammars of JSON Schemas),
// how tokens are drawn, or when a grammar begins and ends in an answer.
//
// # Parts
//
// An [Expr] is built from Literal, Class, Concat, Alternative, Repeat, Graph and Rules,
// which may be recursive. [Compile] makes a [Grammar] of it: immutable, shared by all
// requests. A [Vocabulary] is made once per model. A [Matcher] follows texts through
// one grammar over one vocabulary, and keeps what it found out for all of them; a
// [State] is a place in one text, two words large, copied freely.
//
//	g, err := grammar.Compile(grammar.Concat(grammar.Literal("<a>"), grammar.Until("</a>")))
//	m := grammar.NewMatcher(g, vocabulary) // kept, for all requests with this grammar
//
//	s := m.Start()
//	token := draw()
//	for !s.Allows(token) { // quick: draw, look, and on refusal draw among the others
//		mask, err := s.Mask()
//		token = drawAmong(mask)
//	}
//	s.AcceptToken(token)
//	if s.Ended() { ... }
//
// # How it works
//
// A grammar is a recursive transition network. After a text, the Matcher knows all
// threads through it: a node, and a frame that says where its rule was called from.
// Calls of one rule at one place share a frame, with several ways back, so that
// alternatives that begin alike cost no more than one of them; recursion at the end of
// a rule takes no frame. Sets of threads and frames are interned: the states of a
// deterministic automaton, made as they are needed. Most bytes of most texts are one
// look-up.
//
// A mask is one walk over the tree of the vocabulary, in which what is below a refused
// byte is left out, and what is below a node that surely stays where it is (most of a
// string) is taken at once. Masks are remembered by state; counts that no token can
// bring to their bounds are the same state for them.
//
// # Invariants
//
//   - Whatever was accepted can be completed: no text leads to a place where nothing
//     may follow and the text may not end, as long as the vocabulary has all bytes.
//   - Mask, Allows and Accept agree. Tokens that end the text are allowed where it may
//     end and nowhere else, control tokens and empty ones never.
//   - Nesting, threads, work for one call and memory are bounded, whatever the grammar.
//     What goes beyond is [ErrLimit], from Mask or from Matcher.Err.
//   - A grammar that begins with itself, or that no text fulfils, does not compile.
//
// Everything is pure: no goroutine, clock or I/O. A Matcher and its States belong to
// one goroutine at a time. Package llm is the user; anything of inference may be.
package grammar
