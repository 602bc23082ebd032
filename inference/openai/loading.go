package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"dure/inference"
)

// Pool is what this surface needs of whoever loads and unloads models. It is safe
// for concurrent use. Errors of unknown names are model_not_found.
type Pool interface {
	// Status of the models of which there is something to say, as JSON: a list of
	// objects with a name.
	Status() (json.RawMessage, error)
	// Load returns when the model is ready. It then stays for keep without a request;
	// 0 is the model's own time, negative for ever.
	Load(ctx context.Context, name string, keep time.Duration) error
	// Unload returns when the model is gone; with atOnce it does not wait for requests
	// that run.
	Unload(ctx context.Context, name string, atOnce bool) error
	// Pause unloads all models; requests are refused until Resume, which names those
	// that it loads again and does not wait for them.
	Pause(ctx context.Context, atOnce bool) error
	Resume() []string
}

type loadRequest struct {
	keep time.Duration
	now  bool
}

var (
	loadFields   = fields[loadRequest]{"keep_alive": func(d *decoder, r *loadRequest, t token) (err error) { r.keep, err = d.keepAlive(t); return err }}
	unloadFields = fields[loadRequest]{"now": boolean(func(r *loadRequest, b bool) { r.now = b })}
)

// keepAlive is a time as Ollama's clients write it: a number of seconds, or a text
// such as "5m" or "1h30m"; 0 is to unload at once, negative never.
func (d *decoder) keepAlive(t token) (time.Duration, error) {
	var keep time.Duration
	switch t.kind {
	case kindNumber:
		seconds, err := strconv.ParseFloat(string(t.raw), 64)
		if err != nil || math.Abs(seconds) > math.MaxInt64/float64(time.Second)/2 {
			return 0, d.invalid("%s is not a number of seconds", clip(string(t.raw)))
		}
		keep = time.Duration(seconds * float64(time.Second))
	case kindString:
		text, err := d.text(t)
		if err != nil {
			return 0, err
		}
		if keep, err = inference.ParseKeepAlive(text); err != nil {
			return 0, d.invalid("%v", err)
		}
	default:
		return 0, d.expected(`a number of seconds or a text such as "5m"`, t)
	}
	return cmp.Or(keep, inference.UnloadAtOnce), nil
}

// errNoPool is for servers whose models are loaded elsewhere.
var errNoPool = refusal(http.StatusNotImplemented, "unsupported", "models cannot be loaded and unloaded here")

// pooled answers a route of the pool. The body may be absent.
func (h *handler) pooled(x *exchange, r *http.Request, known fields[loadRequest], do func(context.Context, loadRequest) error) error {
	if h.pool == nil {
		return errNoPool
	}
	var req loadRequest
	if r.ContentLength != 0 {
		if _, err := readInto(x, r, known, &req, func(*decoder, *loadRequest) error { return nil }); err != nil {
			return err
		}
	}
	if h.isClosing() {
		return errClosing
	}
	if err := do(r.Context(), req); err != nil {
		return err
	}
	return h.listPool(x, r)
}

// listPool answers GET /v1/dure/models.
func (h *handler) listPool(x *exchange, _ *http.Request) error {
	if h.pool == nil {
		return errNoPool
	}
	status, err := h.pool.Status()
	if err != nil {
		return err
	}
	return x.json(http.StatusOK, struct {
		Object string          `json:"object"`
		Data   json.RawMessage `json:"data"`
	}{"list", status})
}

// loadModel answers POST /v1/dure/models/{id}/load.
func (h *handler) loadModel(x *exchange, r *http.Request) error {
	return h.named(r, func(name string) error {
		return h.pooled(x, r, loadFields, func(ctx context.Context, req loadRequest) error { return h.pool.Load(ctx, name, req.keep) })
	})
}

// unloadModel answers POST /v1/dure/models/{id}/unload.
func (h *handler) unloadModel(x *exchange, r *http.Request) error {
	return h.named(r, func(name string) error {
		return h.pooled(x, r, unloadFields, func(ctx context.Context, req loadRequest) error { return h.pool.Unload(ctx, name, req.now) })
	})
}

func (h *handler) named(r *http.Request, do func(name string) error) error {
	l, err := h.lookup(r.PathValue("id"))
	if err != nil {
		return err
	}
	return do(l.Name)
}

// pausePool answers POST /v1/dure/pause.
func (h *handler) pausePool(x *exchange, r *http.Request) error {
	return h.pooled(x, r, unloadFields, func(ctx context.Context, req loadRequest) error { return h.pool.Pause(ctx, req.now) })
}

// resumePool answers POST /v1/dure/resume.
func (h *handler) resumePool(x *exchange, r *http.Request) error {
	return h.pooled(x, r, fields[loadRequest]{}, func(context.Context, loadRequest) error { h.pool.Resume(); return nil })
}
