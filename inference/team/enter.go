package team

import (
	"container/list"
	"context"
	"slices"
	"time"

	"dure/inference"
)

// key of a context's run.
type key struct{}

// Enter notes a request until leave is called, which may be done more than once.
// The context that it returns ends when the request is stopped, with an
// agent_stopped error as its cause ([context.Cause]). A request without an agent,
// or whose context has entered already, gets its own context back.
//
// A surface enters a request as soon as it knows its caller, so that a stop also
// reaches one that waits for a load; all others leave it to [Team.Model]. The
// error is an *inference.Error.
func (t *Team) Enter(ctx context.Context, c inference.Caller) (_ context.Context, leave func(), _ error) {
	if c.Agent == "" || runOf(ctx, t) != nil {
		return ctx, func() {}, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire()
	a, err := t.join(c.Agent, c.Parent)
	if err != nil {
		return nil, nil, err
	}
	r := &run{team: t, agent: a}
	ctx, r.cancel = context.WithCancelCause(ctx)
	a.runs[r] = struct{}{}
	a.seen = t.now()
	t.settle(a)
	return context.WithValue(ctx, key{}, r), r.leave, nil
}

// runOf is the run that a context entered this table with; nil for none.
func runOf(ctx context.Context, t *Team) *run {
	if r, ok := ctx.Value(key{}).(*run); ok && r.team == t {
		return r
	}
	return nil
}

func (r *run) leave() {
	r.cancel(nil)
	t, a := r.team, r.agent
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := a.runs[r]; !ok {
		return
	}
	delete(a.runs, r)
	a.seen = t.now()
	t.settle(a)
}

// spent counts the tokens of an answer.
func (r *run) spent(u *inference.Usage) {
	r.team.mu.Lock()
	defer r.team.mu.Unlock()
	r.agent.tokens.prompt += u.PromptTokens
	r.agent.tokens.completion += u.CompletionTokens
}

// join finds or makes the row of an agent and, where a parent is named, that of
// the parent, and links them. The lock is held.
func (t *Team) join(id, parent string) (*agent, error) {
	if err := t.mayLink(id, parent); err != nil {
		return nil, err
	}
	a, p := t.agents[id], t.agents[parent]
	missing := 0
	if a == nil {
		missing++
	}
	if p == nil && parent != "" {
		missing++
	}
	if !t.room(missing, a, p) {
		return nil, crowded(t.limit)
	}
	if a == nil {
		a = t.add(id)
	}
	if parent == "" {
		return a, nil // what is known of its parent stands
	}
	if p == nil {
		p = t.add(parent)
	}
	t.link(a, p)
	return a, nil
}

// mayLink refuses a parent that is below its agent, that would stand under too
// many others, or that is not the one that the agent's running requests have.
func (t *Team) mayLink(id, parent string) error {
	refuse := func(format string, args ...any) error {
		e := inference.Errorf(inference.CodeInvalidRequest, format, args...)
		e.Param = "parent"
		e.Message = "parent: " + e.Message
		return e
	}
	if parent == "" {
		return nil
	}
	if parent == id {
		return refuse("the agent %q cannot be its own parent", id)
	}
	a := t.agents[id]
	if a != nil && len(a.runs) > 0 && a.parent != nil && a.parent.id != parent {
		return refuse("the agent %q runs under %q; it can move to %q only while it has no request", id, a.parent.id, parent)
	}
	depth := 1
	for above := t.agents[parent]; above != nil; above = above.parent {
		if depth++; above.id == id {
			return refuse("%q is below the agent %q and cannot be its parent: nobody would be above them", parent, id)
		}
	}
	if depth > MaxDepth {
		return refuse("%q stands %d agents deep; at most %d may stand above one another", parent, depth-1, MaxDepth)
	}
	return nil
}

func crowded(limit int) error {
	e := inference.Errorf(inference.CodeQueueFull,
		"all of the %d agents that can be known at once have requests or agents below them; try again later", limit)
	e.RetryAfter = time.Second
	return e
}

func (t *Team) add(id string) *agent {
	a := &agent{id: id, children: map[string]*agent{}, runs: map[*run]struct{}{}, seen: t.now()}
	t.agents[id] = a
	return a
}

// link puts a below p.
func (t *Team) link(a, p *agent) {
	if old := a.parent; old != p {
		a.parent = p
		p.children[a.id] = a
		if old != nil {
			delete(old.children, a.id)
			t.settle(old)
		}
	}
	t.settle(p)
}

// settle puts a row on the list of those that may be forgotten, at its end, if it
// belongs there, and takes it off if not.
func (t *Team) settle(a *agent) {
	if a.idle != nil {
		t.idle.Remove(a.idle)
		a.idle = nil
	}
	if len(a.runs) == 0 && len(a.children) == 0 {
		a.idleSince = t.now()
		a.idle = t.idle.PushBack(a)
	}
}

// room makes room for n rows without forgetting those that are needed, if it can.
func (t *Team) room(n int, needed ...*agent) bool {
	for len(t.agents)+n > t.limit {
		e := t.idle.Front()
		for e != nil && slices.Contains(needed, e.Value.(*agent)) {
			e = e.Next()
		}
		if e == nil {
			return false
		}
		t.forget(e)
	}
	return true
}

// expire forgets the agents that have been idle for long.
func (t *Team) expire() {
	now := t.now()
	for front := t.idle.Front(); front != nil; front = t.idle.Front() {
		if now.Sub(front.Value.(*agent).idleSince) < Keep {
			return
		}
		t.forget(front)
	}
}

func (t *Team) forget(e *list.Element) {
	a := t.idle.Remove(e).(*agent)
	a.idle = nil
	delete(t.agents, a.id)
	if p := a.parent; p != nil {
		delete(p.children, a.id)
		t.settle(p)
	}
}
