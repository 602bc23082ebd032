package front

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"dure/inference"
	"dure/inference/front/strict"
)

// Pool is what the front needs of whoever loads and unloads models. It is safe
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
	loadFields = strict.Fields[loadRequest]{"keep_alive": func(d *strict.Decoder, r *loadRequest, v strict.Value) (err error) {
		r.keep, err = KeepAlive(d, v)
		return err
	}}
	unloadFields = strict.Fields[loadRequest]{"now": strict.Boolean(func(r *loadRequest, b bool) { r.now = b })}
)

// KeepAlive reads a time as Ollama's clients write it: a number of seconds, or a text
// such as "5m" or "1h30m"; 0 is to unload at once, negative never.
func KeepAlive(d *strict.Decoder, v strict.Value) (time.Duration, error) {
	var keep time.Duration
	switch v.Kind {
	case strict.KindNumber:
		seconds, err := strconv.ParseFloat(string(v.Raw), 64)
		if err != nil || math.Abs(seconds) > math.MaxInt64/float64(time.Second)/2 {
			return 0, d.Invalid("%s is not a number of seconds", strict.Clip(string(v.Raw)))
		}
		keep = time.Duration(seconds * float64(time.Second))
	case strict.KindString:
		text, err := d.Text(v)
		if err != nil {
			return 0, err
		}
		if keep, err = inference.ParseKeepAlive(text); err != nil {
			return 0, d.Invalid("%v", err)
		}
	default:
		return 0, d.Expected(`a number of seconds or a text such as "5m"`, v)
	}
	return cmp.Or(keep, inference.UnloadAtOnce), nil
}

// errNoPool is for servers whose models are loaded elsewhere.
var errNoPool = Refuse(http.StatusNotImplemented, CodeUnavailable, "models cannot be loaded and unloaded here")

// Pool is what loads and unloads models; the error is for a server that has none, and
// for a key without the admin right.
func (x *Exchange) Pool() (Pool, error) {
	if x.h.pool == nil {
		return nil, errNoPool
	}
	return x.h.pool, x.mustAdmin()
}

// pooled answers a route of the pool. The body may be absent.
func (h *Handler) pooled(x *Exchange, r *http.Request, known strict.Fields[loadRequest], do func(context.Context, loadRequest) error) error {
	if h.pool == nil {
		return errNoPool
	}
	var req loadRequest
	if r.ContentLength != 0 {
		if err := ReadInto(x, r, known, &req, func(*strict.Decoder, *loadRequest) error { return nil }); err != nil {
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
func (h *Handler) listPool(x *Exchange, _ *http.Request) error {
	if h.pool == nil {
		return errNoPool
	}
	status, err := h.pool.Status()
	if err != nil {
		return err
	}
	return x.JSON(http.StatusOK, struct {
		Object   string          `json:"object"`
		Data     json.RawMessage `json:"data"`
		Warnings []string        `json:"warnings,omitempty"`
	}{"list", status, x.warnings})
}

// loadModel answers POST /v1/dure/models/{id}/load.
func (h *Handler) loadModel(x *Exchange, r *http.Request) error {
	return h.named(x, r, func(name string) error {
		return h.pooled(x, r, loadFields, func(ctx context.Context, req loadRequest) error { return h.pool.Load(ctx, name, req.keep) })
	})
}

// unloadModel answers POST /v1/dure/models/{id}/unload.
func (h *Handler) unloadModel(x *Exchange, r *http.Request) error {
	return h.named(x, r, func(name string) error {
		return h.pooled(x, r, unloadFields, func(ctx context.Context, req loadRequest) error { return h.pool.Unload(ctx, name, req.now) })
	})
}

func (h *Handler) named(x *Exchange, r *http.Request, do func(name string) error) error {
	l, err := x.find(r.PathValue("id"), true)
	if err != nil {
		return err
	}
	return do(l.Name)
}

// pausePool answers POST /v1/dure/pause.
func (h *Handler) pausePool(x *Exchange, r *http.Request) error {
	return h.pooled(x, r, unloadFields, func(ctx context.Context, req loadRequest) error { return h.pool.Pause(ctx, req.now) })
}

// resumePool answers POST /v1/dure/resume.
func (h *Handler) resumePool(x *Exchange, r *http.Request) error {
	return h.pooled(x, r, strict.Fields[loadRequest]{}, func(context.Context, loadRequest) error { h.pool.Resume(); return nil })
}
