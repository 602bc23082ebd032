package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"dure/runtime/board"
)

// A Mix says who works how.
type Mix struct {
	Clients int
	Reads   float64 // for each write
	Hostile float64 // share of all calls
	Attacks []Attack
	Seed    uint64
	// Through is how a client reaches the board; nil: by its gateway.
	Through func(g board.Gateway) (Caller, error)
	// Pause is how long a client does nothing after a call, on average; 0: it calls
	// again at once.
	Pause time.Duration
}

// A Caller carries out calls of one client.
type Caller interface {
	Do(ctx context.Context, s board.Statement) (board.Result, error)
	Claim(ctx context.Context, c board.Claim) (board.Result, error)
}

// A Report is what was measured.
type Report struct {
	Seconds float64           `json:"seconds"`
	Calls   map[string]Timing `json:"calls"`   // by kind, and "all"
	Refused map[string]int    `json:"refused"` // by reason, hostile or not
	Escapes []string          `json:"escapes"` // names of attacks that were carried out
	Foreign int               `json:"foreign"` // rows stored under a wrong name
	Failed  []string          `json:"failed"`  // the first failures that are none of the above
}

// A Timing is how often and how long. The times are of calls that were carried out,
// refused ones of hostile calls included.
type Timing struct {
	N         int     `json:"n"`
	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50_ms"`
	P95       float64 `json:"p95_ms"`
	P99       float64 `json:"p99_ms"`
	Max       float64 `json:"max_ms"`
}

// maxFailed is how many failures a report says in words.
const maxFailed = 10

// Run lets the clients work for so long, and checks what they left.
func Run(ctx context.Context, b board.Board, m Mix, long time.Duration) (Report, error) {
	l, err := b.Join(ctx, board.Agent{Name: "lead", Role: board.Lead})
	if err != nil {
		return Report{}, err
	}
	if err := seed(ctx, l); err != nil {
		return Report{}, err
	}
	clients := make([]*client, m.Clients)
	for i := range clients {
		g, err := b.Join(ctx, agent(i))
		if err != nil {
			return Report{}, err
		}
		clients[i] = &client{mix: m, agent: g.Agent(), caller: g, rng: rand.New(rand.NewPCG(m.Seed, uint64(i))), took: make(map[string][]time.Duration),
			refused: make(map[string]int)}
		if m.Through != nil {
			if clients[i].caller, err = m.Through(g); err != nil {
				return Report{}, err
			}
		}
	}
	begun := time.Now()
	until, cancel := context.WithDeadline(ctx, begun.Add(long))
	defer cancel()
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(func() { c.work(ctx, until) })
	}
	wg.Wait()
	r := sum(clients, long)
	r.Foreign, err = foreign(ctx, l)
	return r, err
}

// seed makes what reads look at first.
func seed(ctx context.Context, l board.Gateway) error {
	for i := range 500 {
		s := board.Statement{SQL: "insert into subtasks (title) values ($1)", Args: []any{fmt.Sprint("by lead: part ", i)}}
		if i%50 == 0 {
			s.SQL = "insert into assign (body) values ($1)"
		}
		if _, err := l.Do(ctx, s); err != nil {
			return fmt.Errorf("seed: %w", err)
		}
	}
	return nil
}

// A client is one agent at work.
type client struct {
	mix    Mix
	agent  board.Agent
	caller Caller
	rng    *rand.Rand

	took    map[string][]time.Duration
	refused map[string]int
	escapes []string
	failed  []string
}

// work calls until a time is over. A call that has begun is waited for.
func (c *client) work(ctx, until context.Context) {
	for n := 0; ; n++ {
		if c.mix.Pause > 0 {
			pause := time.NewTimer(time.Duration(c.rng.ExpFloat64() * float64(c.mix.Pause)))
			select {
			case <-pause.C:
			case <-until.Done():
			}
			pause.Stop()
		}
		if until.Err() != nil {
			return
		}
		o := c.mix.choose(c.rng, c.agent.Name, n)
		begun := time.Now()
		err := c.call(ctx, o)
		took := time.Since(begun)
		c.note(o, took, err)
		if until.Err() != nil {
			// Ended after the time: not in the measure of throughput.
			c.took[o.kind] = c.took[o.kind][:len(c.took[o.kind])-1]
			return
		}
	}
}

func (c *client) call(ctx context.Context, o op) error {
	if o.kind == "claim" {
		_, err := c.caller.Claim(ctx, board.Claim{Table: board.Subtasks})
		return err
	}
	r, err := c.caller.Do(ctx, board.Statement{SQL: o.sql, Args: o.args})
	if o.kind == "hostile" && err == nil && r.Changed == 0 && len(r.Rows) == 0 {
		return errNothing
	}
	return err
}

// errNothing: an attack that met no row, which is no success.
var errNothing = errors.New("nothing was there")

func (c *client) note(o op, took time.Duration, err error) {
	c.took[o.kind] = append(c.took[o.kind], took)
	switch {
	case err == nil && o.kind == "hostile":
		c.escapes = append(c.escapes, o.name)
	case err == nil || errors.Is(err, errNothing):
	default:
		if kind, ok := board.KindOf(err); ok && (o.kind == "hostile" || kind == board.Limit) {
			c.refused[reason(err)]++
			return
		}
		c.failed = append(c.failed, fmt.Sprintf("%s: %s: %v", o.kind, o.sql, err))
	}
}

// reason is a refusal's in words.
func reason(err error) string {
	for _, e := range []error{board.ErrDenied, board.ErrStatement, board.ErrTime, board.ErrTooLarge, board.ErrQuota, board.ErrBusy, board.ErrDuplicate} {
		if errors.Is(err, e) {
			return e.Error()
		}
	}
	return err.Error()
}

func sum(clients []*client, long time.Duration) Report {
	r := Report{Seconds: long.Seconds(), Calls: make(map[string]Timing), Refused: make(map[string]int), Escapes: []string{}, Failed: []string{}}
	took := make(map[string][]time.Duration)
	for _, c := range clients {
		for kind, t := range c.took {
			took[kind] = append(took[kind], t...)
			took["all"] = append(took["all"], t...)
		}
		for why, n := range c.refused {
			r.Refused[why] += n
		}
		r.Escapes = append(r.Escapes, c.escapes...)
		r.Failed = append(r.Failed, c.failed[:min(len(c.failed), max(0, maxFailed-len(r.Failed)))]...)
	}
	for kind, t := range took {
		r.Calls[kind] = timing(t, long)
	}
	return r
}

func timing(took []time.Duration, long time.Duration) Timing {
	t := Timing{N: len(took), PerSecond: float64(len(took)) / long.Seconds()}
	if len(took) == 0 {
		return t
	}
	slices.Sort(took)
	at := func(share float64) float64 {
		return float64(took[min(len(took)-1, int(share*float64(len(took))))].Microseconds()) / 1000
	}
	t.P50, t.P95, t.P99, t.Max = at(0.50), at(0.95), at(0.99), at(1)
	return t
}

// foreign counts rows that say of themselves another writer than the one they are
// stored under.
func foreign(ctx context.Context, g board.Gateway) (int, error) {
	wrong := 0
	for _, sql := range []string{
		"select count(*) from notes where substr(body, 1, length(agent) + 4) <> 'by ' || agent || ':'",
		"select count(*) from announce where substr(body, 1, length(agent) + 4) <> 'by ' || agent || ':'",
		"select count(*) from subtasks where substr(title, 1, length(agent) + 4) <> 'by ' || agent || ':'",
	} {
		r, err := g.Do(ctx, board.Statement{SQL: sql})
		if err != nil {
			return 0, fmt.Errorf("check of what was stored: %w", err)
		}
		wrong += int(r.Rows[0][0].(int64))
	}
	return wrong, nil
}
