package swarm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dure/runtime/event"
)

// ErrFull is what a World's methods return when there is no room where the run keeps its
// files. Nothing fails for that: the run is paused, a person is told, and it goes on when
// there is room.
var ErrFull = errors.New("no room on the disk")

// fullRef begins the Ref of questions about room.
const fullRef = "full/"

// Full pauses the run for want of room, and asks a person to make some. A run that waits
// for room already is left as it is.
func (c *Coordinator) Full(ctx context.Context, reason string) error {
	return c.do(ctx, "no room", func(s *State) ([]any, error) { return s.full(reason), nil })
}

// Room says that there is room again: a run that was paused for want of it goes on.
func (c *Coordinator) Room(ctx context.Context) error {
	return c.do(ctx, "room", func(s *State) ([]any, error) { return s.room(), nil })
}

func (s *State) full(reason string) []any {
	if s.asksForRoom() != nil || s.finished != nil {
		return nil
	}
	out := []any{Asked{
		Question: s.nextQuestion(), Ref: fmt.Sprintf("%s%d", fullRef, s.last),
		Text: clip(reason+"\nThe run waits. Make room there; it goes on by itself then.", MaxText),
	}}
	if s.paused == nil {
		out = append(out, Paused{By: Harness, Reason: clip(reason, MaxText)})
	}
	return out
}

func (s *State) room() []any {
	var out []any
	if q := s.asksForRoom(); q != nil {
		out = append(out, Answered{Question: q.Question, By: Harness, Text: "There is room again."})
	}
	if s.paused != nil && s.paused.By == Harness {
		out = append(out, Resumed{By: Harness})
	}
	return out
}

// asksForRoom is the question about room that is open.
func (s *State) asksForRoom() *Question {
	for _, q := range s.questions {
		if q.Answer == nil && q.Agent == "" && strings.HasPrefix(q.Ref, fullRef) {
			return q
		}
	}
	return nil
}

// longestLogWait is between two tries to write to a log that has no room.
const longestLogWait = 30 * time.Second

// append writes to the log. While that has no room, it waits: what was decided is not
// lost, and nothing more is decided before it is written down.
func (l *loop) append(ctx context.Context, events []event.Event) (event.Sequence, error) {
	for wait := time.Second; ; wait = min(2*wait, longestLogWait) {
		last, err := l.c.log.Append(context.WithoutCancel(ctx), Stream, l.base, events...)
		if !errors.Is(err, event.ErrFull) {
			return last, err
		}
		l.c.logger.Warn("the disk of the run's log is full, and the run waits for room", "error", err)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return last, errors.Join(err, ctx.Err())
		}
	}
}
