// Package pattern reads the regular expressions of JSON Schema's keyword pattern and
// turns them into automata, with which questions about sets of texts have answers.
//
// It owns the syntax (that of ECMA-262, as far as a finite automaton can express it),
// and the algebra of the automata: intersection, complement, emptiness, lengths. It
// does not own what JSON makes of a text (package schema writes the escapes), and
// matches no texts for anyone but to answer a schema's questions.
//
// # What is understood
//
// Characters, classes, \d \w \s and their opposites, \p{..} with general categories,
// scripts and the properties of Go's package unicode, groups of any kind, alternatives,
// repetitions (lazy ones too: they match the same), ^ and $ anywhere, lookaheads
// anywhere. Refused by name: references to groups, lookbehinds, \b, flags.
//
// A pattern matches somewhere in a text unless ^ and $ say otherwise. Programs differ
// in what is white space and what ends a line; of such characters, Parse takes what
// surely matches, so that every text of the set matches in all of them.
//
// # Invariants
//
// Every function is pure. No pattern takes more than [MaxStates] states and about a
// second. From each state of an Automaton, a text of its set can be completed.
//
// Package schema is the user.
package pattern

// Parse returns the set of texts in which the pattern matches, wherever: those that
// every program finds a match in. Errors are *SyntaxError or ErrTooLarge.
func Parse(pattern string) (*Automaton, error) { return parseAs(pattern, false) }

// ParseWide returns the set of texts in which any program finds a match: its
// complement are those that surely match nowhere.
func ParseWide(pattern string) (*Automaton, error) { return parseAs(pattern, true) }

func parseAs(pattern string, wide bool) (*Automaton, error) {
	e, err := parse(pattern)
	if err != nil {
		return nil, err
	}
	return build(e, true, wide)
}
