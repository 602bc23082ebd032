package front

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"dure/inference/front/strict"
)

// finish is deferred around a request: it turns a panic into an answer and
// counts and logs the request.
func (x *Exchange) finish(r *http.Request) {
	if crash := recover(); crash != nil {
		x.crashed(crash)
	}
	switch {
	case x.gone:
		x.status = statusGone
	case x.status == 0:
		x.status = http.StatusOK // net/http sends it for a handler that wrote nothing
	}
	elapsed := time.Since(x.start)
	x.h.metrics.observe(x, elapsed)
	x.log(r, elapsed)
	if x.cut {
		panic(http.ErrAbortHandler)
	}
}

// crashed handles a panic of a handler. Where part of an answer is out, cutting
// the connection is the only way to keep the client from taking it for the
// whole.
func (x *Exchange) crashed(crash any) {
	if crash == http.ErrAbortHandler {
		x.gone, x.cut = true, true
		return
	}
	x.failure = toFailure(panicked(crash), x.id)
	if x.status != 0 {
		x.cut = true
		return
	}
	x.gone = x.sendFailure(x.failure) != nil
}

// panicked is the error for what was recovered, with the stack.
func panicked(crash any) error { return fmt.Errorf("panic: %v\n%s", crash, debug.Stack()) }

func (x *Exchange) log(r *http.Request, elapsed time.Duration) {
	level := slog.LevelInfo
	if x.row.Quiet {
		level = slog.LevelDebug
	}
	attrs := []slog.Attr{
		slog.String("request_id", x.id),
		slog.String("method", strict.Clip(r.Method)),
		slog.String("path", strict.Clip(r.URL.Path)),
		slog.Int("status", x.status),
		slog.Float64("ms", ms(elapsed)),
	}
	x.logOutcome(r.Context(), level, "request", attrs)
}

// logOutcome adds what came of a request to its line and writes it.
func (x *Exchange) logOutcome(ctx context.Context, level slog.Level, message string, attrs []slog.Attr) {
	if name := x.holder.Name(); name != "" {
		attrs = append(attrs, slog.String("key", name))
	}
	attrs = x.progress.attrs(attrs)
	if f := x.failure; f != nil {
		attrs = append(attrs, slog.String("code", string(f.Code)))
		if f.Cause != nil {
			level = slog.LevelError
			attrs = append(attrs, slog.String("err", f.Cause.Error()))
		}
	}
	x.h.log.LogAttrs(ctx, level, message, attrs...)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
