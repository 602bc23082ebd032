package llm

import (
	"context"
	"slices"
	"strings"

	"dure/inference"
	"dure/inference/engine"
	"dure/inference/schema/grammar"
)

// guide says which tokens may follow in an answer that must have a form: its text
// behind the thinking, its calls of tools, and the end of thinking that has used up
// its budget. It implements sample.Constraint. Behind begin it is the owner's.
type guide struct {
	l        *LLM
	matchers *matchers
	phase    guidePhase

	// Thinking is begun by the token open, which may be the answer's first, and ends
	// with a mark. Of budget tokens (0: any number), thought went by; then closing is
	// what must be drawn, of which forced is left.
	open            engine.Token // -1 where the model does not begin to think by itself
	end             finder
	thought, budget int
	closing, forced []engine.Token

	// form is what the answer must be; nil for anything. callForm is what follows the
	// mark that begins a call; nil for anything.
	form, callForm *grammar.Grammar
	call           finder
	held           bool // at says what may follow
	at             grammar.State
	mask           []uint64
}

type guidePhase uint8

const (
	guideFirst  guidePhase = iota // nothing was drawn yet
	guideThinks                   // the model thinks
	guideSays                     // the answer itself
	guideCalls                    // a call that began by itself is written
)

// newGuide returns nil where nothing is to be held to.
func (l *LLM) newGuide(ctx context.Context, req *inference.Request, p plan, thinking bool) (*guide, error) {
	f := l.speech.family
	g := &guide{l: l, open: -1, budget: p.budget, end: finder{mark: f.Think.Close}}
	var err error
	if g.form, g.callForm, err = l.forms(req); err != nil {
		return nil, err
	}
	if g.callForm != nil {
		g.call.mark = callMark(f)
	}
	thinks := req.Prompt == nil && f.Think.Close != "" && !p.close
	if thinking {
		g.phase = guideThinks
	} else if thinks {
		g.open = l.speech.open
	}
	if thinks && g.budget > 0 {
		if g.closing, err = l.tokenize(ctx, f.Close(), false, true); err != nil {
			return nil, err
		}
	}
	if g.form == nil && g.callForm == nil && len(g.closing) == 0 {
		return nil, nil
	}
	if g.form != nil || g.callForm != nil {
		l.formVocabulary() // here, where it keeps nobody waiting
	}
	return g, nil
}

// begin is called by the owner before the first token is drawn.
func (g *guide) begin(m *matchers) {
	if g.matchers = m; g.form != nil || g.callForm != nil {
		m.vocabulary = g.l.formVocabulary()
	}
	if g.phase == guideFirst && g.form != nil {
		g.hold(g.form)
	}
}

// hold constrains what follows to a form.
func (g *guide) hold(form *grammar.Grammar) { g.at, g.held = g.matchers.of(form).Start(), true }

// Free implements sample.Constraint.
func (g *guide) Free() bool { return len(g.forced) == 0 && !g.held }

// mayThink reports whether the next token may begin thinking.
func (g *guide) mayThink() bool { return g.phase == guideFirst && g.open >= 0 }

// Allows implements sample.Constraint.
func (g *guide) Allows(t engine.Token) bool {
	if len(g.forced) > 0 {
		return t == g.forced[0]
	}
	return g.at.Allows(t) || g.mayThink() && t == g.open
}

// Allowed implements sample.Constraint.
func (g *guide) Allowed() []uint64 {
	if len(g.forced) > 0 {
		return g.only(nil, g.forced[0])
	}
	mask, err := g.at.Mask()
	if err != nil { // nothing is allowed then, and the request fails
		g.l.log.Error("form of an answer", "error", err)
		return nil
	}
	if g.mayThink() {
		return g.only(mask.Words(), g.open)
	}
	return mask.Words()
}

// only is a set of tokens and one more.
func (g *guide) only(set []uint64, t engine.Token) []uint64 {
	if g.mask == nil {
		g.mask = make([]uint64, (g.l.vocabulary.Size()+63)/64)
	}
	clear(g.mask)
	copy(g.mask, set)
	g.mask[t/64] |= 1 << (t % 64)
	return g.mask
}

// Accept implements sample.Constraint.
func (g *guide) Accept(t engine.Token) {
	if len(g.forced) > 0 {
		g.forced = g.forced[1:]
	}
	switch {
	case g.mayThink() && t == g.open:
		g.phase, g.held = guideThinks, false
	case g.phase == guideThinks:
		g.think(g.l.piece(t))
	default:
		g.say(t)
	}
}

// think counts a token of thinking, and notices its end.
func (g *guide) think(piece string) {
	g.thought++
	rest, ended := g.end.push(piece)
	switch {
	case ended:
		g.phase = guideSays
		if g.form != nil {
			g.hold(g.form)
			g.at.Accept([]byte(strings.TrimLeft(rest, " \n"))) // what it begins with in the same token
		}
	case g.budget > 0 && g.thought >= g.budget && len(g.forced) == 0:
		g.forced = g.closing
	}
}

// say follows a token of the answer itself.
func (g *guide) say(t engine.Token) {
	if g.phase == guideFirst {
		g.phase = guideSays
	}
	if g.held {
		g.at.AcceptToken(t)
		if g.phase == guideCalls && g.at.Done() {
			g.phase, g.held = guideSays, false
		}
		return
	}
	if g.callForm == nil {
		return
	}
	if rest, began := g.call.push(g.l.piece(t)); began {
		g.phase = guideCalls
		g.hold(g.callForm)
		if !g.at.Accept([]byte(rest)) { // the token goes on in a way that the form does not
			g.phase, g.held = guideSays, false
		}
	}
}

// finder looks for a mark in text that comes in pieces. It forgets what was found.
type finder struct {
	mark string
	tail string // the end of the text, shorter than the mark
}

// push reports whether the mark came to its end, and what follows it in the piece.
func (f *finder) push(piece string) (rest string, found bool) {
	text := f.tail + piece
	if f.mark != "" {
		if _, rest, found = strings.Cut(text, f.mark); found {
			f.tail = ""
			return rest, true
		}
	}
	f.tail = text[max(0, len(text)-max(0, len(f.mark)-1)):]
	return "", false
}

// matchers are the owner's, one for each form that is in use: what one request's
// answer made of a form is there for the next.
type matchers struct {
	vocabulary *grammar.Vocabulary
	all        []*formMatcher // the one used last in front
}

type formMatcher struct {
	form    *grammar.Grammar
	matcher *grammar.Matcher
}

// maxMatchers is how many forms are remembered.
const maxMatchers = 32

func (m *matchers) of(form *grammar.Grammar) *grammar.Matcher {
	i := slices.IndexFunc(m.all, func(x *formMatcher) bool { return x.form == form })
	var found *formMatcher
	if i >= 0 {
		found = m.all[i]
		m.all = slices.Delete(m.all, i, i+1)
	} else {
		found = &formMatcher{form, grammar.NewMatcher(form, m.vocabulary)}
	}
	m.all = slices.Insert(m.all, 0, found)
	m.all = m.all[:min(len(m.all), maxMatchers)]
	return found.matcher
}
