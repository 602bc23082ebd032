package llm

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"dure/inference/engine"
	"dure/inference/sched"
)

const (
	// near is how many tokens a draft model may lack and still guess: it reads them
	// with its first call.
	near = 16
	// leastCatch is the smallest piece of a text that it reads to catch up.
	leastCatch = 32
	// worthCopying is how much more of a text another sequence must hold for it to be
	// copied.
	worthCopying = 64
	// paddingMost is how much two vocabularies may differ behind what both have.
	paddingMost = 1024
)

// CheckDraft refuses a draft model that cannot guess for a model.
func CheckDraft(model, draft *engine.Model) error {
	f, d := model.Facts(), draft.Facts()
	switch {
	case d.Recurrent || d.Hybrid:
		return errors.New("the draft model keeps a state that cannot go back when a guess was wrong; take one without recurrent layers")
	case d.Encoder || !d.Decoder:
		return fmt.Errorf("the draft model (%s) does not write text", d.Architecture)
	}
	n, same := model.Vocabulary().Common(draft.Vocabulary())
	if !same {
		return fmt.Errorf("the draft model has another vocabulary: token %d is %q there and %q here; take a smaller model of the same family",
			n, draft.Vocabulary().Piece(n, true), model.Vocabulary().Piece(n, true))
	}
	if more := f.Vocabulary - d.Vocabulary; max(more, -more) > paddingMost {
		return fmt.Errorf("the draft model has another vocabulary: %d tokens there, %d here; take a smaller model of the same family", d.Vocabulary, f.Vocabulary)
	}
	return nil
}

// drafter has a draft model guess. Its sequences go with the model's own, one for
// each slot, and follow the texts only as far as guesses are wanted: what it lacks
// of a text it reads in pieces, before steps that have guesses for others or none.
type drafter struct {
	ctx   *engine.Context
	batch *engine.Batch
	held  []held
	// room is how many tokens a sequence can hold, tokens how many both vocabularies
	// have.
	room   int
	tokens engine.Token
	// each is what reading a token takes, in ns; 0 = not known.
	each float64

	reqs    []*request // of the guesses being made
	depths  []int
	made    [][]engine.Token
	lagging []*request
}

// held is what a sequence of the draft model holds.
type held struct {
	tokens []engine.Token
	// of is the request that it was last compared with: the first same tokens begin
	// its text.
	of   sched.ID
	same int
	// barred is a request whose text has tokens that the draft model does not know.
	barred sched.ID
}

// newDrafter makes the draft model's context beside the model's own; nil without a
// draft model.
func (l *LLM) newDrafter(beside *engine.Context) (*drafter, error) {
	if l.cfg.Draft == nil {
		return nil, nil
	}
	if err := CheckDraft(l.model, l.cfg.Draft); err != nil {
		return nil, err
	}
	opt := l.cfg.DraftOptions(l.cfg.Draft.Facts().TrainContext)
	ctx, err := l.cfg.Draft.NewContextBeside(beside, opt)
	if err != nil {
		return nil, fmt.Errorf("draft model: %w", err)
	}
	n, _ := l.model.Vocabulary().Common(l.cfg.Draft.Vocabulary())
	return &drafter{ctx: ctx, batch: ctx.NewBatch(), held: make([]held, opt.Sequences), room: ctx.SequenceContext(), tokens: n}, nil
}

// DraftOptions are the draft model's context: it was trained for so many tokens.
func (c Config) DraftOptions(trained int) engine.ContextOptions {
	each := c.Context
	if trained > 0 {
		each = min(each, trained)
	}
	batch := max(batchTokens, c.Sequences)
	return engine.ContextOptions{
		Cells: each * c.Sequences, Sequences: c.Sequences, Batch: batch, MicroBatch: batch, Outputs: c.Sequences,
		Threads: c.Threads, Poll: c.Poll, FlashAttention: c.FlashAttention, Unified: c.Unified,
	}
}

func (d *drafter) close() error {
	if d == nil {
		return nil
	}
	return errors.Join(d.batch.Close(), d.ctx.Close())
}

func (d *drafter) setThreads(n int) error {
	if d == nil {
		return nil
	}
	return d.ctx.SetThreads(n)
}

func (d *drafter) cpuTime() time.Duration {
	if d == nil {
		return 0
	}
	return d.ctx.CPUTime()
}

// can is how many more tokens the draft model could make of a text, up to most.
func (d *drafter) can(r *request, most int) int {
	if d == nil || d.held[r.slot].barred == r.id {
		return 0
	}
	return max(0, min(most, d.room-len(r.all)))
}

// lacks is how many tokens of a request's text the draft model has not read, the
// newest among them. What it holds beyond them is dropped.
func (d *drafter) lacks(r *request) (int, error) {
	h := &d.held[r.slot]
	most := len(r.all) - 1
	if h.of != r.id {
		if err := d.adopt(r); err != nil {
			return 0, err
		}
		h.of, h.same = r.id, 0
	}
	h.same = min(h.same, most)
	h.same += common(h.tokens[h.same:], r.all[h.same:most])
	if len(h.tokens) > h.same {
		if err := d.ctx.Remove(r.slot, h.same, engine.All); err != nil {
			return 0, err
		}
		h.tokens = h.tokens[:h.same]
	}
	return len(r.all) - h.same, nil
}

// adopt has a sequence begin as a copy of another one that holds much more of the
// request's text.
func (d *drafter) adopt(r *request) error {
	most := r.all[:len(r.all)-1]
	best, longest := r.slot, common(d.held[r.slot].tokens, most)+worthCopying
	for i := range d.held {
		if n := common(d.held[i].tokens, most); n > longest {
			best, longest = i, n
		}
	}
	if best == r.slot {
		return nil
	}
	d.held[r.slot].tokens = d.held[r.slot].tokens[:0]
	err := errors.Join(d.ctx.Remove(r.slot, engine.All, engine.All), d.ctx.Copy(best, r.slot, engine.All, engine.All))
	if err == nil {
		d.held[r.slot].tokens = append(d.held[r.slot].tokens, d.held[best].tokens...)
	}
	return err
}

// common is how many first tokens are the same.
func common(a, b []engine.Token) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// add puts a text's tokens from one place to another into the batch.
func (d *drafter) add(r *request, tokens []engine.Token, output bool) error {
	h := &d.held[r.slot]
	for i, t := range tokens {
		if err := d.batch.Add(t, len(h.tokens), r.slot, output && i == len(tokens)-1); err != nil {
			return err
		}
		h.tokens = append(h.tokens, t)
	}
	return nil
}

// read has the draft model read up to n more tokens of a text.
func (d *drafter) read(r *request, n int) error {
	h := &d.held[r.slot]
	piece := r.all[h.same : h.same+n]
	if i := slices.IndexFunc(piece, func(t engine.Token) bool { return t >= d.tokens }); i >= 0 {
		h.barred = r.id // nothing behind such a token can be guessed
		return nil
	}
	begin := time.Now()
	d.batch.Reset()
	if err := d.add(r, piece, false); err != nil {
		return err
	}
	if err := d.ctx.Decode(d.batch); err != nil {
		return err
	}
	const weight = 3 // of the past
	if took := float64(time.Since(begin)) / float64(n); d.each == 0 {
		d.each = took
	} else {
		d.each = (weight*d.each + took) / (weight + 1)
	}
	return nil
}

// forget empties all sequences.
func (d *drafter) forget() (err error) {
	for i := range d.held {
		err = errors.Join(err, d.ctx.Remove(i, engine.All, engine.All))
		d.held[i] = held{tokens: d.held[i].tokens[:0]}
	}
	return err
}

// plan begins guesses for some requests.
func (d *drafter) plan() { d.reqs, d.depths, d.lagging = d.reqs[:0], d.depths[:0], d.lagging[:0] }

// ask wants n tokens guessed of a text, or more of the text read first.
func (d *drafter) ask(r *request, n int) error {
	lacks, err := d.lacks(r)
	switch {
	case err != nil:
		return err
	case lacks > near:
		d.lagging = append(d.lagging, r)
	default:
		d.reqs, d.depths = append(d.reqs, r), append(d.depths, n)
	}
	return nil
}

// catchUp reads on in the text of which least is lacking, for about as long as may
// be taken, in ns.
func (d *drafter) catchUp(may float64) error {
	lacks := func(r *request) int { return len(r.all) - d.held[r.slot].same }
	r := slices.MinFunc(d.lagging, func(a, b *request) int { return lacks(a) - lacks(b) })
	n := leastCatch
	if d.each > 0 {
		n = max(n, int(min(may/d.each, batchTokens)))
	}
	return d.read(r, min(n, lacks(r)-1))
}

// make guesses what was asked for, all texts a token further with each call. took
// is told of each.
func (d *drafter) make(ends func(engine.Token) bool, took func(texts int, d time.Duration)) error {
	for len(d.made) < len(d.reqs) {
		d.made = append(d.made, nil)
	}
	for i := range d.reqs {
		d.made[i] = d.made[i][:0]
	}
	for depth := 0; ; depth++ {
		begin := time.Now()
		rows, err := d.step(depth)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			logits, err := d.ctx.Logits(row.at)
			if err != nil {
				return err
			}
			t := likeliest(logits[:d.tokens])
			d.made[row.of] = append(d.made[row.of], t)
			if ends(t) {
				d.depths[row.of] = 0
			}
		}
		took(len(rows), time.Since(begin))
	}
}

// draftRow is where in the batch the logits for one of the texts are.
type draftRow struct{ of, at int }

// step computes the next row of each text that wants one more token.
func (d *drafter) step(depth int) (rows []draftRow, err error) {
	d.batch.Reset()
	for i, r := range d.reqs {
		if d.depths[i] <= depth {
			continue
		}
		next := d.made[i][max(0, depth-1):]
		if depth == 0 {
			next = r.all[d.held[r.slot].same:]
		}
		if slices.ContainsFunc(next, func(t engine.Token) bool { return t >= d.tokens }) {
			d.held[r.slot].barred = r.id
			d.depths[i] = 0
			continue
		}
		if d.batch.Len()+len(next) > d.ctx.Options().Batch {
			d.depths[i] = 0 // crowded: without
			continue
		}
		if err := d.add(r, next, true); err != nil {
			return nil, err
		}
		if depth == 0 {
			d.held[r.slot].same = len(r.all)
		}
		rows = append(rows, draftRow{i, d.batch.Len() - 1})
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return rows, d.ctx.Decode(d.batch)
}

func likeliest(logits []float32) engine.Token {
	best := 0
	for i, v := range logits {
		if v > logits[best] {
			best = i
		}
	}
	return engine.Token(best)
}

// draft has the draft model make the guesses that are to be checked of it.
func (o *owner) draft(rows []sched.Row, depths []int) {
	d := o.drafter
	if d == nil {
		return
	}
	if err := o.askDraft(rows, depths); err != nil {
		o.undraft(err)
		return
	}
	if len(d.reqs) == 0 && len(d.lagging) == 0 {
		return
	}
	p, length := &o.guesser.policy, o.meanLength(rows)
	took, err := o.engage(false, func() error {
		if len(d.lagging) > 0 { // the others stand still as long as a step takes them
			if err := d.catchUp(p.Plain(len(rows), length)); err != nil {
				return err
			}
		}
		return d.make(o.l.vocabulary.IsEOG, func(texts int, took time.Duration) { p.Made(texts, length, int64(took)) })
	})
	o.l.stats.decoded(took)
	if err != nil {
		o.undraft(err)
		return
	}
	for i, r := range d.reqs {
		r.stream.Made(d.made[i])
	}
}

// askDraft asks for what was chosen of the draft model's offers.
func (o *owner) askDraft(rows []sched.Row, depths []int) error {
	o.drafter.plan()
	for i, row := range rows {
		if depths[i] > 0 && len(o.guesser.offers[i].Tokens) == 0 {
			if err := o.drafter.ask(o.alive[row.ID], depths[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// undraft begins anew where the draft model's cells are full, and does without it
// after any other failure.
func (o *owner) undraft(err error) {
	if full := errors.Is(err, engine.ErrPoolFull); full {
		err = o.drafter.forget()
		if err == nil {
			return
		}
	}
	o.l.log.Error("the draft model failed, answers come without it", "error", err)
	if err := o.drafter.close(); err != nil {
		o.l.log.Error("free the draft model's context", "error", err)
	}
	o.drafter = nil
}
