package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"dure/runtime/event"
	"dure/runtime/event/journal"
)

const (
	readers = 4 // connections that read at once; further readers wait
	// How long a group may take, other processes' groups before it included.
	commitLimit = 60 * time.Second
	// How long the server lets a process stand still in the middle of a group.
	idleLimit = 20 * time.Second
)

// A Config says where a log is.
type Config struct {
	URL    string           // postgres://user:password@host:port/database?...
	Logger *slog.Logger     // nil: discard
	Now    func() time.Time // nil: time.Now
}

// Open opens the log of a database, or makes it. The role must be allowed to
// create a schema, or own the one that is there. Errors: event.ErrNewer,
// event.ErrForeign, event.ErrNotDurable, or what the server says.
func Open(ctx context.Context, cfg Config) (*journal.Journal, error) {
	return open(ctx, cfg, ground{steps: migrations})
}

// A ground is what a log stands on. Tests have schemas of tomorrow and connections
// that break.
type ground struct {
	steps []string
	dial  pgconn.DialFunc // of the connection that appends; nil: the usual
}

func open(ctx context.Context, cfg Config, on ground) (*journal.Journal, error) {
	pool, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("open event log: %w", err)
	}
	params := pool.ConnConfig.RuntimeParams
	params["application_name"] = "dure event log"
	params["default_transaction_isolation"] = "read committed"
	params["statement_timeout"] = millis(commitLimit)
	s := &store{
		name:   fmt.Sprintf("database %q on %s", pool.ConnConfig.Database, pool.ConnConfig.Host),
		ground: on,
		log:    cfg.Logger,
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.listening = pool.ConnConfig.Copy()
	s.listening.RuntimeParams["statement_timeout"] = "0"
	s.writing = pool.ConnConfig.Copy()
	s.writing.RuntimeParams["idle_in_transaction_session_timeout"] = millis(idleLimit)
	if on.dial != nil {
		s.writing.DialFunc = on.dial
	}
	if err := s.connect(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open event log in %s: %w", s.name, explain(err)), s.Close())
	}
	pool.MaxConns = readers
	if s.readers, err = pgxpool.NewWithConfig(ctx, pool); err != nil {
		return nil, errors.Join(fmt.Errorf("open event log in %s: %w", s.name, err), s.Close())
	}
	j, err := journal.Open(ctx, s, journal.Config{Logger: cfg.Logger, Now: cfg.Now})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return j, nil
}

func millis(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

// A store is the journal's backend.
type store struct {
	name string // for errors; no password
	ground
	log                *slog.Logger
	writing, listening *pgx.ConnConfig
	readers            *pgxpool.Pool

	writer *pgx.Conn // the committer's; nil after it broke
}

// connect makes the connection that appends, and the schema if need be.
func (s *store) connect(ctx context.Context) error {
	if s.writer != nil {
		return nil
	}
	c, err := pgx.ConnectConfig(ctx, s.writing)
	if err != nil {
		return err
	}
	if err = durable(ctx, c); err == nil {
		err = migrate(ctx, c, s.name, s.steps)
	}
	if err != nil {
		return errors.Join(err, c.Close(ctx))
	}
	s.writer = c
	return nil
}

// durable makes the session's commits durable, or refuses the server.
func durable(ctx context.Context, c *pgx.Conn) error {
	var fsync, encoding string
	err := c.QueryRow(ctx, "select current_setting('fsync'), current_setting('server_encoding')").Scan(&fsync, &encoding)
	switch {
	case err != nil:
		return err
	case fsync != "on":
		return fmt.Errorf("%w: the server runs with fsync=%s; set it to on", event.ErrNotDurable, fsync)
	case encoding != "UTF8":
		return fmt.Errorf("%w: the database is encoded in %s; create one in UTF8", event.ErrInvalid, encoding)
	}
	_, err = c.Exec(ctx, "select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'")
	return err
}

// Close implements journal.Backend.
func (s *store) Close() error {
	if s.readers != nil {
		s.readers.Close()
	}
	if s.writer == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), commitLimit)
	defer cancel()
	return s.writer.Close(ctx)
}

// explain makes what callers branch on out of the server's errors.
func explain(err error) error {
	var server *pgconn.PgError
	if errors.As(err, &server) && server.Code == "53100" { // disk_full
		return fmt.Errorf("%w (%w)", event.ErrFull, err)
	}
	return err
}
