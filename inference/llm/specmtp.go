package llm

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"dure/inference/engine"
	"dure/inference/sched"
)

// lagMost is how many tokens of an answer the layers for further tokens let pile up
// before they read them: where nothing is guessed, many at once cost little more
// than one.
const lagMost = 32

// heads have the model's own layers for further tokens guess. Their sequences go with
// the model's, one for each slot. They read prompts as the model does, and what it
// drew when the next guess is wanted.
type heads struct {
	ctx    *engine.MTPContext
	batch  *engine.MTPBatch
	trails []trail
	room   int // tokens of a sequence

	reqs    []*request // of the guesses being made
	depths  []int
	made    [][]engine.Token
	lagging []*request
}

// newHeads makes the context of the layers for further tokens beside the model's; nil
// where they do not guess.
func (l *LLM) newHeads(beside *engine.Context) (*heads, error) {
	if l.cfg.MTP == 0 {
		return nil, nil
	}
	opt := l.cfg.MTPOptions()
	ctx, err := l.model.NewMTPContext(beside, opt)
	if err != nil {
		return nil, err
	}
	h := &heads{ctx: ctx, batch: ctx.NewBatch(), trails: make([]trail, opt.Sequences), room: ctx.SequenceContext()}
	for i := range h.trails {
		h.trails[i].width = ctx.Width()
	}
	return h, nil
}

// MTPOptions are the context of the layers for further tokens.
func (c Config) MTPOptions() engine.ContextOptions {
	opt := c.contextOptions()
	opt.Outputs, opt.Rollback = opt.Sequences, 0
	return opt
}

func (h *heads) close() error {
	if h == nil {
		return nil
	}
	return errors.Join(h.batch.Close(), h.ctx.Close())
}

func (h *heads) setThreads(n int) error {
	if h == nil {
		return nil
	}
	return h.ctx.SetThreads(n)
}

func (h *heads) cpuTime() time.Duration {
	if h == nil {
		return 0
	}
	return h.ctx.CPUTime()
}

// can is how many tokens they could guess of a text, up to most.
func (h *heads) can(r *request, most int) int {
	if h == nil {
		return 0
	}
	if t := &h.trails[r.slot]; t.lease != r.lease || len(t.text) != r.read || t.behind() != r.read {
		return 0 // nothing is known of where the text stands
	}
	return max(0, min(most, h.room-len(r.all)))
}

// follow keeps the rows of what the model just computed: n tokens of a request from
// where it was read, the first of them in row at of the batch.
func (h *heads) follow(main *engine.Context, r *request, at, n int) error {
	t := &h.trails[r.slot]
	if t.lease != r.lease || len(t.text) != r.read {
		if err := h.enter(r); err != nil {
			return err
		}
	}
	t.keep(r.read, r.all[r.read:r.read+n])
	for i := range n {
		row, err := main.Hidden(at + i)
		if err != nil {
			return err
		}
		t.rows = append(t.rows, row...)
	}
	return nil
}

// enter has a sequence go over to a request's text, as a copy of another one where that
// holds much more of it.
func (h *heads) enter(r *request) error {
	text, t := r.all[:r.read], &h.trails[r.slot]
	best, longest := r.slot, min(t.end, common(t.text, text))+worthCopying
	for i := range h.trails {
		if o := &h.trails[i]; min(o.end, common(o.text, text)) > longest {
			best, longest = i, min(o.end, common(o.text, text))
		}
	}
	if best != r.slot {
		from := &h.trails[best]
		t.forget()
		if err := errors.Join(h.ctx.Remove(r.slot, engine.All, engine.All), h.ctx.Copy(best, r.slot, engine.All, engine.All)); err != nil {
			return err
		}
		t.text, t.end, t.top = append(t.text, from.text[:from.end]...), from.end, from.top
	}
	t.enter(r.lease, text)
	return h.trim(r.slot)
}

// trim removes the cells of guesses.
func (h *heads) trim(slot int) error {
	t := &h.trails[slot]
	if t.top <= t.end {
		return nil
	}
	t.top = t.end
	return h.ctx.Remove(slot, t.end, engine.All)
}

// forget empties all sequences.
func (h *heads) forget() (err error) {
	for i := range h.trails {
		err = errors.Join(err, h.ctx.Remove(i, engine.All, engine.All))
		h.trails[i].forget()
	}
	return err
}

// add puts what is due of a text into the batch, as far as it goes, and reports
// whether that is all.
func (h *heads) add(r *request) (all bool, err error) {
	if err := h.trim(r.slot); err != nil {
		return false, err
	}
	t := &h.trails[r.slot]
	place := t.from()
	for ; place < len(t.text) && h.batch.Len() < h.ctx.Options().Batch; place++ {
		if err := h.batch.Add(t.text[place], t.row(place-1), place, r.slot, false); err != nil {
			return false, err
		}
	}
	t.read(place)
	return place == len(t.text), nil
}

// catchUp reads what is due of some texts.
func (h *heads) catchUp(reqs []*request) error {
	h.batch.Reset()
	for _, r := range reqs {
		for h.trails[r.slot].due() > 0 {
			all, err := h.add(r)
			if err != nil {
				return err
			}
			if all {
				continue
			}
			if err := h.ctx.Decode(h.batch); err != nil {
				return err
			}
			h.batch.Reset()
		}
	}
	if h.batch.Len() == 0 {
		return nil
	}
	return h.ctx.Decode(h.batch)
}

// ask wants n tokens guessed of a text.
func (h *heads) ask(r *request, n int) {
	h.reqs, h.depths = append(h.reqs, r), append(h.depths, n)
}

// make guesses what was asked for, all texts a token further with each call. took is
// told of each.
func (h *heads) make(ends func(engine.Token) bool, took func(texts int, d time.Duration)) error {
	for len(h.made) < len(h.reqs) {
		h.made = append(h.made, nil)
	}
	for i := range h.reqs {
		h.made[i] = h.made[i][:0]
	}
	begin := time.Now()
	if h.apart() {
		if err := h.catchUp(h.reqs); err != nil {
			return err
		}
	}
	rows, err := h.first()
	for err == nil && len(rows) > 0 {
		if err = h.ctx.Decode(h.batch); err != nil {
			break
		}
		var next []draftRow
		if next, err = h.further(rows, ends); err != nil {
			break
		}
		took(len(rows), time.Since(begin))
		rows, begin = next, time.Now()
	}
	return err
}

// apart says that what is due must be read by a call of its own: where sequences have
// cells of their own, the engine computes each number of rows apart, and each time for
// all of the vocabulary.
func (h *heads) apart() bool {
	all, same := 0, true
	for _, r := range h.reqs {
		due := h.trails[r.slot].due()
		all += due + 1
		same = same && due == h.trails[h.reqs[0].slot].due()
	}
	return all > h.ctx.Options().Batch || !same && !h.ctx.Options().Unified
}

// first puts what is due and the newest token of each text into the batch.
func (h *heads) first() (rows []draftRow, err error) {
	h.batch.Reset()
	for i, r := range h.reqs {
		if _, err := h.add(r); err != nil {
			return nil, err
		}
		t := &h.trails[r.slot]
		place := len(t.text)
		if err := h.batch.Add(r.all[place], t.row(place-1), place, r.slot, true); err != nil {
			return nil, err
		}
		t.top = place + 1
		rows = append(rows, draftRow{i, h.batch.Len() - 1})
	}
	return rows, nil
}

// further takes the guesses of a call and puts those that more is wanted behind into
// the batch.
func (h *heads) further(rows []draftRow, ends func(engine.Token) bool) (next []draftRow, err error) {
	h.batch.Reset()
	for _, row := range rows {
		logits, err := h.ctx.Logits(row.at)
		if err != nil {
			return nil, err
		}
		r, t := h.reqs[row.of], likeliest(logits)
		h.made[row.of] = append(h.made[row.of], t)
		n := len(h.made[row.of])
		if n >= h.depths[row.of] || ends(t) {
			continue
		}
		hidden, err := h.ctx.Hidden(row.at)
		if err != nil {
			return nil, err
		}
		place := len(h.trails[r.slot].text) + n
		if err := h.batch.Add(t, hidden, place, r.slot, true); err != nil {
			return nil, err
		}
		h.trails[r.slot].top = place + 1
		next = append(next, draftRow{row.of, h.batch.Len() - 1})
	}
	return next, nil
}

// followPrompt has the layers for further tokens read what the model just read of a
// prompt, and returns how long that took.
func (o *owner) followPrompt(r *request, n int) (took time.Duration) {
	h := o.heads
	if h == nil {
		return 0
	}
	took, err := o.engage(true, func() error {
		if err := h.follow(o.ctx, r, 0, n); err != nil {
			return err
		}
		return h.catchUp([]*request{r})
	})
	if err != nil {
		o.behead(err)
	}
	return took
}

// followAnswer keeps the rows of what the model just computed of an answer: n tokens,
// the first of them in row at of the batch.
func (o *owner) followAnswer(r *request, at, n int) {
	if o.heads == nil {
		return
	}
	if err := o.heads.follow(o.ctx, r, at, n); err != nil {
		o.behead(err)
	}
}

// foresee has them make the guesses that are to be checked of theirs.
func (o *owner) foresee(rows []sched.Row, depths []int) {
	h := o.heads
	h.reqs, h.depths, h.lagging = h.reqs[:0], h.depths[:0], h.lagging[:0]
	for i, row := range rows {
		r := o.alive[row.ID]
		switch t := &h.trails[r.slot]; {
		case depths[i] > 0 && len(o.guesser.offers[i].Tokens) == 0:
			h.ask(r, depths[i])
		case t.lease == r.lease && t.due() >= lagMost:
			h.lagging = append(h.lagging, r)
		}
	}
	if len(h.reqs) == 0 && len(h.lagging) == 0 {
		return
	}
	length := o.meanLength(rows)
	took, err := o.engage(false, func() error {
		if err := h.catchUp(h.lagging); err != nil {
			return err
		}
		return h.make(o.l.vocabulary.IsEOG, func(texts int, took time.Duration) { o.guesser.policy.Made(texts, length, int64(took)) })
	})
	o.l.stats.decoded(took)
	if err != nil {
		o.behead(err)
		return
	}
	for i, r := range h.reqs {
		r.stream.Made(h.made[i])
	}
}

// behead begins anew where the cells are full, and does without these guesses after any
// other failure.
func (o *owner) behead(err error) {
	if errors.Is(err, engine.ErrPoolFull) {
		if err = o.heads.forget(); err == nil {
			return
		}
	}
	o.l.log.Error("the layers for further tokens failed, answers come without their guesses", "error", err)
	if err := o.heads.close(); err != nil {
		o.l.log.Error("free their context", "error", err)
	}
	o.heads = nil
}

// memoryOfHeads is what the engine holds for the layers for further tokens beside
// their weights.
func (o *owner) memoryOfHeads() ([]Memory, error) {
	if o.heads == nil {
		return nil, nil
	}
	b, err := o.heads.ctx.Breakdown()
	if err != nil {
		return nil, fmt.Errorf("layers for further tokens: %w", err)
	}
	var all []Memory
	for _, x := range b.Buffers {
		if x.Cache+x.Compute > 0 {
			all = append(all, Memory{Buffer: x.Name, Device: x.Device, Part: PartMTP, Cache: x.Cache, Compute: x.Compute})
		}
	}
	return slices.Clip(all), nil
}
