package budget

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"dure/runtime/event"
)

// Stream of the log that holds the terms.
const Stream = "budget"

// Rate is what the model of a role is, and costs.
type Rate struct {
	Price
	Model string `json:"model"`
	// Host of the endpoint; empty for a model that this machine loads itself.
	Host string `json:"host,omitempty"`
	// Local says that the endpoint is one's own.
	Local bool `json:"local,omitempty"`
	// Longest is the most tokens of one answer, for calls that do not say; 0 is unknown.
	Longest int64 `json:"longest,omitempty"`
}

// Cap is a ceiling; a number of 0 is none.
type Cap struct {
	Tokens int64 `json:"tokens,omitempty"`
	Money  Money `json:"money,omitempty"`
}

// Caps are all ceilings of a run.
type Caps struct {
	Run Cap `json:"run,omitzero"`
	// Cloud and Local are for models that are not, and that are, one's own.
	Cloud Cap            `json:"cloud,omitzero"`
	Local Cap            `json:"local,omitzero"`
	Roles map[string]Cap `json:"roles,omitempty"`
	// Agent is for each agent that Agents does not name.
	Agent  Cap            `json:"agent,omitzero"`
	Agents map[string]Cap `json:"agents,omitempty"`
}

func (c Caps) agent(name string) Cap {
	if own, ok := c.Agents[name]; ok {
		return own
	}
	return c.Agent
}

// Terms is the payload of budget.set: what is in force from then on.
type Terms struct {
	Rates map[string]Rate `json:"rates,omitempty"` // by role
	Caps  Caps            `json:"caps,omitzero"`
}

// Registry knows this package's events.
var Registry = event.NewRegistry()

// Events are the types of this package's events.
var Events = struct{ Set event.Type[Terms] }{event.MustRegister[Terms](Registry, "budget.set", 1)}

// ErrTerms is that terms cannot be meant.
var ErrTerms = errors.New("budget: these terms cannot be meant")

// maxRate is a million dollars per million tokens.
const maxRate = 1e12

// Check finds what cannot be meant.
func (t Terms) Check() error {
	for _, role := range slices.Sorted(maps.Keys(t.Rates)) {
		r := t.Rates[role]
		for _, p := range []int64{r.Input, r.Cached, r.Output, r.Write} {
			if p < 0 || p > maxRate {
				return fmt.Errorf("%w: the role %s has a price of %d millionths of a dollar per million tokens", ErrTerms, role, p)
			}
		}
		if r.Longest < 0 {
			return fmt.Errorf("%w: the role %s has answers of %d tokens", ErrTerms, role, r.Longest)
		}
	}
	return t.Caps.check()
}

func (c Caps) check() error {
	all := map[string]Cap{"run": c.Run, "cloud": c.Cloud, "local": c.Local, "agent": c.Agent}
	for name, limit := range c.Roles {
		all["role "+name] = limit
	}
	for name, limit := range c.Agents {
		all["agent "+name] = limit
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if limit := all[name]; limit.Tokens < 0 || limit.Money < 0 {
			return fmt.Errorf("%w: the cap of %s is negative", ErrTerms, name)
		}
	}
	return nil
}
