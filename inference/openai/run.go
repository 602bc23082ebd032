package openai

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"dure/inference"
)

// defaultWidth is how many choices of one request run at once where the model
// does not tell how many it decodes at once.
const defaultWidth = 8

var errNoEnd = errors.New("the model's events ended without a last one")

// run is one request's choices on their way through the model.
type run struct {
	x       *exchange
	model   inference.Model
	req     *request
	asks    []*inference.Request // one for each choice
	choices []*choice
	out     answer

	width   int // choices that run at once
	started int
	ended   int
}

// newRun prepares a run. As many choices run at once as the model decodes at
// once: more would only take places in its queue from others, who may then have
// to be refused.
func newRun(x *exchange, model inference.Model, req *request, asks []*inference.Request, echoes []string, out answer) *run {
	g := &run{x: x, model: model, req: req, asks: asks, out: out}
	if g.width = model.Info().Sequences; g.width <= 0 {
		g.width = defaultWidth
	}
	g.width = min(g.width, len(asks))
	for i := range asks {
		c := &choice{index: i}
		if echoes != nil {
			c.echo = echoes[i/req.n]
		}
		g.choices = append(g.choices, c)
	}
	x.gen.phase = phasePrompt
	// Found once: a look-up for each token would cost more than the count.
	x.gen.gap = x.h.metrics.gap.WithLabelValues(x.gen.model, x.gen.priority())
	return g
}

// generate runs the model and passes its events on.
func (g *run) generate(ctx context.Context) error {
	if len(g.asks) > 1 {
		return g.many(ctx)
	}
	// Returning early from the range is what cancels the model when the client
	// cannot be written to.
	for ev, err := range g.model.Generate(ctx, g.asks[0]) {
		if err == nil {
			err = g.pass(g.choices[0], ev, ev.More)
		}
		if err != nil {
			return g.req.blame(0, err)
		}
	}
	if g.ended == 0 {
		return errNoEnd
	}
	return nil
}

// delivery is an event of one of many choices, or what ended it.
type delivery struct {
	choice int
	event  inference.Event
	err    error
}

// many runs several choices, at most g.width at once, each in a goroutine that
// ends before many returns. Their events meet in one channel, so that only the
// request's own goroutine encodes and writes. The first failure of a choice ends
// all of them.
func (g *run) many(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	deliveries := make(chan delivery, 4*g.width)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var next atomic.Int64
	for range g.width {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(g.asks); i = int(next.Add(1)) - 1 {
				if !g.feed(ctx, i, deliveries) {
					return
				}
			}
		})
	}
	for g.ended < len(g.choices) {
		select {
		case d := <-deliveries:
			err := d.err
			if err == nil {
				err = g.pass(g.choices[d.choice], d.event, d.event.More || len(deliveries) > 0)
			}
			if err != nil {
				return g.req.blame(d.choice/g.req.n, err)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// feed sends the events of one choice. It reports whether they came to their end.
func (g *run) feed(ctx context.Context, i int, deliveries chan<- delivery) (whole bool) {
	send := func(ev inference.Event, err error) bool {
		select {
		case deliveries <- delivery{i, ev, err}:
			return err == nil
		case <-ctx.Done():
			return false
		}
	}
	// Left alone, a panic here would end the process and not only the request.
	defer func() {
		if crash := recover(); crash != nil {
			send(inference.Event{}, fmt.Errorf("panic: %v\n%s", crash, debug.Stack()))
		}
	}()
	for ev, err := range g.events(ctx, i) {
		if !send(ev, err) {
			return false
		}
		if ev.Kind == inference.EventDone {
			return true
		}
	}
	return send(inference.Event{}, errNoEnd)
}

// pass hands one event on. more tells that another one is at hand.
func (g *run) pass(c *choice, ev inference.Event, more bool) error {
	if first := ev.Kind == inference.EventStarted; first == c.started || c.finish != "" {
		return fmt.Errorf("the model's event %q is out of order", ev.Kind)
	}
	if ev.Usage != nil {
		c.usage = *ev.Usage
		g.x.gen.usage = total(g.choices, g.req.n)
	}
	var err error
	switch ev.Kind {
	case inference.EventStarted:
		c.started = true
		g.started++
		err = g.out.start(c)
	case inference.EventText:
		if ev.Text != "" || len(ev.Logprobs) > 0 {
			g.x.clockText(c, time.Now())
			err = g.out.text(c, ev.Text, ev.Logprobs)
		}
	case inference.EventDone:
		return g.end(c, ev.Finish, more)
	default:
		err = fmt.Errorf("the model's event %q is unknown", ev.Kind)
	}
	if err != nil {
		return err
	}
	return g.push(more)
}

// push sends what there is. An answer does not begin before the model has taken
// all the choices that run at first: until then a refusal has a status of its
// own.
func (g *run) push(more bool) error {
	return g.out.push(more || g.started < g.width && !g.out.begun())
}

// end closes a choice and, after the last one, the answer.
func (g *run) end(c *choice, finish inference.FinishReason, more bool) error {
	if finish == "" {
		return errors.New("the model's last event lacks the reason to finish")
	}
	c.finish = finish
	g.x.h.metrics.queue.WithLabelValues(g.x.gen.model, g.x.gen.priority()).Observe(c.usage.QueueMS / 1000)
	g.ended++
	final := g.ended == len(g.choices)
	if err := g.out.end(c, final); err != nil {
		return err
	}
	if !final {
		return g.push(more)
	}
	g.x.gen.finish = reasons(g.choices)
	return g.out.done(wireUsage(g.x.gen.usage, g.asks[0].Params.Seed))
}

// clockText notes when a piece of text of a choice came.
func (x *exchange) clockText(c *choice, now time.Time) {
	g := &x.gen
	if g.phase != phaseDecode {
		g.phase = phaseDecode
		g.ttft = now.Sub(x.start)
		x.h.metrics.firstToken.WithLabelValues(g.model, g.priority()).Observe(g.ttft.Seconds())
	}
	if !c.last.IsZero() {
		g.gap.Observe(now.Sub(c.last).Seconds())
	}
	c.last = now
}
