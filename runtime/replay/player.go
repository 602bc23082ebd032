package replay

import (
	"context"
	"errors"
	"fmt"

	"dure/runtime/event"
	"dure/runtime/swarm"
)

// A Result is what a replay came to.
type Result struct {
	Events   int            `json:"events"` // of the whole log, up to where the replay went
	Position event.Position `json:"position"`
	Run      int            `json:"run"` // of them the run's own
	// Compared events had a recorded print, and the same; Open are the run's events that
	// no seal has.
	Compared int  `json:"compared"`
	Open     int  `json:"open"`
	Whole    bool `json:"whole"` // the replay went to the log's end
}

// Until says where a replay ends.
type Until struct {
	Position event.Position // 0: at the log's end
	Type     string         // at the first event of this type
}

func (u Until) reached(e event.Event) bool {
	return u.Position > 0 && e.Position >= u.Position || u.Type != "" && e.Type == u.Type
}

// ErrNoRun: the log holds no run.
var ErrNoRun = errors.New("the log holds no run")

// Play goes through a log. show is called after each event with the run as it was then;
// the state is the player's, and changes with the next event. An error of show ends the
// replay. Errors: ErrDiffers and event.ErrDamaged, with the event; ErrNoRun.
func Play(ctx context.Context, log event.Log, until Until, show func(e event.Event, s *swarm.State) error) (r Result, err error) {
	r, err = play(ctx, log, until, show)
	if err != nil {
		return r, fmt.Errorf("replay: %w", err)
	}
	return r, nil
}

func play(ctx context.Context, log event.Log, until Until, show func(e event.Event, s *swarm.State) error) (r Result, err error) {
	head, err := log.Head(ctx)
	if err != nil {
		return r, err
	}
	// A damaged seal is met where it lies.
	recorded, sealErr := readSeals(ctx, log)
	f := newFold()
	for e, err := range log.ReadAll(ctx, 1) {
		if err == nil && e.Stream == swarm.Stream {
			err = r.step(f, recorded, e)
		}
		if err == nil {
			r.Events, r.Position = r.Events+1, e.Position
			err = show(e, f.state)
		}
		if err != nil {
			return r, err
		}
		if until.reached(e) {
			break
		}
	}
	r.Whole = r.Position == head
	switch {
	case sealErr != nil && r.Whole:
		return r, sealErr
	case f.state.Started() == nil && r.Whole:
		return r, ErrNoRun
	}
	return r, nil
}

// step takes an event of the run itself.
func (r *Result) step(f *fold, recorded book, e event.Event) error {
	if err := f.apply(e); err != nil {
		return err
	}
	r.Run++
	compared, err := recorded.check(f, e)
	if compared {
		r.Compared++
	} else {
		r.Open++
	}
	return err
}
