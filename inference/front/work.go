package front

import (
	"context"
	"net/http"

	"dure/inference"
)

// Work asks a model for something that is no generation, as its caller wants it: within
// the caller's deadline, and until its agent is stopped. The model may have to be loaded
// first. use returns how many tokens the model read. What Work returns is to be returned
// by the route.
func (x *Exchange) Work(r *http.Request, l Listing, c inference.Caller, use func(ctx context.Context, m inference.Model, c inference.Caller) (tokens int, err error)) error {
	visit, c, err := x.admit(l, c, x.size/bytesPerToken)
	if err != nil {
		return err
	}
	p := &x.progress
	defer func() { visit.Settle(p.usage) }()
	p.phase, p.caller = phaseLoad, c
	return x.h.bounded(r.Context(), x, func(ctx context.Context) error {
		model, release, err := x.h.open(ctx, l.Name, c.KeepAlive)
		if err != nil {
			return err
		}
		defer release()
		p.phase = phasePrompt
		c.DeadlineMS = x.timeLeft()
		tokens, err := use(ctx, model, c)
		if err != nil {
			return advised(model, err)
		}
		p.usage.PromptTokens, p.finish = tokens, "done"
		return nil
	})
}
