package swarm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dure/inference"
)

// SwapShape is a server that has room for one of two models, and sessions that want
// both all the time.
type SwapShape struct {
	Models   [2]string `json:"models"`
	Swaps    int       `json:"swaps"` // loads under load
	Timed    int       `json:"timed"` // loads of the first model, timed without load
	Sessions int       `json:"sessions"`
	Turns    int       `json:"turns"` // after which a session starts anew
	Output   int       `json:"output_tokens"`
	Words    int       `json:"words"` // of each question
	Seed     uint64    `json:"seed"`
}

// DefaultSwapShape is the one of the figures in the README.
func DefaultSwapShape(a, b string) SwapShape {
	return SwapShape{Models: [2]string{a, b}, Swaps: 200, Timed: 9, Sessions: 3, Turns: 6, Output: 8, Words: 24, Seed: 1}
}

// SwapReport tells what swaps cost, and what they lost.
type SwapReport struct {
	Shape SwapShape `json:"shape"`
	// Bare is a load into an empty pool, Swap one for which the other model leaves,
	// in milliseconds.
	Bare Spread `json:"bare_ms"`
	Swap Spread `json:"swap_ms"`
	// Loads under load, turns that were answered meanwhile, and those of them after
	// the first of their session; Quicker of these read again what was kept, because the
	// server took that for quicker than to fetch it, and Lost had to read again some of
	// what was read before.
	Loads     int `json:"loads"`
	Answered  int `json:"answered"`
	Continued int `json:"continued"`
	Quicker   int `json:"quicker"`
	Lost      int `json:"lost"`
	// Errors of turns; Example is the latest error or loss.
	Errors  int    `json:"errors"`
	Example string `json:"example,omitempty"`
}

// Ratio of the median swap to the median bare load.
func (r *SwapReport) Ratio() float64 { return ratio(r.Swap.P50, r.Bare.P50) }

// poolRow is what a server says of a model.
type poolRow struct {
	Name  string        `json:"name"`
	State string        `json:"state"`
	Stays time.Duration `json:"stays_ns"`
	Loads int           `json:"loads"`
}

func (e *Endpoint) pool(ctx context.Context, order string, body any) ([]poolRow, error) {
	method := http.MethodPost
	if order == "models" {
		method = http.MethodGet
	}
	var list struct{ Data []poolRow }
	err := e.call(ctx, method, e.base+"/dure/"+order, body, &list)
	return list.Data, err
}

// Swap measures loads, then has sessions of both models take turns until there were
// enough of them. progress, which may be nil, is told how many there were.
func Swap(ctx context.Context, e *Endpoint, s SwapShape, progress func(loads int)) (*SwapReport, error) {
	if s.Swaps < 0 || s.Timed < 1 || s.Sessions < 1 || s.Turns < 1 || s.Output < 1 || s.Words < 1 {
		return nil, errors.New("swap: sessions, turns, tokens and words must be positive")
	}
	r := &SwapReport{Shape: s}
	if err := r.time(ctx, e); err != nil {
		return nil, err
	}
	if progress == nil {
		progress = func(int) {}
	}
	return r, r.underLoad(ctx, e, progress)
}

// time loads the first model into an empty pool and in the place of the other, in
// turn.
func (r *SwapReport) time(ctx context.Context, e *Endpoint) error {
	var bare, swap []float64
	a, b := r.Shape.Models[0], r.Shape.Models[1]
	load := func(name string) (float64, error) {
		begin := time.Now()
		_, err := e.pool(ctx, "models/"+name+"/load", struct{}{})
		return milliseconds(time.Since(begin)), err
	}
	for range r.Shape.Timed {
		if _, err := e.pool(ctx, "pause", struct{}{}); err != nil {
			return fmt.Errorf("unload all: %w", err)
		}
		ms, err := load(a)
		if err != nil {
			return fmt.Errorf("load %s: %w", a, err)
		}
		bare = append(bare, ms)
		if _, err := load(b); err != nil {
			return fmt.Errorf("load %s: %w", b, err)
		}
		if err := e.settle(ctx); err != nil {
			return err
		}
		if ms, err = load(a); err != nil {
			return fmt.Errorf("load %s: %w", a, err)
		}
		swap = append(swap, ms)
	}
	r.Bare, r.Swap = NewSpread(bare), NewSpread(swap)
	return nil
}

// settle waits until every model may give way, and that there is but one.
func (e *Endpoint) settle(ctx context.Context) error {
	rows, err := e.pool(ctx, "models", nil)
	if err != nil {
		return err
	}
	var wait time.Duration
	loaded := 0
	for _, row := range rows {
		wait = max(wait, row.Stays)
		if row.State != "absent" {
			loaded++
		}
	}
	if loaded > 1 {
		return fmt.Errorf("%d models are loaded at once: the server must be started with --max-models 1", loaded)
	}
	if !sleep(ctx, wait) {
		return ctx.Err()
	}
	return nil
}

// underLoad has the sessions take turns.
func (r *SwapReport) underLoad(ctx context.Context, e *Endpoint, progress func(int)) error {
	begun, err := e.loads(ctx)
	if err != nil || r.Shape.Swaps == 0 {
		return err
	}
	w := &swapWork{e: e, r: r}
	var all sync.WaitGroup
	for i := range 2 * r.Shape.Sessions {
		all.Go(func() { w.session(ctx, i) })
	}
	for !w.stop.Load() {
		n, err := e.loads(ctx)
		if err != nil || ctx.Err() != nil {
			w.stop.Store(true)
			break
		}
		r.Loads = n - begun
		progress(r.Loads)
		if r.Loads >= r.Shape.Swaps {
			w.stop.Store(true)
		}
		sleep(ctx, 200*time.Millisecond)
	}
	all.Wait()
	return ctx.Err()
}

// loads is how many there were since the server started.
func (e *Endpoint) loads(ctx context.Context) (n int, err error) {
	rows, err := e.pool(ctx, "models", nil)
	for _, row := range rows {
		n += row.Loads
	}
	return n, err
}

type swapWork struct {
	e    *Endpoint
	r    *SwapReport
	stop atomic.Bool
	mu   sync.Mutex // of r
}

// opening is more tokens than open an answer: where a state is kept at the ends of
// messages only, so many of a prompt that was read may be read again.
const opening = 8

// session is one conversation after the other with one of the models.
func (w *swapWork) session(ctx context.Context, i int) {
	s := w.r.Shape
	for round := 0; !w.stop.Load() && ctx.Err() == nil; round++ {
		name := fmt.Sprintf("bench-swap-%d-%d-%d", s.Seed, i, round)
		var messages []inference.Message
		past := 0
		for turn := range s.Turns {
			if w.stop.Load() || ctx.Err() != nil {
				return
			}
			messages = append(messages, User(Text(s.Seed, fmt.Sprintf("%s %d", name, turn), s.Words))...)
			at := *w.e
			at.Model = s.Models[i%2]
			t := at.Chat(ctx, Ask{Messages: messages, Output: s.Output, Caller: inference.Caller{Session: name, Next: inference.PhaseWaiting}}, nil)
			if ctx.Err() != nil {
				return
			}
			w.note(&t, at.Model, past)
			if !t.OK() {
				break
			}
			past = t.Prompt
			messages = append(messages, inference.Message{Role: inference.RoleAssistant, Content: strings.TrimSpace(t.Text)})
		}
	}
}

func (w *swapWork) note(t *Turn, model string, past int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !t.OK() {
		w.r.Errors++
		w.r.Example = t.Err.Error()
		return
	}
	w.r.Answered++
	if past > 0 {
		w.r.Continued++
		switch {
		case t.Read <= t.Prompt-past+opening:
		case t.Reason == "slow":
			w.r.Quicker++
		default:
			w.r.Lost++
			w.r.Example = fmt.Sprintf("%s: %d of %d tokens were read again, %d had been read before (%s)", model, t.Read, t.Prompt, past, t.Reason)
		}
	}
}
