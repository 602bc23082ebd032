package front

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"dure/inference"
)

var errClosing = inference.Errorf(inference.CodeShuttingDown, "the server is shutting down")

// Generation is what a surface wants of a model.
type Generation struct {
	Model Listing // as Exchange.Find returned it
	// Caller is who asks; its deadline counts from the request's header.
	Caller inference.Caller
	// Requests are one for each choice, in the order of their indices, with the
	// model's defaults (Listing.Params) where the client says nothing. Their ID and
	// Caller are set here.
	Requests []*inference.Request
	// Each is how many requests in a row have the same prompt, which then counts
	// once; 0 means that all have.
	Each int
	// Prepare, where it is not nil, is called with the open model before the first
	// request, and may still change the requests.
	Prepare func(ctx context.Context, model inference.Model) error
	// Blame, where it is not nil, may say better what an error of the model for one
	// of the requests is about.
	Blame func(index int, err error) error
	// Answer encodes what the model says.
	Answer Answer
	// Stream says how the answer looks where it is sent piece by piece; nil for one
	// that is sent whole.
	Stream *StreamForm
}

// Answer encodes the events of a generation for the client: each method appends
// to dst and returns it. Of a stream that is the next piece of it, whole events
// only; what is sent whole is one JSON value, which is best appended by Done. It
// is used by the goroutine of the request only.
type Answer interface {
	// Start opens a choice.
	Start(dst []byte, c *Choice) ([]byte, error)
	// Event adds text, reasoning or a piece of a call of a tool to a choice.
	Event(dst []byte, c *Choice, ev inference.Event) ([]byte, error)
	// End closes a choice, whose Finish is known now; last tells that no other
	// choice is open.
	End(dst []byte, c *Choice, last bool) ([]byte, error)
	// Done ends the answer. The usage is that of all choices.
	Done(dst []byte, u inference.Usage) ([]byte, error)
}

// Generate runs a generation and answers with it. What it returns is to be
// returned by the route.
func (x *Exchange) Generate(r *http.Request, g Generation) error {
	return x.run(r.Context(), g)
}

func (x *Exchange) run(ctx context.Context, g Generation) error {
	if x.visit == nil {
		if err := x.Admit(&g); err != nil {
			return err
		}
	}
	p, visit := &x.progress, x.visit
	x.visit = nil // of this generation only
	defer func() { visit.Settle(p.usage) }()
	p.phase, p.stream, p.caller = phaseLoad, g.Stream != nil, g.Caller
	return x.h.bounded(ctx, x, func(ctx context.Context) error {
		if g.Stream == nil {
			return x.generate(ctx, &g, nil)
		}
		out := newStream(x, *g.Stream)
		return out.watch(ctx, func(ctx context.Context) error { return x.generate(ctx, &g, out) })
	})
}

func (x *Exchange) generate(ctx context.Context, g *Generation, out *Stream) error {
	model, release, err := x.h.open(ctx, g.Model.Name, g.Caller.KeepAlive)
	if err != nil {
		return err
	}
	defer release()
	if w := model.Info().ChatWarning; w != "" && g.Requests[0].Messages != nil {
		x.Warn("messages: " + w)
	}
	if g.Prepare != nil {
		if err := g.Prepare(ctx, model); err != nil {
			return advised(model, err)
		}
	}
	caller := g.Caller
	caller.DeadlineMS = x.timeLeft()
	for _, req := range g.Requests {
		req.ID, req.Caller = x.id, caller
	}
	n := newRun(x, model, g, out)
	defer n.account()
	return advised(model, n.generate(ctx))
}

// warnOf adds a model's warnings about a choice, each once.
func (x *Exchange) warnOf(warnings []inference.Warning) {
	for _, w := range warnings {
		if text := string(w.Code) + ": " + w.Message; !slices.Contains(x.warnings, text) {
			x.Warn(text)
		}
	}
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
