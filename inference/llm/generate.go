package llm

import (
	"context"
	"iter"
	"slices"
	"time"

	"dure/inference"
	"dure/inference/chat"
	"dure/inference/chat/answer"
	"dure/inference/sample"
	"dure/inference/sched"
	"dure/inference/spec"
)

var errStopped = inference.Errorf(inference.CodeShuttingDown, "the model is being unloaded")

// Generate implements inference.Model.
func (l *LLM) Generate(ctx context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		var a *reply
		err := l.quietRefusal(req.Caller.Priority)
		if err == nil {
			a, err = l.prepare(ctx, req)
		}
		if err == nil {
			err = l.submit(ctx, a.r)
		}
		if err != nil {
			yield(inference.Event{}, err)
			return
		}
		a.yield = yield
		if !a.run(ctx) {
			l.cancel(a.r, a.stopped != "")
		}
	}
}

// prepare renders, tokenises and checks a request, and makes what reads its answer.
func (l *LLM) prepare(ctx context.Context, asked *inference.Request) (*reply, error) {
	req, warnings := l.normalised(asked)
	warnings = slices.Concat(l.cfg.Warnings, warnings)
	sampler, err := sample.New(l.suppress(req.Params), l.vocabulary)
	if err != nil {
		return nil, err
	}
	room, plan := l.room(req)
	w, err := l.prompt(ctx, req, plan)
	if err != nil {
		return nil, err
	}
	l.recalled(&w)
	prompt, thinking := w.tokens, w.thinking
	sampler.Prompt(prompt)
	who, err := l.caller(req, prompt)
	if err != nil {
		return nil, err
	}
	topLogprobs := -1
	if req.Params.Logprobs {
		topLogprobs = req.Params.TopLogprobs
	}
	var index *spec.Index
	if l.cfg.Speculation == SpeculationNgram { // here, where it keeps nobody waiting
		index = spec.NewIndex(prompt)
	}
	guide, err := l.newGuide(ctx, req, plan, thinking)
	if err != nil {
		return nil, err
	}
	if guide != nil {
		sampler.Constrain(guide)
	}
	a := &reply{l: l, req: req, r: &request{
		id: sched.ID(l.lastID.Add(1)), name: req.ID, prompt: prompt, caller: who,
		maxTokens: min(room, l.info.Context-len(prompt)), ignoreEOS: req.Params.IgnoreEOS, topLogprobs: topLogprobs, warnings: warnings, guide: guide,
		sampler: sampler, outbox: make(chan item, outboxItems), submitted: time.Now(), index: index,
	}}
	return a, a.reader(thinking)
}

// room is the most tokens that an answer may have, and what becomes of the wish for
// thinking in it.
func (l *LLM) room(req *inference.Request) (int, plan) {
	room := l.info.Context
	if m := req.Params.MaxTokens; m > 0 {
		room = min(room, m)
	}
	return room, l.plan(req.Reasoning, room)
}

// reader makes what reads the answer.
func (a *reply) reader(thinking bool) (err error) {
	if a.parser, err = a.l.parser(a.req, thinking); err != nil {
		return err
	}
	stop := a.req.Params.Stop
	if a.parser != nil {
		stop = nil // the parser looks for them, in the content
	}
	a.text, err = chat.NewStream(stop)
	return err
}

// normalised is a request whose messages the template takes, and what was changed.
func (l *LLM) normalised(asked *inference.Request) (*inference.Request, []inference.Warning) {
	req := *asked
	var warnings []inference.Warning
	if req.Prompt == nil {
		req.Messages, warnings = answer.Normalise(req.Messages, l.speech.roles)
		if w := req.Reasoning; w != (inference.Reasoning{}) && w.Effort != inference.EffortNone && !l.thinks() {
			warnings = append(warnings, inference.Warning{Code: inference.CodeIgnored, Message: "reasoning: this model does not think before it answers"})
		}
	}
	return &req, warnings
}

// suppress bans the tokens that the model's makers want never drawn, but for
// those that the request has a bias of its own for.
func (l *LLM) suppress(p inference.Params) inference.Params {
	suppressed := l.vocabulary.Suppressed()
	if len(suppressed) == 0 {
		return p
	}
	biases := slices.Clone(p.LogitBias)
	for _, t := range suppressed {
		if !slices.ContainsFunc(p.LogitBias, func(b inference.TokenBias) bool { return b.Token == t }) {
			biases = append(biases, inference.TokenBias{Token: t, Bias: bannedBias})
		}
	}
	p.LogitBias = biases
	return p
}

// bannedBias bans a token.
const bannedBias = -100

// submit puts the request into the inbox and waits for its admission.
func (l *LLM) submit(ctx context.Context, r *request) error {
	select {
	case l.inbox <- command{submit: r}:
	case <-l.done:
		return errStopped
	case <-ctx.Done():
		return ctx.Err()
	}
	it, ok := l.receive(ctx, r)
	switch {
	case !ok && ctx.Err() != nil:
		l.cancel(r, false)
		return ctx.Err()
	case !ok:
		return errStopped
	case it.kind == itemError:
		return it.err
	}
	return nil
}

// receive takes the next item from the outbox; false when there is none to
// come or ctx ended.
func (l *LLM) receive(ctx context.Context, r *request) (item, bool) {
	select {
	case it, ok := <-r.outbox:
		if r.stalled.Load() && len(r.outbox) < cap(r.outbox)/2 && r.stalled.CompareAndSwap(true, false) {
			select {
			case l.wake <- struct{}{}:
			default: // a wake is already on its way
			}
		}
		return it, ok
	case <-ctx.Done():
		return item{}, false
	case <-l.done:
		select { // what the owner left before it ended
		case it, ok := <-r.outbox:
			return it, ok
		default:
			return item{}, false
		}
	}
}

// cancel tells the owner to forget a request, because its reader left or because
// a stop string ended the answer.
func (l *LLM) cancel(r *request, stopped bool) {
	r.cancelStep.Store(l.stats.steps.Load())
	select {
	case l.inbox <- command{cancel: r, stopped: stopped}:
	case <-l.done:
	}
}
