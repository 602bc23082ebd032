package llm

import (
	"errors"
	"fmt"

	"dure/inference/engine"
	"dure/inference/sched"
	"dure/inference/spec"
)

// Speculation says whose guesses of coming tokens are checked in steps that have
// room for them. Answers are the model's own in any case.
type Speculation string

const (
	// SpeculationOff makes none; so does the empty string.
	SpeculationOff Speculation = "off"
	// SpeculationNgram guesses what followed in the text before, where that pays.
	SpeculationNgram Speculation = "ngram"
	// SpeculationMTP has the model's own layers for further tokens guess, where that
	// pays.
	SpeculationMTP Speculation = "mtp"
	// SpeculationAuto is ngram for models that can take it, off for others; the model's
	// own layers guess too, where Config.MTP says so.
	SpeculationAuto Speculation = "auto"
)

const (
	// shelfBytes hold what the agents of a team wrote, for guesses about what others
	// of it write.
	shelfBytes = 16 << 20
	// guessBytes bound the logits of a step with guesses. mostRows is where the
	// engine's attention on CPUs takes the path of large batches; leastRows are few
	// enough for any vocabulary.
	guessBytes          = 32 << 20
	leastRows, mostRows = 8, wideChunk
)

// MostGuesses is the most that one sequence can have checked in a step.
const MostGuesses = mostRows - 1

// GuessRows is how many rows with logits a step should have, for guesses to be of
// use, with a vocabulary of so many tokens.
func GuessRows(vocabulary int) int {
	return max(leastRows, min(guessBytes/(4*max(vocabulary, 1)), mostRows))
}

// speculate settles what guesses there are: cfg.Speculation is then off, ngram or mtp.
func (c *Config) speculate(f engine.Facts) (note string, err error) {
	if err := c.checkMTP(f); err != nil {
		return "", err
	}
	recurrent := f.Recurrent || f.Hybrid
	stuck := recurrent && c.Rollback == 0 || f.SlidingWin > 0 && c.ShortWindow
	switch c.Speculation {
	case "", SpeculationOff:
		c.Speculation = SpeculationOff
	case SpeculationAuto:
		if c.Speculation = SpeculationNgram; stuck {
			c.Speculation = SpeculationOff
			note = "no speculative decoding: this model's sequences cannot go back when a guess was wrong"
		}
	case SpeculationNgram, SpeculationMTP:
		if stuck {
			return "", fmt.Errorf("speculative decoding needs %s", goBack)
		}
	default:
		return "", fmt.Errorf("speculation %q is not known, must be auto, ngram, mtp or off", c.Speculation)
	}
	if c.Draft != nil && stuck {
		return "", fmt.Errorf("a draft model needs %s", goBack)
	}
	guesses := c.Speculation == SpeculationNgram || c.Draft != nil || c.MTP > 0
	if !guesses || !recurrent {
		c.Rollback = 0
	}
	switch {
	case !guesses || c.Outputs > 0:
	case recurrent:
		c.Outputs = c.Sequences * (1 + c.Rollback)
	default:
		c.Outputs = GuessRows(f.Vocabulary)
	}
	return note, nil
}

// checkMTP refuses to have layers guess that are not there, and has guesses of those
// that are taken back.
func (c *Config) checkMTP(f engine.Facts) error {
	switch {
	case c.MTP < 0 || c.MTP > MostGuesses:
		return fmt.Errorf("MTP depth %d, must be 0 to %d", c.MTP, MostGuesses)
	case c.MTP == 0 && c.Speculation == SpeculationMTP:
		return errors.New("speculation mtp, but no tokens to guess are given (MTP)")
	case c.MTP == 0:
		return nil
	case c.Draft != nil:
		return errors.New("a draft model and the model's own layers for further tokens both guess; leave out one of them")
	}
	c.Rollback = max(c.Rollback, c.MTP)
	return f.CheckMTP()
}

const goBack = "a model whose sequences can go back when a guess was wrong; this one keeps a state that cannot: leave it off, or reserve memory for older states (--rollback)"

// guesser is what the owner knows of guesses; nil where none are made.
type guesser struct {
	policy spec.Policy
	rates  spec.Rates
	shelf  *spec.Shelf
	offers []spec.Offer
	taken  [][]engine.Token
}

func newGuesser(c Config) *guesser {
	if c.Speculation != SpeculationNgram && c.Draft == nil && c.MTP == 0 {
		return nil
	}
	rows := max(c.Outputs, c.Sequences)
	return &guesser{policy: spec.Policy{Limits: spec.Limits{Rows: rows, Guesses: rows - 1, Depth: c.GuessDepth}}, shelf: spec.NewShelf(shelfBytes)}
}

// enter begins to follow a request's text.
func (g *guesser) enter(r *request) {
	if g != nil {
		r.stream = spec.NewStream(r.index, &g.rates, g.shelf)
	}
}

// leave keeps what a request wrote for others.
func (g *guesser) leave(r *request) {
	if g != nil && r.generated() > 0 {
		g.shelf.Put(r.stream.Index())
	}
}

// guess returns for each row the tokens to be checked behind it.
func (o *owner) guess(rows []sched.Row, reading bool) [][]engine.Token {
	g := o.guesser
	if g == nil {
		return nil
	}
	g.offers, g.taken = g.offers[:0], g.taken[:0]
	for _, row := range rows {
		r := o.alive[row.ID]
		// All that may be drawn, less the one that is drawn in any case; and no more
		// than there are cells for.
		most := min(g.policy.Limits.Guesses, o.unsaid(r)-1, r.promised-len(r.all))
		if n := o.l.cfg.Rollback; n > 0 {
			most = min(most, n)
		}
		offer := r.stream.Guess(most)
		g.offers = append(g.offers, offer.Better(r.stream.Draft(o.makes(r, most))))
	}
	depths := g.policy.Choose(spec.Step{Context: o.meanLength(rows), Offers: g.offers, Reading: reading})
	if o.heads != nil {
		o.foresee(rows, depths)
	} else {
		o.draft(rows, depths)
	}
	for i, row := range rows {
		g.taken = append(g.taken, o.alive[row.ID].stream.Take(depths[i]))
	}
	return g.taken
}

// makes is how many tokens of a text a draft model, or the model's own layers, could
// guess, up to most.
func (o *owner) makes(r *request, most int) int {
	if o.heads != nil {
		return o.heads.can(r, min(most, o.l.cfg.MTP))
	}
	return o.drafter.can(r, most)
}

// meanLength of the sequences of some rows, in tokens.
func (o *owner) meanLength(rows []sched.Row) (sum int) {
	for _, row := range rows {
		sum += o.alive[row.ID].read
	}
	return sum / len(rows)
}

// check draws tokens from a request's rows, the first of which is at: one, and one
// more for each guess that was right. What the engine has computed from wrong ones
// is taken back before anything else sees the sequence.
func (o *owner) check(r *request, at int, guess []engine.Token) {
	var end *item
	begin := r.read + 1
	accepted := spec.Verify(guess, func(i int) (engine.Token, bool) {
		var next engine.Token
		next, end = o.draw(r, at+i, begin+i)
		return next, end == nil
	})
	o.followAnswer(r, at, 1+accepted)
	o.extend(r, 1+accepted)
	o.l.stats.checked(len(guess), accepted)
	if len(guess) > 0 {
		r.stream.Checked(len(guess), accepted)
		o.sched.Emitted(r.id, accepted)
	}
	if accepted < len(guess) {
		if err := o.ctx.Remove(r.slot, r.read, engine.All); err != nil {
			o.lose(r, fmt.Errorf("take back a guess: %w", err))
			return
		}
	}
	if end != nil {
		o.finish(r, *end)
	}
}
