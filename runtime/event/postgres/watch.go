package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// How long a connection may be silent before it is tried whether it still is one.
	lookEvery = 5 * time.Second
	// How long is waited before connecting again.
	reconnectFirst, reconnectMost = 100 * time.Millisecond, 5 * time.Second
)

// Watch implements journal.Backend.
func (s *store) Watch(ctx context.Context, _ func() bool, moved func()) {
	wait := reconnectFirst
	for ctx.Err() == nil {
		err := s.listen(ctx, func() {
			wait = reconnectFirst
			moved()
		})
		if ctx.Err() != nil {
			return
		}
		s.log.Warn("event log hears no notifications and connects again", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, reconnectMost)
	}
}

// listen calls moved at each notification until the connection breaks. It does so
// at the start too: what came while nobody listened was not heard.
func (s *store) listen(ctx context.Context, moved func()) error {
	c, err := pgx.ConnectConfig(ctx, s.listening)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = c.Close(closing)
	}()
	if _, err := c.Exec(ctx, "listen dure_event"); err != nil {
		return err
	}
	moved()
	for {
		err := notified(ctx, c)
		if err != nil {
			return err
		}
		moved()
	}
}

// notified waits for a notification. It also returns now and then without one: the
// statement that it then sends finds a connection that is dead without a word.
func notified(ctx context.Context, c *pgx.Conn) error {
	waiting, cancel := context.WithTimeout(ctx, lookEvery)
	defer cancel()
	_, err := c.WaitForNotification(waiting)
	if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	trying, cancelTry := context.WithTimeout(ctx, lookEvery)
	defer cancelTry()
	return c.Ping(trying)
}
