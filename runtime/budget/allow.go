package budget

import (
	"fmt"
	"strings"

	"dure/inference"
)

// Call is a call of a model before it is made.
type Call struct {
	Agent string `json:"agent"`
	Role  string `json:"role"`
	// Most is the most that it is expected to take.
	Most Tokens `json:"most"`
}

// Unit is what a cap counts.
type Unit string

// Units.
const (
	InTokens Unit = "tokens"
	InMoney  Unit = "money" // Money's numbers
)

// Stop is a cap that a call does not fit under.
type Stop struct {
	// Cap is whose: "run", "cloud", "local", "role NAME" or "agent NAME".
	Cap  string `json:"cap"`
	Unit Unit   `json:"unit"`
	// Used is what answers took, Held what calls that go on may take, Next what this one
	// may take.
	Used  int64 `json:"used"`
	Held  int64 `json:"held"`
	Next  int64 `json:"next"`
	Limit int64 `json:"limit"`
}

func (s Stop) String() string {
	show := func(n int64) string {
		if s.Unit == InMoney {
			return Money(n).String()
		}
		return fmt.Sprintf("%d tokens", n)
	}
	text := fmt.Sprintf("the cap of %s is %s: %s are used", s.Cap, show(s.Limit), show(s.Used))
	if s.Held > 0 {
		text += fmt.Sprintf(", %s are held by calls that go on", show(s.Held))
	}
	return text + fmt.Sprintf(", and the next call may take %s", show(s.Next))
}

// Decision says whether a call may be made.
type Decision struct {
	Allowed bool
	// Wait says that the call may fit once calls that go on have ended. Without it a
	// person has to be asked.
	Wait  bool
	Stops []Stop
}

// Reason is the decision in words; empty where the call may be made.
func (d Decision) Reason() string {
	var all []string
	for _, s := range d.Stops {
		all = append(all, s.String())
	}
	return strings.Join(all, "; ")
}

// Allow says whether a call may be made now. It changes nothing.
func (s *State) Allow(c Call) Decision {
	rate := s.terms.Rates[c.Role]
	next := Account{Tokens: c.Most, Cost: rate.Of(c.Most)}
	caps := s.terms.Caps
	where, limit, spent, held := "cloud", caps.Cloud, s.spent.cloud, s.held.cloud
	if rate.Local {
		where, limit, spent, held = "local", caps.Local, s.spent.local, s.held.local
	}
	d := Decision{Wait: true}
	for _, l := range []struct {
		name        string
		cap         Cap
		spent, held Account
	}{
		{"run", caps.Run, s.spent.run(), s.held.run()},
		{where, limit, spent, held},
		{"role " + c.Role, caps.Roles[c.Role], s.spent.roles[c.Role], s.held.roles[c.Role]},
		{"agent " + c.Agent, caps.agent(c.Agent), s.spent.agents[c.Agent], s.held.agents[c.Agent]},
	} {
		d.under(Stop{l.name, InTokens, l.spent.All(), l.held.All(), next.All(), l.cap.Tokens})
		d.under(Stop{l.name, InMoney, int64(l.spent.Cost), int64(l.held.Cost), int64(next.Cost), int64(l.cap.Money)})
	}
	if d.Allowed = len(d.Stops) == 0; d.Allowed {
		d.Wait = false
	}
	return d
}

// under notes a cap that the call does not fit under. What is used up is so also for a
// call that may take nothing.
func (d *Decision) under(s Stop) {
	if s.Limit == 0 || s.Used < s.Limit && plus(plus(s.Used, s.Held), s.Next) <= s.Limit {
		return
	}
	d.Stops = append(d.Stops, s)
	if s.Used >= s.Limit || plus(s.Used, s.Next) > s.Limit {
		d.Wait = false
	}
}

// A Hold is what a call that goes on may take; whoever has it gives it back once.
type Hold struct {
	agent, role string
	local       bool
	account     Account
}

// Hold keeps room for a call that is made.
func (s *State) Hold(c Call) Hold {
	rate := s.terms.Rates[c.Role]
	h := Hold{c.Agent, c.Role, rate.Local, Account{Tokens: c.Most, Cost: rate.Of(c.Most), Calls: 1}}
	s.held.change(h.agent, h.role, h.local, h.account.plus)
	return h
}

// Release gives back what a call held that has ended.
func (s *State) Release(h Hold) {
	s.held.change(h.agent, h.role, h.local, func(a Account) Account { return a.minus(h.account) })
}

// Sizes of an estimate.
const (
	bytesPerToken    = 3 // fewer than usual in most languages, so that the estimate is high
	tokensPerMessage = 16
	unknownLongest   = 32 << 10
)

// Estimate is the most that a request is expected to take: of the prompt by its bytes,
// since no remote endpoint tells its tokens before, and none of it cached; of the answer
// what the request, or else the rate, allows.
func Estimate(req *inference.Request, r Rate) Tokens {
	return r.estimate(promptOf(req), answerOf(req, r))
}

// estimate is the dearer of two: all of the prompt is read, or put into the cache, too.
func (r Rate) estimate(prompt, answer int64) Tokens {
	t := Tokens{Uncached: prompt, Output: answer}
	if r.write() > r.Input {
		t.Written = prompt
	}
	return t
}

func promptOf(req *inference.Request) int64 {
	bytes := 0
	for _, m := range req.Messages {
		bytes += len(m.Content) + len(m.Reasoning) + len(m.Name)
		for _, c := range m.ToolCalls {
			bytes += len(c.ID) + len(c.Name) + len(c.Arguments)
		}
	}
	for _, t := range req.Tools {
		bytes += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	tokens := bytes/bytesPerToken + 1 + tokensPerMessage*(len(req.Messages)+len(req.Tools))
	if p := req.Prompt; p != nil {
		tokens += len(p.Text)/bytesPerToken + len(p.Tokens)
	}
	return int64(tokens)
}

func answerOf(req *inference.Request, r Rate) int64 {
	switch {
	case req.Params.MaxTokens > 0:
		return int64(req.Params.MaxTokens)
	case r.Longest > 0:
		return r.Longest
	}
	return unknownLongest
}
