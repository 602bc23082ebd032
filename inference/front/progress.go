package front

import (
	"cmp"
	"log/slog"
	"time"

	"dure/inference"

	"github.com/prometheus/client_golang/prometheus"
)

// phase is how far a generation got, as far as it can be told from here.
type phase string

const (
	phaseLoad   phase = "load"   // the model is being opened
	phasePrompt phase = "prompt" // queued, or the prompt is read
	phaseDecode phase = "decode" // text has come
)

// progress is what is known about an answer in the making.
type progress struct {
	model  string
	caller inference.Caller
	phase  phase // empty on routes that do not generate, and before a model was asked for
	stream bool
	gap    prometheus.Observer
	ttft   time.Duration // 0 before the first text
	usage  inference.Usage
	finish string // empty unless the answer is whole
}

// priority is a value of a metric's label: one of the known ones.
func (p *progress) priority() string {
	return string(cmp.Or(p.caller.Priority, inference.PriorityInteractive))
}

func (p *progress) attrs(attrs []slog.Attr) []slog.Attr {
	if p.model == "" {
		return attrs
	}
	attrs = append(attrs, slog.String("model", p.model))
	if p.phase == "" {
		return attrs
	}
	attrs = append(attrs, slog.Bool("stream", p.stream), slog.Int("prompt_tokens", p.usage.PromptTokens))
	if p.caller.Agent != "" {
		attrs = append(attrs, slog.String("agent", p.caller.Agent))
	}
	if p.ttft > 0 {
		attrs = append(attrs, slog.Float64("ttft_ms", ms(p.ttft)))
	}
	if p.finish != "" {
		attrs = append(attrs, slog.Int("completion_tokens", p.usage.CompletionTokens),
			slog.Int("cached_tokens", p.usage.CachedTokens), slog.String("finish", p.finish))
	}
	return attrs
}

// clockText notes when a piece of text of a choice came.
func (x *Exchange) clockText(c *Choice, now time.Time) {
	p := &x.progress
	if p.phase != phaseDecode {
		p.phase = phaseDecode
		p.ttft = now.Sub(x.start)
		x.h.metrics.firstToken.WithLabelValues(p.model, p.priority()).Observe(p.ttft.Seconds())
	}
	if !c.last.IsZero() {
		p.gap.Observe(now.Sub(c.last).Seconds())
	}
	c.last = now
}
