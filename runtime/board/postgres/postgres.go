package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"dure/runtime/board"
	"dure/runtime/board/desk"
	"dure/runtime/event"
)

const (
	owners     = 4 // connections of the board itself
	slowReads  = 2 // slow statements that run at once
	slowWrites = 1
	// How long after its time the server itself ends a statement.
	timeoutAfter = 25 * time.Second
)

// A Config says where a board is and what it stands on.
type Config struct {
	URL    string           // of the database that the log is in, as a superuser
	Log    event.Log        // of package event/postgres, in the same database; stays the caller's
	Limits board.Limits     // zero: board.DefaultLimits
	Logger *slog.Logger     // nil: discard
	Now    func() time.Time // nil: time.Now
}

// Open opens a board, after what its tables lack of the log was applied. Errors:
// ErrUnguarded, event.ErrForeign, event.ErrNewer, board.ErrInvalid, board.ErrDamaged,
// or what the server says.
func Open(ctx context.Context, cfg Config) (*desk.Desk, error) {
	s, err := newStore(ctx, &cfg)
	if err != nil {
		return nil, fmt.Errorf("open board: %w", err)
	}
	d, err := desk.Open(ctx, s, desk.Config{Log: cfg.Log, Limits: cfg.Limits, Now: cfg.Now, Logger: cfg.Logger})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open board: %w", err), s.Close())
	}
	return d, nil
}

// Rebuild makes all tables anew from the log. Nobody may have the board open.
func Rebuild(ctx context.Context, cfg Config) error {
	s, err := newStore(ctx, &cfg)
	if err == nil {
		err = errors.Join(s.rebuild(ctx), s.Close())
	}
	if err != nil {
		return fmt.Errorf("rebuild board: %w", err)
	}
	return nil
}

// A store is the desk's backend.
type store struct {
	cfg    Config
	ground ground
	owner  *pgxpool.Pool
	over   *overseer

	writer                     *writer
	readers, slow, slowWriters *lane

	at       event.Sequence // where the tables were when they were opened
	sweeping chan struct{}  // capacity 1
	work     sync.WaitGroup // that goes on beside the calls

	mu     sync.Mutex
	tables map[string]*shape // replaced, never changed
	busy   map[slowTurn]bool
}

// A slowTurn is that of an agent's slow statement: each has one.
type slowTurn struct {
	lane  *lane
	agent string
}

func newStore(ctx context.Context, cfg *Config) (*store, error) {
	if cfg.Limits == (board.Limits{}) {
		cfg.Limits = board.DefaultLimits()
	}
	if err := cfg.Limits.Check(); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	pool, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, err
	}
	pool.MaxConns = owners
	// A server that was restarted is noticed before a connection to the old one is used.
	pool.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return true }
	pool.ConnConfig.RuntimeParams["application_name"] = "dure board"
	pool.ConnConfig.RuntimeParams["search_path"] = "pg_catalog"
	s := &store{cfg: *cfg, sweeping: make(chan struct{}, 1), busy: make(map[slowTurn]bool)}
	if s.owner, err = pgxpool.NewWithConfig(ctx, pool); err != nil {
		return nil, err
	}
	if err = s.open(ctx, pool.ConnConfig); err != nil {
		s.owner.Close()
		return nil, err
	}
	return s, nil
}

func (s *store) open(ctx context.Context, conn *pgx.ConnConfig) error {
	err := s.owner.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		var err error
		s.ground, err = settle(ctx, c.Conn())
		return err
	})
	if err != nil {
		return err
	}
	if err := s.sameLog(ctx); err != nil {
		return err
	}
	if s.at, err = s.catchUp(ctx); err != nil {
		return err
	}
	if err := s.reload(ctx); err != nil {
		return err
	}
	s.lanes(conn)
	s.over = newOverseer(s.cfg.Now, s.cfg.Limits.Heap)
	return s.greet(ctx)
}

// lanes readies the sessions. Messages are bounded so that no row makes the gateway
// grow: a row of a result, or a row before and after with every character escaped.
func (s *store) lanes(conn *pgx.ConnConfig) {
	l := s.cfg.Limits
	agents := conn.Config.Copy()
	agents.User, agents.Password = s.ground.agent, s.ground.password()
	agents.Fallbacks = nil
	agents.RuntimeParams = map[string]string{
		"application_name": "dure agents",
		// The gateway ends statements; this is for when it cannot.
		"statement_timeout": fmt.Sprint((l.Time + timeoutAfter).Milliseconds()),
	}
	agents.ConnectTimeout = dialLimit
	most := max(l.Result, 8*l.Value)
	grouped := agents.Copy()
	grouped.RuntimeParams["lock_timeout"] = lockPatience
	dialAs := func(cfg *pgconn.Config) func(context.Context) (*session, error) {
		return func(ctx context.Context) (*session, error) { return dial(ctx, cfg, most) }
	}
	s.readers = newLane(l.Connections, l.Queue, dialAs(agents))
	s.slow = newLane(slowReads, l.Queue, dialAs(agents))
	s.slowWriters = newLane(slowWrites, l.Queue, dialAs(agents))
	s.writer = newWriter(s, newLane(1, l.Queue, dialAs(grouped)))
}

// greet makes the first session of agents, so that a server that does not let their
// role in is found now.
func (s *store) greet(ctx context.Context) error {
	sess, err := s.readers.take(ctx)
	if err != nil {
		s.over.close()
		return fmt.Errorf("%w: let the role %s in with its password (pg_hba.conf: scram-sha-256 or trust)", err, s.ground.agent)
	}
	if !sess.seen {
		s.cfg.Logger.Warn("the memory of agents' statements is not bounded: the database is on another machine; bound it there", "limit", s.cfg.Limits.Heap)
	}
	s.readers.put(sess)
	go s.writer.loop()
	return nil
}

// sameLog makes sure that the log is that of this database.
func (s *store) sameLog(ctx context.Context) error {
	here := func() (n int64, err error) {
		err = s.owner.QueryRow(ctx, "select position from dure_event.head").Scan(&n)
		return n, err
	}
	low, err := here()
	if err != nil {
		return err
	}
	head, err := s.cfg.Log.Head(ctx)
	if err != nil {
		return err
	}
	high, err := here()
	if err != nil {
		return err
	}
	if int64(head) < low || int64(head) > high {
		return fmt.Errorf("%w: the log ends at %d, that of the board's database at %d; open both in one database", board.ErrInvalid, head, high)
	}
	return nil
}

// reload reads the tables anew.
func (s *store) reload(ctx context.Context) error {
	all, err := loadTables(ctx, s.owner)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables = all
	return nil
}

func (s *store) shapes() map[string]*shape {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tables
}

// known are those of the names that are tables of agents.
func (s *store) known(names []string) []string {
	all := s.shapes()
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return all[n] == nil })
}

// hasPlace reports whether an agent's slow statement would not wait for its turn.
func (s *store) hasPlace(agent string, l *lane) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.busy[slowTurn{l, agent}] && len(l.free)+len(l.slots) > 0
}

// markSlow gives an agent its turn among the slow, if it has none there.
func (s *store) markSlow(agent string, l *lane) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[slowTurn{l, agent}] {
		return false
	}
	s.busy[slowTurn{l, agent}] = true
	return true
}

func (s *store) unmarkSlow(agent string, l *lane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, slowTurn{l, agent})
}

// Close implements desk.Backend.
func (s *store) Close() error {
	s.writer.close()
	s.work.Wait()
	for _, l := range []*lane{s.readers, s.slow, s.slowWriters, s.writer.lane} {
		l.close()
	}
	s.over.close()
	s.owner.Close()
	return nil
}
