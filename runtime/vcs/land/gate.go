package land

import (
	"context"
	"sync/atomic"
)

// A Gate refuses commits to blocked files. The store asks it (vcs.Options.Gate)
// from any goroutine; the landing job changes it. The zero Gate is open.
type Gate struct {
	blocked atomic.Pointer[map[string]Block]
}

// Allow is a BlockedError if a path is blocked for this agent.
func (g *Gate) Allow(_ context.Context, agent string, paths []string) error {
	blocked := g.blocked.Load()
	if blocked == nil || len(*blocked) == 0 {
		return nil
	}
	for _, p := range paths {
		if b, ok := (*blocked)[p]; ok && b.Splitter != agent {
			return &BlockedError{b}
		}
	}
	return nil
}

func (g *Gate) set(blocked map[string]Block) { g.blocked.Store(&blocked) }
