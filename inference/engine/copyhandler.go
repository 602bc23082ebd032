package engine

import (
	"context"
	"log/slog"
)

// copyHandler passes records on and reads the buffer sizes out of their lines.
type copyHandler struct {
	slog.Handler
	sizes *sizes
}

// Enabled is always true: the sizes are told at a level that few loggers keep.
func (h copyHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h copyHandler) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		h.sizes.line(a.Value.String())
		return true
	})
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}
