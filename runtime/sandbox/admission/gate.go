package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrClosed says that the gate was closed while somebody waited.
var ErrClosed = errors.New("no more sandboxes are given out")

// Gate is the loop that owns a Policy. Everything may be called from any goroutine.
type Gate struct {
	inbox chan func(*Policy, map[int64]chan error)
	done  chan struct{}
	once  sync.Once
	stop  chan struct{}
	ids   chan int64
}

// Open starts a gate.
func Open(budget Share) *Gate {
	g := &Gate{inbox: make(chan func(*Policy, map[int64]chan error)), done: make(chan struct{}), stop: make(chan struct{}), ids: make(chan int64)}
	go g.run(NewPolicy(budget))
	return g
}

// Close refuses all who wait. What was granted stays with who has it.
func (g *Gate) Close() {
	g.once.Do(func() { close(g.stop) })
	<-g.done
}

func (g *Gate) run(p *Policy) {
	defer close(g.done)
	waiting := map[int64]chan error{}
	next := int64(1)
	for {
		select {
		case do := <-g.inbox:
			do(p, waiting)
		case g.ids <- next:
			next++
		case <-g.stop:
			for _, w := range waiting {
				w <- ErrClosed // has room
			}
			return
		}
		for a, ok := p.Next(); ok; a, ok = p.Next() {
			waiting[a.ID] <- nil // has room
			delete(waiting, a.ID)
		}
	}
}

// Lease is a granted share.
type Lease struct {
	gate *Gate
	id   int64
	once sync.Once
}

// Release gives the share back. Releasing twice is no error.
func (l *Lease) Release() {
	l.once.Do(func() { l.gate.tell(func(p *Policy, _ map[int64]chan error) { p.Release(l.id) }) })
}

func (g *Gate) tell(do func(*Policy, map[int64]chan error)) bool {
	select {
	case g.inbox <- do:
		return true
	case <-g.done:
		return false
	}
}

// Acquire waits until a share is granted, or ctx is done.
func (g *Gate) Acquire(ctx context.Context, owner string, s Share) (*Lease, error) {
	var id int64
	select {
	case id = <-g.ids:
	case <-g.done:
		return nil, ErrClosed
	}
	granted := make(chan error, 2)
	asked := g.tell(func(p *Policy, waiting map[int64]chan error) {
		if err := p.Ask(Ask{id, owner, s}); err != nil {
			granted <- err
			return
		}
		waiting[id] = granted
	})
	if !asked {
		return nil, ErrClosed
	}
	lease := &Lease{gate: g, id: id}
	select {
	case err := <-granted:
		if err != nil {
			return nil, fmt.Errorf("ask for a sandbox: %w", err)
		}
		return lease, nil
	case <-ctx.Done():
		// It may have been granted meanwhile: either way it goes back.
		g.tell(func(p *Policy, waiting map[int64]chan error) {
			delete(waiting, id)
			p.Release(id)
		})
		return nil, ctx.Err()
	}
}

// State says how things stand.
func (g *Gate) State() (State, error) {
	reply := make(chan State, 1)
	if !g.tell(func(p *Policy, _ map[int64]chan error) { reply <- p.State() }) {
		return State{}, ErrClosed
	}
	return <-reply, nil
}
