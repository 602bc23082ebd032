package front

import (
	"context"
	"log/slog"
	"slices"
	"time"
)

// Apart returns an exchange for a generation that goes on when the request and its
// client are gone. Nothing can be written to it; see [Exchange.Run].
func (x *Exchange) Apart() *Exchange {
	own := &Exchange{h: x.h, id: x.id, start: x.start, row: x.row, warnings: slices.Clone(x.warnings), holder: x.holder, alone: true}
	own.progress.model = x.progress.model
	return own
}

// Run runs a generation on an exchange that [Exchange.Apart] made, once. Its Answer
// keeps what it is told; what it appends is dropped. Run logs and counts what came of
// the generation. The error is ctx's where that ended, and otherwise a *Failure. Who
// calls Run owns its goroutine.
func (x *Exchange) Run(ctx context.Context, g Generation) (err error) {
	defer func() {
		if crash := recover(); crash != nil {
			err = panicked(crash)
		}
		err = x.over(ctx, err)
	}()
	g.Stream = nil
	return x.run(ctx, g)
}

// over counts and logs a generation that nobody waited for.
func (x *Exchange) over(ctx context.Context, err error) error {
	switch {
	case err == nil:
	case ctx.Err() != nil:
		x.gone, err = true, ctx.Err()
	default:
		x.failure = toFailure(err, x.id)
		err = x.failure
	}
	x.h.metrics.observeGeneration(x)
	x.logOutcome(context.WithoutCancel(ctx), slog.LevelInfo, "generation",
		[]slog.Attr{slog.String("request_id", x.id), slog.Float64("ms", ms(time.Since(x.start)))})
	return err
}
