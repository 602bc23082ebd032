package desk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"dure/runtime/board"
	"dure/runtime/event"
)

// A Config says what a desk needs besides its backend.
type Config struct {
	Log    event.Log        // for the account; stays the caller's
	Limits board.Limits     // checked
	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: discard
}

// A Desk is a board.Board over a backend.
type Desk struct {
	backend Backend
	cfg     Config
	account *account
	bell    *bell

	stop    context.CancelFunc
	watched chan struct{}

	gate    sync.RWMutex // held for reading by every call
	closing chan struct{}
	once    sync.Once
	err     error // of Close

	mu      sync.Mutex
	members map[string]*member
}

var _ board.Board = (*Desk)(nil)

// Open makes a board. The backend is the desk's from here on, unless it fails.
func Open(ctx context.Context, b Backend, cfg Config) (*Desk, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	acc, err := openAccount(ctx, cfg.Log, cfg.Logger, sumEvery)
	if err != nil {
		return nil, fmt.Errorf("account: %w", err)
	}
	changed, err := b.Changed(ctx)
	if err != nil {
		acc.close()
		return nil, err
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	d := &Desk{backend: b, cfg: cfg, account: acc, bell: newBell(changed), stop: stop, watched: make(chan struct{}),
		closing: make(chan struct{}), members: make(map[string]*member)}
	go func() {
		defer close(d.watched)
		b.Watch(watching, d.bell.ring)
	}()
	return d, nil
}

// enter holds the board open until leave.
func (d *Desk) enter() error {
	d.gate.RLock()
	select {
	case <-d.closing:
		d.gate.RUnlock()
		return board.ErrClosed
	default:
		return nil
	}
}

func (d *Desk) leave() { d.gate.RUnlock() }

// Close implements board.Board.
func (d *Desk) Close() error {
	d.once.Do(func() {
		close(d.closing)
		d.gate.Lock() // those inside have left
		defer d.gate.Unlock()
		d.account.close()
		d.stop()
		<-d.watched
		if err := d.backend.Close(); err != nil {
			d.err = fmt.Errorf("close board: %w", err)
		}
	})
	return d.err
}

// Join implements board.Board.
func (d *Desk) Join(ctx context.Context, a board.Agent) (board.Gateway, error) {
	if err := a.Check(); err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	if err := d.enter(); err != nil {
		return nil, fmt.Errorf("join %s: %w", a.Name, err)
	}
	defer d.leave()
	if err := d.backend.Enter(ctx, a); err != nil {
		return nil, fmt.Errorf("join %s: %w", a.Name, err)
	}
	return &gateway{desk: d, agent: a, member: d.member(a.Name)}, nil
}

// member is what is kept of an agent, by whichever of its gateways it calls.
func (d *Desk) member(name string) *member {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.members[name]
	if m == nil {
		m = newMember(d.cfg.Limits)
		d.members[name] = m
	}
	return m
}

// Tables implements board.Board.
func (d *Desk) Tables(ctx context.Context) ([]board.Table, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	return d.backend.Tables(ctx)
}

// Counts implements board.Board.
func (d *Desk) Counts(ctx context.Context) ([]board.Count, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	written, err := d.backend.Written(ctx)
	if err != nil {
		return nil, fmt.Errorf("counts: %w", err)
	}
	counted, err := d.account.counts(ctx)
	if err != nil {
		return nil, fmt.Errorf("counts: %w", err)
	}
	return board.Sum(slices.Concat(written, counted)), nil
}

// Dump implements board.Board.
func (d *Desk) Dump(ctx context.Context, w io.Writer) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	if err := d.backend.Dump(ctx, w); err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	return nil
}

// counted reports what a call came to: its uses, or what its failure counts as.
func counted(agent string, done Done, err error) []board.Use {
	if err == nil {
		if done.Logged {
			return nil
		}
		if len(done.Uses) == 0 { // a statement about no table at all
			return []board.Use{{Agent: agent, Kind: board.Read}}
		}
		return done.Uses
	}
	kind, ok := board.KindOf(err)
	if !ok {
		return nil
	}
	var r *board.Refusal
	if !errors.As(err, &r) || len(r.Tables) == 0 {
		return []board.Use{{Agent: agent, Kind: kind}}
	}
	uses := make([]board.Use, len(r.Tables))
	for i, t := range r.Tables {
		uses[i] = board.Use{Agent: agent, Table: t, Kind: kind}
	}
	return uses
}
