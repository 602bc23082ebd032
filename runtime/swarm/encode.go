package swarm

import (
	"errors"
	"time"

	"dure/runtime/event"
)

// makers make the event of a payload, each of one type.
var makers = []func(payload any) (event.Event, bool, error){
	of(Events.Started), of(Events.Extended), of(Events.Paused), of(Events.Resumed), of(Events.Activated),
	of(Events.Measured), of(Events.Verified), of(Events.Finished),
	of(Events.Drafted), of(Events.Approved), of(Events.Rejected),
	of(Events.Submitted), of(Events.Leased), of(Events.Reported), of(Events.Checked), of(Events.Judged),
	of(Events.Landed), of(Events.Conflicted), of(Events.Refused), of(Events.Returned), of(Events.Ended),
	of(Events.Parked), of(Events.Reopened), of(Events.Estimated), of(Events.Reasked),
	of(Events.Hired), of(Events.Moved), of(Events.Dismissed), of(Events.Reminded), of(Events.Steered),
	of(Events.Delivered), of(Events.Mainline), of(Events.Found), of(Events.Opened), of(Events.Asked), of(Events.Answered),
}

func of[T any](kind event.Type[T]) func(any) (event.Event, bool, error) {
	return func(payload any) (event.Event, bool, error) {
		p, ok := payload.(T)
		if !ok {
			return event.Event{}, false, nil
		}
		e, err := kind.New(p)
		return e, true, err
	}
}

var errNoEvent = errors.New("swarm: no event has this payload")

// newEvent makes an event of a payload, with an ID and a time.
func newEvent(now time.Time, payload any) (event.Event, error) {
	for _, make := range makers {
		if e, ok, err := make(payload); ok {
			e.ID, e.Time = event.NewID(), now
			return e, err
		}
	}
	return event.Event{}, errNoEvent
}

// encode makes events of payloads.
func encode(now time.Time, payloads ...any) ([]event.Event, error) {
	var events []event.Event
	for _, p := range payloads {
		e, err := newEvent(now, p)
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}
