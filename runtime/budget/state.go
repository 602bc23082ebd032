package budget

import (
	"context"
	"fmt"
	"maps"

	"dure/inference"
	"dure/runtime/agent"
	"dure/runtime/event"
)

// Account is what was used.
type Account struct {
	Tokens
	Cost  Money `json:"cost"`
	Calls int64 `json:"calls"`
	// Unmetered are the calls whose answer told no usage, Unpriced those of a role that
	// had no price.
	Unmetered int64 `json:"unmetered,omitempty"`
	Unpriced  int64 `json:"unpriced,omitempty"`
}

func (a Account) plus(b Account) Account {
	return Account{a.Tokens.plus(b.Tokens), plus(a.Cost, b.Cost), a.Calls + b.Calls, a.Unmetered + b.Unmetered, a.Unpriced + b.Unpriced}
}

// minus gives back what was held.
func (a Account) minus(b Account) Account {
	a.Uncached, a.Cached, a.Output, a.Written = a.Uncached-b.Uncached, a.Cached-b.Cached, a.Output-b.Output, a.Written-b.Written
	a.Cost, a.Calls = a.Cost-b.Cost, a.Calls-b.Calls
	return a
}

// book has the accounts of everybody.
type book struct {
	cloud, local  Account
	roles, agents map[string]Account
}

func newBook() book { return book{roles: map[string]Account{}, agents: map[string]Account{}} }

func (b *book) change(agent, role string, local bool, f func(Account) Account) {
	if local {
		b.local = f(b.local)
	} else {
		b.cloud = f(b.cloud)
	}
	b.roles[role], b.agents[agent] = f(b.roles[role]), f(b.agents[agent])
}

func (b *book) run() Account { return b.cloud.plus(b.local) }

// who is the agent of a conversation, and what it is in it.
type who struct{ agent, role string }

// State is what the log adds up to, and what calls that go on hold. The zero State is
// of an empty log; it has one owner.
type State struct {
	terms   Terms
	streams map[string]who
	spent   book
	held    book
}

// NewState is the state before the first event.
func NewState() *State {
	return &State{streams: map[string]who{}, spent: newBook(), held: newBook()}
}

// Fold reads a whole log.
func Fold(ctx context.Context, log event.Log) (*State, error) {
	s := NewState()
	for e, err := range log.ReadAll(ctx, 1) {
		if err == nil {
			err = s.Apply(e)
		}
		if err != nil {
			return nil, fmt.Errorf("budget: %w", err)
		}
	}
	return s, nil
}

// Apply takes the next event of the log; those of other packages change nothing.
func (s *State) Apply(e event.Event) error {
	switch e.Type {
	case Events.Set.Name():
		t, err := Events.Set.Decode(e)
		if err == nil {
			err = s.Set(t)
		}
		return err
	case agent.Events.Born.Name():
		born, err := agent.Events.Born.Decode(e)
		if err != nil {
			return err
		}
		s.streams[e.Stream] = who{born.Name, born.Role}
	case agent.Events.Turned.Name():
		turned, err := agent.Events.Turned.Decode(e)
		if err != nil {
			return err
		}
		w, ok := s.streams[e.Stream]
		if !ok {
			return fmt.Errorf("%w: a turn at position %d of an agent that was not born", event.ErrDamaged, e.Position)
		}
		s.Count(w.agent, w.role, turned.Usage)
	}
	return nil
}

// Set puts terms in force. Errors: ErrTerms.
func (s *State) Set(t Terms) error {
	if err := t.Check(); err != nil {
		return err
	}
	s.terms = t
	return nil
}

// Terms are those in force. They are not to be changed.
func (s *State) Terms() Terms { return s.terms }

// Count adds an answer to the accounts.
func (s *State) Count(agent, role string, u inference.Usage) {
	rate, priced := s.terms.Rates[role]
	t := TokensOf(u)
	a := Account{Tokens: t, Cost: rate.Of(t), Calls: 1}
	if t.Uncached+t.Cached == 0 {
		a.Unmetered = 1 // there is no call without a prompt
	}
	if !priced {
		a.Unpriced = 1
	}
	s.spent.change(agent, role, rate.Local, a.plus)
}

// Run is what all have used.
func (s *State) Run() Account { return s.spent.run() }

// Role is what the agents of a role have used.
func (s *State) Role(name string) Account { return s.spent.roles[name] }

// Agent is what an agent has used, in all its conversations.
func (s *State) Agent(name string) Account { return s.spent.agents[name] }

// Report is all accounts, for people and programs.
type Report struct {
	Run Account `json:"run"`
	// Cloud is of models that are not one's own, Local of those that are.
	Cloud  Account            `json:"cloud"`
	Local  Account            `json:"local"`
	Roles  map[string]Account `json:"roles"`
	Agents map[string]Account `json:"agents"`
	Terms  Terms              `json:"terms"`
}

// Report is all accounts.
func (s *State) Report() Report {
	return Report{Run: s.Run(), Cloud: s.spent.cloud, Local: s.spent.local, Roles: maps.Clone(s.spent.roles), Agents: maps.Clone(s.spent.agents), Terms: s.terms}
}

// Share is how many of a thousand tokens of the run are a role's.
func (r Report) Share(role string) int64 {
	all := r.Run.All()
	if all == 0 {
		return 0
	}
	part := r.Roles[role].All()
	if part > (1<<63-1)/1000 {
		return part / (all / 1000)
	}
	return part * 1000 / all
}
