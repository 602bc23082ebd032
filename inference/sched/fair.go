package sched

import "math"

// Fairness among agents: each has an account of the tokens that were read and
// generated for it, and of one class the agent with the least goes first. An
// agent that comes, or comes back, starts at the least of those that are busy:
// what it did not use while it was away is gone (start-time fair queueing). What
// an agent is ahead of the others halves every halfLife, so that a long night's
// work is forgiven.
const (
	halfLife  = 60 * second
	decayStep = halfLife / 4
)

type account struct {
	agent   uint64
	service float64 // tokens
	alive   int     // requests; 0 = it is away
}

type accounts struct {
	byAgent map[uint64]*account
	busy    []*account // those alive, in no order
	floor   float64    // least service of the busy; never falls
	decayed Tick
}

func newAccounts() accounts {
	return accounts{byAgent: map[uint64]*account{}, decayed: math.MinInt64}
}

// open finds or makes the account of an agent for one more request.
func (a *accounts) open(agent uint64) *account {
	var c *account
	if agent != 0 {
		c = a.byAgent[agent]
	}
	if c == nil {
		c = &account{agent: agent}
		if agent != 0 {
			a.byAgent[agent] = c
		}
	}
	if c.alive == 0 {
		a.lift()
		c.service = max(c.service, a.floor)
		a.busy = append(a.busy, c)
	}
	c.alive++
	return c
}

// charge an agent with tokens of one of its requests.
func (r *request) charge(tokens int) {
	r.account.service += float64(tokens)
	r.charged += float64(tokens)
}

// tag is what orders the requests of a class: the service of the agent, without
// that of the request itself. A parked request would else come after all
// newcomers, though what it was served is lost if it never ends.
func (a *accounts) tag(r *request) float64 {
	return max(r.account.service-r.charged, a.floor)
}

// close ends one request of an account.
func (a *accounts) close(c *account) {
	if c.alive--; c.alive > 0 {
		return
	}
	for i, b := range a.busy {
		if b == c {
			last := len(a.busy) - 1
			a.busy[i], a.busy[last] = a.busy[last], nil
			a.busy = a.busy[:last]
			break
		}
	}
}

func (a *accounts) lift() {
	if len(a.busy) == 0 {
		return
	}
	least := math.Inf(1)
	for _, b := range a.busy {
		least = min(least, b.service)
	}
	a.floor = max(a.floor, least)
}

// decay forgives, and forgets the agents that are away and ahead of nobody.
func (a *accounts) decay(now Tick) {
	if a.decayed == math.MinInt64 {
		a.decayed = now
	}
	steps := (now - a.decayed) / decayStep
	if steps < 1 {
		return
	}
	a.decayed += steps * decayStep
	a.lift()
	keep := math.Exp2(-float64(steps) * float64(decayStep) / float64(halfLife))
	for _, b := range a.busy {
		b.service = a.floor + (b.service-a.floor)*keep
	}
	for id, c := range a.byAgent {
		if c.alive > 0 {
			continue
		}
		if c.service = a.floor + (c.service-a.floor)*keep; c.service < a.floor+1 {
			delete(a.byAgent, id)
		}
	}
}
