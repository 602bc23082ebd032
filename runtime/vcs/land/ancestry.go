package land

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"dure/runtime/vcs"
	"dure/runtime/vcs/object"
)

// ancestry knows every commit that main holds, and since when. It takes about 80
// bytes a commit, and spares walking the history for each landing.
type ancestry struct {
	mu    sync.RWMutex // the loop writes; whoever prepares a landing reads
	since map[object.ID]place
	tips  int32
}

// A place is when a commit came to main. Of commits that main itself stood at
// (tip), all that came with or before them are ancestors. seen is the newest of
// these that is an ancestor of the commit.
type place struct {
	number, seen int32
	tip          bool
}

// loadAncestry walks all of main's history.
func loadAncestry(ctx context.Context, r vcs.Reader, main object.ID) (*ancestry, error) {
	a := &ancestry{since: map[object.ID]place{}}
	var chain []object.ID
	parents := map[object.ID][]object.ID{}
	for id := main; !id.IsZero(); {
		c, err := r.Commit(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("read the history of main: %w", err)
		}
		chain = append(chain, id)
		parents[id] = c.Parents
		id = object.Zero
		if len(c.Parents) > 0 {
			id = c.Parents[0]
		}
	}
	for i := len(chain) - 1; i >= 0; i-- {
		more := append([]object.ID(nil), parents[chain[i]]...)
		var came []object.ID
		newest := int32(0)
		seen := map[object.ID]bool{}
		for len(more) > 0 {
			id := more[len(more)-1]
			more = more[:len(more)-1]
			if p, known := a.since[id]; known {
				newest = max(newest, p.seen)
				continue
			}
			if seen[id] {
				continue
			}
			seen[id] = true
			came = append(came, id)
			c, err := r.Commit(ctx, id)
			if err != nil {
				return nil, fmt.Errorf("read the history of main: %w", err)
			}
			more = append(more, c.Parents...)
		}
		a.add(chain[i], came, newest)
	}
	return a, nil
}

// add notes that main stands at tip, and has these commits new besides, of which
// the last has seen main as it was at a number.
func (a *ancestry) add(tip object.ID, came []object.ID, seen int32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tips++
	for _, id := range came {
		a.since[id] = place{number: a.tips, seen: seen}
	}
	a.since[tip] = place{number: a.tips, seen: a.tips, tip: true}
}

func (a *ancestry) find(id object.ID) (place, bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	p, ok := a.since[id]
	return p, ok
}

// A descent is how a commit hangs on main.
type descent struct {
	bases []object.ID // where it left main; more than one: several times, crosswise
	seen  int32       // the newest state of main that the commit knows
	news  []object.ID // the commit and its ancestors that main has not got
}

// mostNews bounds the commits of one landing.
const mostNews = 100_000

// descent walks from a commit to main.
func (a *ancestry) descent(ctx context.Context, r vcs.Reader, commit object.ID) (descent, error) {
	var d descent
	met := map[object.ID]place{}
	seen := map[object.ID]bool{commit: true}
	more := []object.ID{commit}
	for len(more) > 0 {
		id := more[len(more)-1]
		more = more[:len(more)-1]
		if p, ok := a.find(id); ok {
			met[id] = p
			continue
		}
		if d.news = append(d.news, id); len(d.news) > mostNews {
			return d, fmt.Errorf("%w: more than %d commits that main has not got", ErrInvalid, mostNews)
		}
		c, err := r.Commit(ctx, id)
		if err != nil {
			return d, err
		}
		for _, p := range c.Parents {
			if !seen[p] {
				seen[p] = true
				more = append(more, p)
			}
		}
	}
	for _, p := range met {
		d.seen = max(d.seen, p.seen)
	}
	d.bases = reduce(met)
	return d, nil
}

// reduce leaves out what is an ancestor of a place of main itself. The newest
// place comes first.
func reduce(met map[object.ID]place) []object.ID {
	var bases []object.ID
	at := int32(0)
	for id, p := range met {
		if p.tip && p.number > at {
			bases, at = []object.ID{id}, p.number
		}
	}
	for id, p := range met {
		if p.number > at {
			bases = append(bases, id)
		}
	}
	slices.SortFunc(bases, func(a, b object.ID) int {
		return cmp.Or(int(met[b].number-met[a].number), a.Compare(b))
	})
	return bases
}
