package front

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
	x       *Exchange
	model   inference.Model
	g       *Generation
	choices []*Choice
	out     *Stream // nil for an answer that is sent whole
	buf     *[]byte // what was encoded and not sent yet; the stream's, if there is one

	width   int // choices that run at once
	started int
	ended   int
}

// newRun prepares a run. As many choices run at once as the model decodes at
// once: more would only take places in its queue from others, who may then have
// to be refused.
func newRun(x *Exchange, model inference.Model, g *Generation, out *Stream) *run {
	n := &run{x: x, model: model, g: g, out: out, buf: new([]byte)}
	if out != nil {
		n.buf = &out.buf
	}
	if n.width = model.Info().Sequences; n.width <= 0 {
		n.width = defaultWidth
	}
	n.width = min(n.width, len(g.Requests))
	for i := range g.Requests {
		n.choices = append(n.choices, &Choice{Index: i})
	}
	x.progress.phase = phasePrompt
	// Found once: a look-up for each token would cost more than the count.
	x.progress.gap = x.h.metrics.gap.WithLabelValues(x.progress.model, x.progress.priority())
	return n
}

// generate runs the model and passes its events on.
func (n *run) generate(ctx context.Context) error {
	if len(n.choices) > 1 {
		return n.many(ctx)
	}
	// Returning early from the range is what cancels the model when the client
	// cannot be written to.
	for ev, err := range n.model.Generate(ctx, n.g.Requests[0]) {
		if err == nil {
			err = n.pass(n.choices[0], ev, ev.More)
		}
		if err != nil {
			return n.blame(0, err)
		}
	}
	if n.ended == 0 {
		return errNoEnd
	}
	return nil
}

func (n *run) blame(index int, err error) error {
	if n.g.Blame == nil {
		return err
	}
	return n.g.Blame(index, err)
}

// delivery is an event of one of many choices, or what ended it.
type delivery struct {
	choice int
	event  inference.Event
	err    error
}

// many runs several choices, at most n.width at once, each in a goroutine that
// ends before many returns. Their events meet in one channel, so that only the
// request's own goroutine encodes and writes. The first failure of a choice ends
// all of them.
func (n *run) many(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	deliveries := make(chan delivery, 4*n.width)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var next atomic.Int64
	for range n.width {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(n.g.Requests); i = int(next.Add(1)) - 1 {
				if !n.feed(ctx, i, deliveries) {
					return
				}
			}
		})
	}
	for n.ended < len(n.choices) {
		select {
		case d := <-deliveries:
			err := d.err
			if err == nil {
				err = n.pass(n.choices[d.choice], d.event, d.event.More || len(deliveries) > 0)
			}
			if err != nil {
				return n.blame(d.choice, err)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// feed sends the events of one choice. It reports whether they came to their end.
func (n *run) feed(ctx context.Context, i int, deliveries chan<- delivery) (whole bool) {
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
			send(inference.Event{}, panicked(crash))
		}
	}()
	for ev, err := range n.events(ctx, i) {
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
func (n *run) pass(c *Choice, ev inference.Event, more bool) error {
	if first := ev.Kind == inference.EventStarted; first == c.started || c.Finish != "" {
		return fmt.Errorf("the model's event %q is out of order", ev.Kind)
	}
	if ev.Usage != nil {
		c.Usage = *ev.Usage
		n.x.progress.usage = n.usage()
	}
	switch ev.Kind {
	case inference.EventStarted:
		c.started = true
		n.started++
		if err := n.keep(n.g.Answer.Start(*n.buf, c)); err != nil {
			return err
		}
	case inference.EventText, inference.EventReasoning, inference.EventToolCall:
		if err := n.add(c, ev); err != nil {
			return err
		}
	case inference.EventDone:
		return n.end(c, ev, more)
	default:
		return fmt.Errorf("the model's event %q is unknown", ev.Kind)
	}
	return n.push(more)
}

// add encodes a piece of a choice, unless there is nothing in it.
func (n *run) add(c *Choice, ev inference.Event) error {
	switch call := ev.Kind == inference.EventToolCall; {
	case call && ev.Call == nil:
		return errors.New("the model's call of a tool is empty")
	case !call && ev.Text == "" && len(ev.Logprobs) == 0:
		return nil
	}
	n.x.clockText(c, time.Now())
	c.pieces += max(1, len(ev.Logprobs))
	return n.keep(n.g.Answer.Event(*n.buf, c, ev))
}

// keep takes over what was encoded. Of an event that failed nothing is kept.
func (n *run) keep(encoded []byte, err error) error {
	if err == nil {
		*n.buf = encoded
	}
	return err
}

// push sends what there is. An answer does not begin before the model has taken
// all the choices that run at first: until then a refusal has a status of its
// own.
func (n *run) push(more bool) error {
	if n.x.alone {
		*n.buf = (*n.buf)[:0]
	}
	if n.out == nil {
		return nil
	}
	return n.out.push(more || n.started < n.width && !n.out.begun())
}

// end closes a choice and, after the last one, the answer.
func (n *run) end(c *Choice, ev inference.Event, more bool) error {
	if ev.Finish == "" {
		return errors.New("the model's last event lacks the reason to finish")
	}
	c.Finish, c.Stop = ev.Finish, ev.Stop
	n.x.warnOf(ev.Warnings)
	n.x.h.metrics.queue.WithLabelValues(n.x.progress.model, n.x.progress.priority()).Observe(c.Usage.QueueMS / 1000)
	n.ended++
	last := n.ended == len(n.choices)
	if err := n.keep(n.g.Answer.End(*n.buf, c, last)); err != nil {
		return err
	}
	if !last {
		return n.push(more)
	}
	n.x.progress.finish = reasons(n.choices)
	if err := n.keep(n.g.Answer.Done(*n.buf, n.x.progress.usage)); err != nil {
		return err
	}
	switch {
	case n.x.alone:
		return nil
	case n.out != nil:
		return n.out.push(false)
	}
	return n.x.sendJSON(http.StatusOK, *n.buf)
}

// usage is that of all choices.
func (n *run) usage() inference.Usage {
	each := n.g.Each
	if each == 0 {
		each = len(n.choices)
	}
	return total(n.choices, each)
}

// account makes the usage of choices that did not come to their end what is known to
// have been made of them: a piece of text is a token at least.
func (n *run) account() {
	for _, c := range n.choices {
		if c.Finish == "" {
			c.Usage.CompletionTokens = max(c.Usage.CompletionTokens, c.pieces)
		}
	}
	n.x.progress.usage = n.usage()
}
