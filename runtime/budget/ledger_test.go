package budget_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dure/inference"
	"dure/runtime/agent"
	"dure/runtime/budget"
	"dure/runtime/event"
	"dure/runtime/event/sqlite"
	"dure/runtime/gate"
	"dure/runtime/tool"
)

func openLog(t testing.TB) event.Log {
	t.Helper()
	log, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log
}

// person notes what was asked.
type person struct {
	mu    sync.Mutex
	stops []budget.Stop
	err   error
	asked chan struct{} // one for each time, where it is not nil
}

func (p *person) Ask(_ context.Context, stops []budget.Stop) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stops = append(p.stops, stops...)
	if p.asked != nil {
		p.asked <- struct{}{}
	}
	return p.err
}

func openLedger(t testing.TB, log event.Log, ask budget.Asker, terms budget.Terms) *budget.Ledger {
	t.Helper()
	l, err := budget.Open(t.Context(), log, ask)
	if err == nil {
		err = l.Set(t.Context(), terms)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// scripted reports a usage made of the agent's name and turn, and keeps account of what
// it reported.
type scripted struct {
	turns map[string]int // of each agent, until it says that it is done
	mu    sync.Mutex
	told  map[string]budget.Tokens
	usage func(agent string, turn int) inference.Usage
}

func (s *scripted) Info() inference.Info { return inference.Info{Name: "script"} }

func (s *scripted) Generate(_ context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		turn := 1
		for _, m := range req.Messages {
			if m.Role == inference.RoleAssistant {
				turn++
			}
		}
		name := req.Caller.Agent
		u := s.usage(name, turn)
		s.mu.Lock()
		n := s.told[name]
		s.told[name] = budget.Tokens{Uncached: n.Uncached + int64(u.PromptTokens-u.CachedTokens), Cached: n.Cached + int64(u.CachedTokens), Output: n.Output + int64(u.CompletionTokens)}
		s.mu.Unlock()
		called := "look"
		if turn >= s.turns[name] {
			called = "done"
		}
		_ = yield(inference.Event{Kind: inference.EventStarted}, nil) &&
			yield(inference.Event{Kind: inference.EventToolCall, Call: &inference.ToolCallDelta{ID: "c", Name: called, Arguments: `{"text":"x"}`}}, nil) &&
			yield(inference.Event{Kind: inference.EventDone, Finish: inference.FinishToolCalls, Usage: &u}, nil)
	}
}

// named is a tool that does nothing.
type named string

func (n named) Spec() tool.Spec {
	return tool.Spec{Name: string(n), Fields: []tool.Field{{Name: "text", Required: true}}}
}

func (n named) Run(context.Context, tool.Call) (tool.Result, error) {
	return tool.Result{Outcome: tool.Done, Output: "ok"}, nil
}

type allow struct{}

func (allow) Judge(context.Context, tool.Call) (tool.Verdict, error) {
	return tool.Verdict{Decision: tool.Allow, By: "rules"}, nil
}

// work runs an agent to its end.
func work(t testing.TB, log event.Log, m inference.Model, name, role string) error {
	t.Helper()
	g, err := gate.Open(t.Context(), log)
	if err != nil {
		return err
	}
	a := &agent.Agent{
		Born:  agent.Born{Name: name, Role: role, System: "You work.", Task: "Build it.", Finish: "done"},
		Model: m, Log: log, MaxTurns: 1000, Wait: func(context.Context, time.Duration) error { return nil },
		Guard: &tool.Guard{Tools: []tool.Tool{named("look"), named("done")}, Judge: allow{}, Patience: time.Minute, Gate: g, Log: log, Now: time.Now},
	}
	end, err := a.Run(t.Context())
	if err == nil && end.Outcome != agent.Done {
		err = fmt.Errorf("%s ended as %s", name, end.Outcome)
	}
	return err
}

// team is a lead that plans, a planner, and workers, as the mixed run of the seed had
// them: few and dear turns at the top, many cheap ones below.
func team(workers, turns int) (*scripted, map[string]string) {
	roles := map[string]string{"noether": "lead", "gauss": "planner"}
	m := &scripted{turns: map[string]int{"noether": 4, "gauss": 8}, told: map[string]budget.Tokens{}}
	for i := range workers {
		name := fmt.Sprintf("abel%c", 'a'+i)
		roles[name], m.turns[name] = "worker", turns
	}
	m.usage = func(name string, turn int) inference.Usage {
		prompt, grows, output := 6000, 2500, 1301
		if roles[name] == "worker" {
			prompt, grows, output = 3000, 911, 407
		}
		u := inference.Usage{PromptTokens: prompt + grows*(turn-1) + len(name), CompletionTokens: output + turn}
		if turn > 1 {
			u.CachedTokens = prompt + grows*(turn-2)
		}
		return u
	}
	return m, roles
}

// Row 54, E1: what agents used is what the model reported, to the token, from the log
// alone and while they run; and with workers that work as much as the seed's did, their
// share of the tokens is the seed's while the planners cost most of the money.
func TestAccountsEqualTheModels(t *testing.T) {
	for _, tc := range []struct {
		name           string
		workers, turns int
		low, high      int64 // of a thousand tokens
	}{{"few workers", 7, 9, 690, 750}, {"many workers", 12, 12, 850, 900}} {
		t.Run(tc.name, func(t *testing.T) {
			log := openLog(t)
			m, roles := team(tc.workers, tc.turns)
			rates := maps.Clone(rates)
			rates["worker"] = budget.Rate{Price: budget.Price{Input: 5e5, Cached: 5e4, Output: 15e5}, Model: "small", Local: true}
			l := openLedger(t, log, &person{}, budget.Terms{Rates: rates})
			var all sync.WaitGroup
			errs := make(chan error, len(roles))
			for name, role := range roles {
				all.Go(func() { errs <- work(t, log, l.Model(m, role), name, role) })
			}
			all.Wait()
			close(errs)
			for err := range errs {
				if err != nil {
					t.Fatal(err)
				}
			}
			state, err := budget.Fold(t.Context(), log)
			if err != nil {
				t.Fatal(err)
			}
			got := state.Report()
			if d := cmp.Diff(got, l.Report()); d != "" || l.Broken() != 0 {
				t.Errorf("the log and the ledger differ: %s", d)
			}
			var sum budget.Tokens
			byRole := map[string]budget.Tokens{}
			add := func(a, b budget.Tokens) budget.Tokens {
				return budget.Tokens{Uncached: a.Uncached + b.Uncached, Cached: a.Cached + b.Cached, Output: a.Output + b.Output}
			}
			for name, told := range m.told {
				a := got.Agents[name]
				if a.Tokens != told || a.Cost != rates[roles[name]].Of(told) || a.Calls != int64(m.turns[name]) {
					t.Errorf("%s: %+v, the model told %+v", name, a, told)
				}
				sum, byRole[roles[name]] = add(sum, told), add(byRole[roles[name]], told)
			}
			for role, told := range byRole {
				if a := got.Roles[role]; a.Tokens != told || a.Cost != rates[role].Of(told) {
					t.Errorf("%s: %+v, the model told %+v", role, a, told)
				}
			}
			if got.Run.Tokens != sum || len(got.Agents) != len(roles) || got.Run.Cost != got.Cloud.Cost+got.Local.Cost {
				t.Errorf("run: %+v, the model told %+v", got.Run, sum)
			}
			share := got.Share("worker")
			if dear := got.Cloud.Cost * 100 / got.Run.Cost; share < tc.low || share > tc.high || dear < 60 || dear > 80 {
				t.Errorf("workers have %d of 1000 tokens, planners %d %% of the money", share, dear)
			}
			t.Logf("workers: %d of 1000 tokens; cloud %v, local %v", share, got.Cloud.Cost, got.Local.Cost)
		})
	}
}

// answerer answers once it may, with as much as was estimated.
type answerer struct {
	free  chan struct{}
	check func()
	fail  error
	mu    sync.Mutex
	asked int
}

func (a *answerer) Info() inference.Info { return inference.Info{} }

func (a *answerer) Generate(_ context.Context, req *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		a.mu.Lock()
		a.asked++
		a.mu.Unlock()
		if a.free != nil {
			<-a.free
		}
		if a.check != nil {
			a.check()
		}
		if a.fail != nil {
			yield(inference.Event{}, a.fail)
			return
		}
		n := budget.Estimate(req, budget.Rate{})
		_ = yield(inference.Event{Kind: inference.EventStarted}, nil) &&
			yield(inference.Event{Kind: inference.EventDone, Finish: inference.FinishStop, Usage: &inference.Usage{PromptTokens: int(n.Uncached), CompletionTokens: int(n.Output)}}, nil)
	}
}

func ask(ctx context.Context, m inference.Model, name string) error {
	for _, err := range m.Generate(ctx, request(name)) {
		if err != nil {
			return err
		}
	}
	return nil
}

func request(name string) *inference.Request {
	return &inference.Request{Messages: []inference.Message{{Role: inference.RoleUser, Content: "hi"}}, Params: inference.Params{MaxTokens: 83}, Caller: inference.Caller{Agent: name}}
}

// one is what a call of these tests takes: 17 tokens of prompt and 83 of answer.
var one = budget.Estimate(request(""), budget.Rate{}).All()

// However many calls come at once, they take no more than the cap; the rest wait, the
// person is asked once, and all go on when there is more.
func TestManyCallsAtOnce(t *testing.T) {
	const calls, fit = 60, 7
	terms := func(cap int64) budget.Terms {
		return budget.Terms{Rates: rates, Caps: budget.Caps{Run: budget.Cap{Tokens: cap}}}
	}
	p := &person{asked: make(chan struct{}, calls)}
	l := openLedger(t, openLog(t), p, terms(fit*one+one/2))
	m := &answerer{}
	m.check = func() {
		if used := l.Report(); used.Run.All() > used.Terms.Caps.Run.Tokens {
			t.Errorf("%d tokens are used, %d allowed", used.Run.All(), used.Terms.Caps.Run.Tokens)
		}
	}
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			if err := ask(t.Context(), l.Model(m, "worker"), fmt.Sprint("agent", i)); err != nil {
				t.Error(err)
			}
		})
	}
	<-p.asked
	for l.Report().Run.Calls < fit || len(l.Waiting()) < calls-fit { // those that hold room end, those that came wait
		time.Sleep(time.Millisecond)
	}
	if r := l.Report(); r.Run.Calls != fit || r.Run.All() != fit*one || m.asked != fit {
		t.Errorf("%d calls of %d tokens, %d asked", r.Run.Calls, r.Run.All(), m.asked)
	}
	if len(p.asked) != 0 || len(p.stops) != 1 || p.stops[0].Cap != "run" || p.stops[0].Unit != budget.InTokens || p.stops[0].Limit != fit*one+one/2 {
		t.Errorf("asked %+v", p.stops)
	}
	if w := l.Waiting(); !slices.ContainsFunc(w, func(w budget.Waiting) bool { return w.Asked && w.Role == "worker" }) {
		t.Errorf("%+v", w)
	}
	if err := l.Set(t.Context(), terms((calls-1)*one)); err != nil {
		t.Fatal(err)
	}
	<-p.asked // one is left
	if err := l.Set(t.Context(), terms(calls*one)); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if r := l.Report(); r.Run.All() != calls*one || len(l.Waiting()) != 0 || len(p.asked) != 0 {
		t.Errorf("%d tokens, %d wait", r.Run.All(), len(l.Waiting()))
	}
}

// A call that would fit once others have ended waits for them, and nobody is asked.
func TestWaitsForOthers(t *testing.T) {
	p := &person{}
	l := openLedger(t, openLog(t), p, budget.Terms{Caps: budget.Caps{Run: budget.Cap{Tokens: 3*one - 1}}})
	slow := &answerer{free: make(chan struct{}), fail: errors.New("cut")}
	m := &answerer{}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { _ = ask(t.Context(), l.Model(slow, "worker"), "slow") })
	}
	for slow.mu.Lock(); slow.asked < 2; slow.mu.Lock() {
		slow.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	slow.mu.Unlock()
	all.Go(func() {
		if err := ask(t.Context(), l.Model(m, "worker"), "next"); err != nil {
			t.Error(err)
		}
	})
	for len(l.Waiting()) == 0 {
		time.Sleep(time.Millisecond)
	}
	if w := l.Waiting()[0]; w.Asked || w.Agent != "next" || w.Stops[0].Held != 2*one {
		t.Errorf("%+v", w)
	}
	slow.free <- struct{}{}
	slow.free <- struct{}{}
	all.Wait()
	if r := l.Report(); len(p.stops) != 0 || l.Broken() != 2 || r.Run.Calls != 1 || m.asked != 1 || r.Run.Unpriced != 1 {
		t.Errorf("%+v, %d broken, asked %v", r, l.Broken(), p.stops)
	}
}

func TestWaitingIsCancelled(t *testing.T) {
	p := &person{asked: make(chan struct{}, 1)}
	l := openLedger(t, openLog(t), p, budget.Terms{Caps: budget.Caps{Agent: budget.Cap{Tokens: 1}}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-p.asked; cancel() }()
	m := &answerer{}
	if err := ask(ctx, l.Model(m, "worker"), "noether"); !errors.Is(err, context.Canceled) || m.asked != 0 || len(l.Waiting()) != 0 {
		t.Errorf("%v", err)
	}
	// Who cannot be asked is no reason to go on, and the next call asks again.
	p.err, p.asked = errors.New("nobody is there"), nil
	for range 2 {
		if err := ask(t.Context(), l.Model(m, "worker"), "abel"); !errors.Is(err, p.err) || m.asked != 0 {
			t.Errorf("%v", err)
		}
	}
	if len(p.stops) != 3 {
		t.Errorf("asked %+v", p.stops)
	}
}

// A process that starts again finds terms and accounts as they were, and terms are
// recorded once.
func TestLedgerStartsAgain(t *testing.T) {
	log := openLog(t)
	terms := budget.Terms{Rates: rates, Caps: budget.Caps{Cloud: budget.Cap{Money: budget.Dollar}}}
	m, _ := team(0, 0)
	l := openLedger(t, log, &person{}, terms)
	if err := work(t, log, l.Model(m, "lead"), "noether", "lead"); err != nil {
		t.Fatal(err)
	}
	again := openLedger(t, log, &person{}, terms)
	if d := cmp.Diff(l.Report(), again.Report()); d != "" {
		t.Error(d)
	}
	if last, err := log.Last(t.Context(), budget.Stream); err != nil || last != 1 {
		t.Errorf("%d terms, %v", last, err)
	}
	if err := again.Set(t.Context(), budget.Terms{Caps: budget.Caps{Run: budget.Cap{Tokens: -1}}}); !errors.Is(err, budget.ErrTerms) {
		t.Errorf("%v", err)
	}
	data, err := json.Marshal(again.Report())
	if err != nil || !strings.Contains(string(data), `"cloud":{"uncached":`) {
		t.Errorf("%s, %v", data, err)
	}
}
