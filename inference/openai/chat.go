package openai

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"dure/inference"

	"github.com/prometheus/client_golang/prometheus"
)

var errClosing = inference.Errorf(inference.CodeShuttingDown, "the server is shutting down")

// chat answers POST /v1/chat/completions.
func (h *handler) chat(x *exchange, r *http.Request) error {
	body, err := readBody(x, r)
	if err != nil {
		return err
	}
	req, err := decodeChat(body)
	if err != nil {
		return err
	}
	listing, err := h.lookup(req.model)
	if err != nil {
		return err
	}
	if h.isClosing() {
		return errClosing
	}
	x.gen.model, x.gen.phase = listing.Name, phaseLoad
	model, release, err := h.models.Open(r.Context(), listing.Name)
	if err != nil {
		return fmt.Errorf("open model %s: %w", listing.Name, err)
	}
	defer release()
	ask := &inference.Request{ID: x.id, Messages: req.messages, Params: req.params(listing.Params)}
	return x.generate(r.Context(), model, ask, newAnswer(x, req, ask.Params.Seed))
}

// phase is how far a generation got, as far as this surface can tell.
type phase string

const (
	phaseLoad   phase = "load"   // the model is being opened
	phasePrompt phase = "prompt" // queued, or the prompt is read
	phaseDecode phase = "decode" // text has come
)

// generation is what is known about an answer in the making.
type generation struct {
	model   string
	phase   phase // empty before a model was asked for
	stream  bool
	started bool
	gap     prometheus.Observer
	ttft    time.Duration // 0 before the first text
	last    time.Time     // of the latest text
	usage   inference.Usage
	finish  inference.FinishReason // empty unless the answer is whole
}

func (g *generation) attrs(attrs []slog.Attr) []slog.Attr {
	if g.model == "" {
		return attrs
	}
	attrs = append(attrs, slog.String("model", g.model), slog.Bool("stream", g.stream),
		slog.Int("prompt_tokens", g.usage.PromptTokens))
	if g.ttft > 0 {
		attrs = append(attrs, slog.Float64("ttft_ms", ms(g.ttft)))
	}
	if g.finish != "" {
		attrs = append(attrs, slog.Int("completion_tokens", g.usage.CompletionTokens),
			slog.Int("cached_tokens", g.usage.CachedTokens), slog.String("finish", string(g.finish)))
	}
	return attrs
}

// answer encodes the events of a model for the client.
type answer interface {
	begin() error
	text(s string) error
	done(finish inference.FinishReason, u inference.Usage) error
}

func newAnswer(x *exchange, req *chatRequest, seed uint64) answer {
	base := head{
		ID:          "chatcmpl-" + rand.Text(),
		Created:     x.start.Unix(),
		Model:       x.gen.model,
		Fingerprint: x.h.version,
	}
	x.gen.stream = req.stream
	if req.stream {
		return newStream(x, base, req, seed)
	}
	return &whole{x: x, base: base, warnings: req.warnings, seed: seed}
}

// generate runs the model and passes its events on. Returning early from the
// range is what cancels the model when the client cannot be written to.
func (x *exchange) generate(ctx context.Context, model inference.Model, ask *inference.Request, out answer) error {
	x.gen.phase = phasePrompt
	x.gen.gap = x.h.metrics.gap.WithLabelValues(x.gen.model)
	for ev, err := range model.Generate(ctx, ask) {
		if err == nil {
			err = x.pass(ev, out)
		}
		if err != nil {
			return err
		}
	}
	if x.gen.finish == "" {
		return errors.New("the model's events ended without a last one")
	}
	return nil
}

// pass hands one event on.
func (x *exchange) pass(ev inference.Event, out answer) error {
	g := &x.gen
	if first := ev.Kind == inference.EventStarted; first == g.started || g.finish != "" {
		return fmt.Errorf("the model's event %q is out of order", ev.Kind)
	}
	if ev.Usage != nil {
		g.usage = *ev.Usage
	}
	switch ev.Kind {
	case inference.EventStarted:
		g.started = true
		return out.begin()
	case inference.EventText:
		if ev.Text == "" {
			return nil
		}
		x.clockText(time.Now())
		return out.text(ev.Text)
	case inference.EventDone:
		if ev.Finish == "" {
			return errors.New("the model's last event lacks the reason to finish")
		}
		g.finish = ev.Finish
		return out.done(ev.Finish, g.usage)
	}
	return fmt.Errorf("the model's event %q is unknown", ev.Kind)
}

// clockText notes when a piece of text came.
func (x *exchange) clockText(now time.Time) {
	g := &x.gen
	if g.phase == phaseDecode {
		g.gap.Observe(now.Sub(g.last).Seconds())
	} else {
		g.phase = phaseDecode
		g.ttft = now.Sub(x.start)
		x.h.metrics.firstToken.WithLabelValues(g.model).Observe(g.ttft.Seconds())
	}
	g.last = now
}

// whole collects an answer that is sent in one piece.
type whole struct {
	x        *exchange
	base     head
	warnings []string
	seed     uint64
	content  strings.Builder
}

func (a *whole) begin() error { return nil }

func (a *whole) text(s string) error {
	a.content.WriteString(s)
	return nil
}

func (a *whole) done(finish inference.FinishReason, u inference.Usage) error {
	a.base.Object = "chat.completion"
	return a.x.json(http.StatusOK, completion{
		head: a.base,
		Choices: []choice{{
			Message: answerMessage{Role: inference.RoleAssistant, Content: a.content.String()},
			Finish:  finish,
		}},
		Usage:    wireUsage(u, a.seed),
		Warnings: a.warnings,
	})
}
