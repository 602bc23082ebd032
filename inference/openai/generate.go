package openai

import (
	"cmp"
	"context"
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

// phase is how far a generation got, as far as this surface can tell.
type phase string

const (
	phaseLoad   phase = "load"   // the model is being opened
	phasePrompt phase = "prompt" // queued, or the prompt is read
	phaseDecode phase = "decode" // text has come
)

// generation is what is known about an answer in the making.
type generation struct {
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
func (g *generation) priority() string {
	return string(cmp.Or(g.caller.Priority, inference.PriorityInteractive))
}

func (g *generation) attrs(attrs []slog.Attr) []slog.Attr {
	if g.model == "" {
		return attrs
	}
	attrs = append(attrs, slog.String("model", g.model))
	if g.phase == "" {
		return attrs
	}
	attrs = append(attrs, slog.Bool("stream", g.stream), slog.Int("prompt_tokens", g.usage.PromptTokens))
	if g.caller.Agent != "" {
		attrs = append(attrs, slog.String("agent", g.caller.Agent))
	}
	if g.ttft > 0 {
		attrs = append(attrs, slog.Float64("ttft_ms", ms(g.ttft)))
	}
	if g.finish != "" {
		attrs = append(attrs, slog.Int("completion_tokens", g.usage.CompletionTokens),
			slog.Int("cached_tokens", g.usage.CachedTokens), slog.String("finish", g.finish))
	}
	return attrs
}

// chat answers POST /v1/chat/completions.
func (h *handler) chat(x *exchange, r *http.Request) error {
	return h.complete(x, r, decodeChat, chatShape{})
}

// textCompletion answers POST /v1/completions.
func (h *handler) textCompletion(x *exchange, r *http.Request) error {
	return h.complete(x, r, decodeText, textShape{})
}

// complete answers a request of either route that generates.
func (h *handler) complete(x *exchange, r *http.Request, decode func([]byte) (*request, error), s shape) error {
	body, err := readBody(x, r)
	if err != nil {
		return err
	}
	req, err := decode(body)
	if err == nil {
		err = req.addHeaders(r.Header)
	}
	if err != nil {
		return err
	}
	listing, err := h.find(x, req.model)
	if err != nil {
		return err
	}
	x.gen.phase, x.gen.stream, x.gen.caller = phaseLoad, req.stream, req.caller
	return h.bounded(r.Context(), x, func(ctx context.Context) error {
		if !req.stream {
			return h.generate(ctx, x, req, listing, &whole{x: x, shape: s, logprobs: req.logprobs})
		}
		out := newStream(x, s, req)
		return out.watch(ctx, func(ctx context.Context) error {
			return h.generate(ctx, x, req, listing, out)
		})
	})
}

// find looks up the model that a request asks for.
func (h *handler) find(x *exchange, name string) (Listing, error) {
	listing, err := h.lookup(name)
	if err == nil && h.isClosing() {
		err = errClosing
	}
	if err == nil {
		x.gen.model = listing.Name
	}
	return listing, err
}

func (h *handler) open(ctx context.Context, name string, keep time.Duration) (inference.Model, func(), error) {
	model, release, err := h.models.Open(ctx, name, keep)
	if err != nil {
		return nil, nil, fmt.Errorf("open model %s: %w", name, err)
	}
	return model, release, nil
}

func (h *handler) generate(ctx context.Context, x *exchange, req *request, listing Listing, out answer) error {
	model, release, err := h.open(ctx, listing.Name, req.caller.KeepAlive)
	if err != nil {
		return err
	}
	defer release()
	x.warnings = req.warnings
	if w := model.Info().ChatWarning; w != "" && req.messages != nil {
		x.warnings = append(x.warnings, "messages: "+w)
	}
	prompts, err := req.settle(ctx, model)
	if err != nil {
		return advised(model, err)
	}
	echoes, err := req.echoes(ctx, listing.Name, model)
	if err != nil {
		return err
	}
	req.prompts = prompts
	req.caller.DeadlineMS = x.timeLeft()
	asks := req.requests(x.id, req.params(listing.Params))
	return advised(model, newRun(x, model, req, asks, echoes, out).generate(ctx))
}

// advice is how the server's own limits are widened, by the error that meets
// them. The flag is in the text.
var advice = map[inference.Code]struct{ flag, text string }{
	inference.CodeContextExceeded: {"--context", "shorten the prompt, or start the server with a larger --context"},
	inference.CodeQueueFull:       {"--queue", "to let more requests wait, start the server with a larger --queue"},
}

// advised adds to the error of a model that runs here what to do about it. The
// model knows its limits but not where they come from.
func advised(model inference.Model, err error) error {
	var e *inference.Error
	if _, local := model.(inference.Tokenizer); !local || !errors.As(err, &e) {
		return err
	}
	a, ok := advice[e.Code]
	if !ok || strings.Contains(e.Message, a.flag) {
		return err
	}
	more := *e
	more.Message = e.Error() + "; " + a.text
	return &more
}

func noTokenizer(name, param, fix string) error {
	err := inference.Errorf(inference.CodeUnsupported,
		"%s: the model %s runs elsewhere and its tokens are not at hand; %s", param, name, fix)
	err.Param = param
	return err
}
