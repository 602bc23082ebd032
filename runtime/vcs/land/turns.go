package land

import (
	"slices"
	"time"
)

// TurnPolicy says how losers of races for a path come to their right.
type TurnPolicy struct {
	// Backoff is the least time after which a first loser should come again; it
	// doubles with each loss, up to Most.
	Backoff, Most time.Duration
	// Hold is for how long a path waits for who lost twice; it doubles with each
	// further loss, up to MostHold.
	Hold, MostHold time.Duration
	// Forget is how long a loser is remembered that does not come again.
	Forget time.Duration
}

func (p *TurnPolicy) fill() {
	setDefault(&p.Backoff, 50*time.Millisecond)
	setDefault(&p.Most, 10*time.Second)
	setDefault(&p.Hold, 10*time.Second)
	setDefault(&p.MostHold, 5*time.Minute)
	setDefault(&p.Forget, 10*time.Minute)
}

func setDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// Turns decides who may land on a contended path, and when. A change that lost a
// race (it conflicted) is redone by its agent or a neutral one, while others go on
// landing on the path: it could lose for ever. So who lost twice gets the path to
// itself for a while: others wait, in their order, and no one spins. A claim is
// who asks: an agent, or for the settlement of a conflict that conflict's root.
//
// Pure: time comes in as an argument. It belongs to the landing job's goroutine.
type Turns struct {
	policy TurnPolicy
	paths  map[string]*turn
}

type turn struct {
	losers []loser // who lost here and has not landed since, oldest first
	holder string
	until  time.Time // of the hold
}

type loser struct {
	claim  string
	losses int
	last   time.Time
}

// NewTurns is without any losers.
func NewTurns(p TurnPolicy) *Turns {
	p.fill()
	return &Turns{policy: p, paths: map[string]*turn{}}
}

// Ask says whether a claim may land on paths now; if not, when to ask again.
func (t *Turns) Ask(now time.Time, claim string, paths []string) (until time.Time, wait bool) {
	for _, p := range paths {
		q := t.paths[p]
		if q == nil {
			continue
		}
		t.tidy(p, q, now)
		if q.holder != "" && q.holder != claim && q.until.After(until) {
			until, wait = q.until, true
		}
	}
	return until, wait
}

// Lost notes that a claim conflicted on paths, and says how long it should wait
// before it comes again.
func (t *Turns) Lost(now time.Time, claim string, paths []string) time.Duration {
	var wait time.Duration
	for _, p := range paths {
		q := t.paths[p]
		if q == nil {
			q = &turn{}
			t.paths[p] = q
		}
		i := q.find(claim)
		if i < 0 {
			i = len(q.losers)
			q.losers = append(q.losers, loser{claim: claim})
		}
		l := &q.losers[i]
		l.losses++
		l.last = now
		t.tidy(p, q, now)
		// Who is behind others comes later: they will be at it first.
		wait = max(wait, doubled(t.policy.Backoff, l.losses-1+i, t.policy.Most))
		if q.holder == claim {
			q.until = now.Add(t.hold(l.losses))
		}
	}
	return wait
}

// Landed notes that a claim is done with paths.
func (t *Turns) Landed(now time.Time, claim string, paths []string) {
	for _, p := range paths {
		q := t.paths[p]
		if q == nil {
			continue
		}
		if i := q.find(claim); i >= 0 {
			q.losers = slices.Delete(q.losers, i, i+1)
		}
		if q.holder == claim {
			q.holder = ""
		}
		t.tidy(p, q, now)
	}
}

// Next is when the first hold ends.
func (t *Turns) Next() (at time.Time, any bool) {
	for _, q := range t.paths {
		if q.holder != "" && (!any || q.until.Before(at)) {
			at, any = q.until, true
		}
	}
	return at, any
}

// tidy ends a hold that is over, forgets who does not come again, and gives the
// path to the first who lost twice.
func (t *Turns) tidy(path string, q *turn, now time.Time) {
	if q.holder != "" && !now.Before(q.until) {
		// It had its time. Others in line come first now.
		if i := q.find(q.holder); i >= 0 {
			l := q.losers[i]
			q.losers = append(slices.Delete(q.losers, i, i+1), l)
			q.losers[len(q.losers)-1].losses = 1
		}
		q.holder = ""
	}
	q.losers = slices.DeleteFunc(q.losers, func(l loser) bool {
		return now.Sub(l.last) > t.policy.Forget && l.claim != q.holder
	})
	if q.holder == "" {
		for _, l := range q.losers {
			if l.losses >= 2 {
				q.holder, q.until = l.claim, now.Add(t.hold(l.losses))
				break
			}
		}
	}
	if len(q.losers) == 0 {
		delete(t.paths, path)
		return
	}
	t.paths[path] = q
}

func (t *Turns) hold(losses int) time.Duration {
	return doubled(t.policy.Hold, losses-2, t.policy.MostHold)
}

func (q *turn) find(claim string) int {
	return slices.IndexFunc(q.losers, func(l loser) bool { return l.claim == claim })
}

// doubled is d, doubled so many times, at most most.
func doubled(d time.Duration, times int, most time.Duration) time.Duration {
	for ; times > 0 && d < most; times-- {
		d *= 2
	}
	return min(d, most)
}
