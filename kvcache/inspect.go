package kvcache

// Inspection is what the tree knows of a prompt, in detail.
type Inspection struct {
	Match
	// Spans are the reused tokens by where they come from, in order and without gaps.
	Spans []Span
	// Past compares the prompt with what the session's sequence held last; nil where
	// there is no session, or nothing is known of it.
	Past *Past
}

// Span is tokens [From, To) in one tier.
type Span struct {
	From, To int
	Tier     Tier
}

// Past is a session's last prompt with the answer to it, beside a new prompt.
type Past struct {
	// Length in tokens; Same of them, from the start, are the new prompt's too.
	Length, Same int
	// Next are its tokens from Same on, as many as were asked for and are there.
	Next []Token
}

// Inspect says what Lookup does, and how a prompt differs from its session's last one,
// with up to next tokens of that from the first difference on. It changes nothing.
func (t *Tree) Inspect(tokens []Token, session SessionID, next int) Inspection {
	tr := t.match(tokens)
	src := t.choose(tr, len(tokens)-1, len(tokens), t.usable(), t.own(session))
	return Inspection{Match: t.describe(tokens, tr, src, session), Spans: src.spans(), Past: t.past(tokens, session, next)}
}

func (s source) spans() (all []Span) {
	add := func(from, to int, tier Tier) {
		if n := len(all); n > 0 && all[n-1].Tier == tier {
			all[n-1].To = to
		} else if from < to {
			all = append(all, Span{from, to, tier})
		}
	}
	add(0, s.shared, Hot)
	for _, p := range s.pieces {
		add(p.from, p.to, p.tier)
	}
	return all
}

func (t *Tree) past(tokens []Token, id SessionID, next int) *Past {
	s := t.sessions[id]
	if id == 0 || s == nil {
		return nil
	}
	was := s.node.path()
	p := &Past{Length: len(was), Same: common(was, tokens)}
	p.Next = was[p.Same:min(p.Same+next, len(was))]
	return p
}
