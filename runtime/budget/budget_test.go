package budget_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"dure/inference"
	"dure/runtime/agent"
	"dure/runtime/budget"
	"dure/runtime/event"
)

var (
	cloud = budget.Rate{Price: budget.Price{Input: 3e6, Cached: 3e5, Output: 15e6}, Model: "large", Host: "api.example.com"}
	local = budget.Rate{Price: budget.Price{Input: 1e5, Cached: 1e4, Output: 4e5}, Model: "small", Host: "127.0.0.1:8484", Local: true}
	rates = map[string]budget.Rate{"lead": cloud, "planner": cloud, "worker": local, "judge": local, "merger": local}
)

func TestPrices(t *testing.T) {
	for _, tc := range []struct {
		price  budget.Price
		tokens budget.Tokens
		want   budget.Money
		shown  string
	}{
		{cloud.Price, budget.Tokens{}, 0, "$0.000000"},
		{cloud.Price, budget.Tokens{Uncached: 1}, 3e6, "$0.000003"},
		{cloud.Price, budget.Tokens{Cached: 1}, 3e5, "$0.000001"}, // rounded up
		{cloud.Price, budget.Tokens{Output: 1e6}, 15 * budget.Dollar, "$15.000000"},
		{cloud.Price, budget.Tokens{Uncached: 1e6, Cached: 1e7, Output: 2e5}, 9 * budget.Dollar, "$9.000000"},
		{budget.Price{Input: 1}, budget.Tokens{Uncached: 1}, 1, "$0.000001"},
		{budget.Price{Input: 1}, budget.Tokens{Uncached: 1e6 + 1}, 1e6 + 1, "$0.000002"},
		{budget.Price{}, budget.Tokens{Uncached: 1e9, Output: 1e9}, 0, "$0.000000"},
		{budget.Price{Input: 1e12}, budget.Tokens{Uncached: math.MaxInt64}, math.MaxInt64, "$9223372.036855"},
		{budget.Price{Input: 1e6, Output: 1e6}, budget.Tokens{Uncached: 5e12, Output: 5e12}, math.MaxInt64, "$9223372.036855"},
	} {
		if got := tc.price.Of(tc.tokens); got != tc.want || got.String() != tc.shown {
			t.Errorf("%+v at %+v: %d %s, want %d %s", tc.tokens, tc.price, got, got, tc.want, tc.shown)
		}
	}
}

// A price is what exact arithmetic says, or the largest number there is.
func TestPricesAreExact(t *testing.T) {
	number := rapid.Int64Range(0, 1e13)
	rapid.Check(t, func(t *rapid.T) {
		p := budget.Price{Input: number.Draw(t, "input"), Cached: number.Draw(t, "cached"), Output: number.Draw(t, "output")}
		n := budget.Tokens{Uncached: number.Draw(t, "uncached"), Cached: number.Draw(t, "cached tokens"), Output: number.Draw(t, "output tokens")}
		want := new(big.Int)
		for _, pair := range [][2]int64{{p.Input, n.Uncached}, {p.Cached, n.Cached}, {p.Output, n.Output}} {
			want.Add(want, new(big.Int).Mul(big.NewInt(pair[0]), big.NewInt(pair[1])))
		}
		if most := big.NewInt(math.MaxInt64); want.Cmp(most) > 0 {
			want = most
		}
		if got := p.Of(n); want.Cmp(big.NewInt(int64(got))) != 0 {
			t.Fatalf("%d, want %s", got, want)
		}
	})
}

func TestTokensOf(t *testing.T) {
	for _, tc := range []struct {
		prompt, cached, output int
		want                   budget.Tokens
	}{
		{10, 4, 3, budget.Tokens{Uncached: 6, Cached: 4, Output: 3}},
		{10, 10, 0, budget.Tokens{Cached: 10}},
		{10, 99, 3, budget.Tokens{Cached: 10, Output: 3}},
		{-1, -1, -1, budget.Tokens{}},
		{10, -5, 3, budget.Tokens{Uncached: 10, Output: 3}},
	} {
		if got := budget.TokensOf(inference.Usage{PromptTokens: tc.prompt, CachedTokens: tc.cached, CompletionTokens: tc.output}); got != tc.want {
			t.Errorf("%+v: %+v", tc, got)
		}
	}
}

// recorded makes the events of a log.
type recorded struct {
	t    rapid.TB
	last map[string]event.Sequence
	all  []event.Event
}

func put[T any](r *recorded, stream string, kind event.Type[T], payload T) {
	e, err := kind.New(payload)
	if err != nil {
		r.t.Fatal(err)
	}
	r.last[stream]++
	e.Stream, e.Sequence, e.Position = stream, r.last[stream], event.Position(len(r.all)+1)
	r.all = append(r.all, e)
}

func fold(t rapid.TB, events []event.Event) budget.Report {
	s := budget.NewState()
	for _, e := range events {
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return s.Report()
}

func sum(all map[string]budget.Account) (a budget.Account) {
	for _, b := range all {
		a.Uncached, a.Cached, a.Output = a.Uncached+b.Uncached, a.Cached+b.Cached, a.Output+b.Output
		a.Cost, a.Calls, a.Unmetered, a.Unpriced = a.Cost+b.Cost, a.Calls+b.Calls, a.Unmetered+b.Unmetered, a.Unpriced+b.Unpriced
	}
	return a
}

// The sums over agents, over roles, and of cloud and local are the run's, in whatever
// order the agents' turns lie in the log, and what each turn costs is its role's price.
func TestSums(t *testing.T) {
	roles := append(slices.Sorted(maps.Keys(rates)), "stranger")
	rapid.Check(t, func(t *rapid.T) {
		type turn struct {
			stream string
			usage  inference.Usage
		}
		head := &recorded{t: t, last: map[string]event.Sequence{}}
		put(head, budget.Stream, budget.Events.Set, budget.Terms{Rates: rates})
		var turns []turn
		want := map[string]budget.Account{}
		for i := range rapid.IntRange(1, 8).Draw(t, "conversations") {
			name, role := rapid.SampledFrom([]string{"noether", "gauss", "abel"}).Draw(t, "agent"), rapid.SampledFrom(roles).Draw(t, "role")
			stream := agent.Stream(name, fmt.Sprintf("t%d-1", i))
			put(head, stream, agent.Events.Born, agent.Born{Name: name, Role: role})
			for range rapid.IntRange(0, 6).Draw(t, "turns") {
				u := inference.Usage{PromptTokens: rapid.IntRange(0, 1e6).Draw(t, "prompt"), CompletionTokens: rapid.IntRange(0, 1e5).Draw(t, "output")}
				u.CachedTokens = rapid.IntRange(0, u.PromptTokens).Draw(t, "cached")
				turns = append(turns, turn{stream, u})
				a, n := want[name], budget.TokensOf(u)
				a.Uncached, a.Cached, a.Output, a.Calls = a.Uncached+n.Uncached, a.Cached+n.Cached, a.Output+n.Output, a.Calls+1
				a.Cost += rates[role].Of(n)
				if u.PromptTokens == 0 {
					a.Unmetered++
				}
				if role == "stranger" {
					a.Unpriced++
				}
				want[name] = a
			}
		}
		in := func(order []turn) budget.Report {
			r := &recorded{t: t, last: maps.Clone(head.last), all: slices.Clone(head.all)}
			for i, n := range order {
				put(r, n.stream, agent.Events.Turned, agent.Turned{Turn: i + 1, Usage: n.usage})
			}
			return fold(t, r.all)
		}
		got := in(turns)
		if d := cmp.Diff(want, got.Agents); d != "" {
			t.Fatal(d)
		}
		if agents, roles := sum(got.Agents), sum(got.Roles); agents != got.Run || roles != got.Run || sum(map[string]budget.Account{"a": got.Cloud, "b": got.Local}) != got.Run {
			t.Fatalf("agents %+v, roles %+v, cloud %+v, local %+v, run %+v", agents, roles, got.Cloud, got.Local, got.Run)
		}
		if d := cmp.Diff(got, in(rapid.Permutation(turns).Draw(t, "order"))); d != "" {
			t.Fatalf("another order: %s", d)
		}
	})
}

// A turn costs what its role's price was when it was recorded.
func TestPricesChange(t *testing.T) {
	r := &recorded{t: t, last: map[string]event.Sequence{}}
	stream := agent.Stream("noether", "")
	put(r, stream, agent.Events.Born, agent.Born{Name: "noether", Role: "planner"})
	turn := agent.Turned{Usage: inference.Usage{PromptTokens: 1e6}}
	put(r, stream, agent.Events.Turned, turn)
	put(r, budget.Stream, budget.Events.Set, budget.Terms{Rates: rates})
	put(r, stream, agent.Events.Turned, turn)
	put(r, budget.Stream, budget.Events.Set, budget.Terms{Rates: map[string]budget.Rate{"planner": {Price: budget.Price{Input: 5e6}, Local: true}}})
	put(r, stream, agent.Events.Turned, turn)
	got := fold(t, r.all)
	if got.Run.Cost != 8*budget.Dollar || got.Run.Unpriced != 1 || got.Local.Cost != 5*budget.Dollar || got.Cloud.Calls != 2 {
		t.Errorf("%+v", got)
	}
	s := budget.NewState()
	if err := s.Apply(r.all[1]); err == nil {
		t.Error("a turn of nobody is counted")
	}
}

func TestTermsAreChecked(t *testing.T) {
	for name, bad := range map[string]budget.Terms{
		"price": {Rates: map[string]budget.Rate{"a": {Price: budget.Price{Cached: -1}}}}, "fortune": {Rates: map[string]budget.Rate{"a": {Price: budget.Price{Output: 2e12}}}},
		"answer": {Rates: map[string]budget.Rate{"a": {Longest: -1}}}, "cap": {Caps: budget.Caps{Run: budget.Cap{Tokens: -1}}},
		"role's cap": {Caps: budget.Caps{Roles: map[string]budget.Cap{"a": {Money: -1}}}}, "agent's cap": {Caps: budget.Caps{Agents: map[string]budget.Cap{"a": {Money: -1}}}},
	} {
		if err := budget.NewState().Set(bad); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	data, err := json.Marshal(budget.Terms{Rates: rates, Caps: budget.Caps{Agent: budget.Cap{Tokens: 5}}})
	var back budget.Terms
	if err == nil {
		err = json.Unmarshal(data, &back)
	}
	if err != nil || back.Rates["lead"] != cloud || back.Caps.Agent.Tokens != 5 || back.Check() != nil {
		t.Errorf("%s: %+v, %v", data, back, err)
	}
}

// What a cap allows, up to its last token.
func TestCapEdges(t *testing.T) {
	call := budget.Call{Agent: "noether", Role: "planner", Most: budget.Tokens{Uncached: 60, Output: 40}}
	cost := cloud.Of(call.Most)
	used := inference.Usage{PromptTokens: 60, CompletionTokens: 40}
	for _, tc := range []struct {
		name    string
		caps    budget.Caps
		used    int // calls before
		held    int
		allowed bool
		wait    bool
		stops   string
	}{
		{"no cap", budget.Caps{}, 99, 9, true, false, ""},
		{"fits exactly", budget.Caps{Run: budget.Cap{Tokens: 300}}, 1, 1, true, false, ""},
		{"one token short", budget.Caps{Run: budget.Cap{Tokens: 299}}, 1, 1, false, true, "run"},
		{"one token short of itself", budget.Caps{Run: budget.Cap{Tokens: 199}}, 1, 0, false, false, "run"},
		{"exactly at the cap", budget.Caps{Run: budget.Cap{Tokens: 200}}, 2, 0, false, false, "run"},
		{"money fits exactly", budget.Caps{Cloud: budget.Cap{Money: 2 * cost}}, 1, 0, true, false, ""},
		{"a millionth short", budget.Caps{Cloud: budget.Cap{Money: 2*cost - 1}}, 1, 0, false, false, "cloud"},
		{"others' cap", budget.Caps{Local: budget.Cap{Tokens: 1}, Roles: map[string]budget.Cap{"worker": {Tokens: 1}}, Agents: map[string]budget.Cap{"gauss": {Tokens: 1}}}, 1, 0, true, false, ""},
		{"role", budget.Caps{Roles: map[string]budget.Cap{"planner": {Tokens: 150}}}, 1, 0, false, false, "role planner"},
		{"each agent", budget.Caps{Agent: budget.Cap{Tokens: 150}}, 1, 0, false, false, "agent noether"},
		{"this agent may more", budget.Caps{Agent: budget.Cap{Tokens: 150}, Agents: map[string]budget.Cap{"noether": {Tokens: 250}}}, 1, 0, true, false, ""},
		{"two caps, one for ever", budget.Caps{Run: budget.Cap{Tokens: 250}, Agent: budget.Cap{Tokens: 150}}, 1, 1, false, false, "run agent noether"},
		{"two caps, both for now", budget.Caps{Run: budget.Cap{Tokens: 250}, Agent: budget.Cap{Tokens: 250}}, 1, 1, false, true, "run agent noether"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := budget.NewState()
			if err := s.Set(budget.Terms{Rates: rates, Caps: tc.caps}); err != nil {
				t.Fatal(err)
			}
			var holds []budget.Hold
			for range tc.held {
				holds = append(holds, s.Hold(call))
			}
			for range tc.used {
				s.Count("noether", "planner", used)
			}
			d := s.Allow(call)
			var names []string
			for _, stop := range d.Stops {
				names = append(names, stop.Cap)
			}
			if d.Allowed != tc.allowed || d.Wait != tc.wait || strings.Join(names, " ") != tc.stops || (d.Reason() == "") != tc.allowed {
				t.Errorf("%+v: %s", d, d.Reason())
			}
			for _, h := range holds {
				s.Release(h)
			}
			if d := s.Allow(call); tc.wait && !d.Allowed {
				t.Errorf("after the others ended: %s", d.Reason())
			}
		})
	}
}

// Whatever calls are allowed, held and answered, as long as none takes more than its
// estimate no cap is ever passed.
func TestCapsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := func(name string) budget.Cap {
			return budget.Cap{Tokens: rapid.Int64Range(0, 3000).Draw(t, name), Money: budget.Money(rapid.Int64Range(0, 3e10).Draw(t, name+" money"))}
		}
		caps := budget.Caps{Run: limit("run"), Cloud: limit("cloud"), Local: limit("local"), Roles: map[string]budget.Cap{"planner": limit("planner")}, Agent: limit("agent")}
		s := budget.NewState()
		if err := s.Set(budget.Terms{Rates: rates, Caps: caps}); err != nil {
			t.Fatal(err)
		}
		type running struct {
			budget.Call
			budget.Hold
		}
		var on []running
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(on) > 0 && rapid.Bool().Draw(t, "ends") {
				i := rapid.IntRange(0, len(on)-1).Draw(t, "which")
				r := on[i]
				on = slices.Delete(on, i, i+1)
				s.Release(r.Hold)
				u := inference.Usage{PromptTokens: rapid.IntRange(0, int(r.Most.Uncached)).Draw(t, "prompt"), CompletionTokens: rapid.IntRange(0, int(r.Most.Output)).Draw(t, "output")}
				u.CachedTokens = rapid.IntRange(0, u.PromptTokens).Draw(t, "cached")
				s.Count(r.Agent, r.Role, u)
			} else {
				c := budget.Call{Agent: rapid.SampledFrom([]string{"noether", "gauss"}).Draw(t, "agent"), Role: rapid.SampledFrom([]string{"planner", "worker"}).Draw(t, "role"),
					Most: budget.Tokens{Uncached: rapid.Int64Range(0, 500).Draw(t, "most prompt"), Output: rapid.Int64Range(0, 500).Draw(t, "most output")}}
				if d := s.Allow(c); d.Allowed {
					on = append(on, running{c, s.Hold(c)})
				}
			}
			r := s.Report()
			for name, p := range map[string]struct {
				budget.Account
				budget.Cap
			}{"run": {r.Run, caps.Run}, "cloud": {r.Cloud, caps.Cloud}, "local": {r.Local, caps.Local}, "planner": {r.Roles["planner"], caps.Roles["planner"]},
				"noether": {r.Agents["noether"], caps.Agent}, "gauss": {r.Agents["gauss"], caps.Agent}} {
				if p.Cap.Tokens > 0 && p.All() > p.Cap.Tokens || p.Money > 0 && p.Cost > p.Money {
					t.Fatalf("%s: %+v is over %+v", name, p.Account, p.Cap)
				}
			}
		}
	})
}

func TestEstimate(t *testing.T) {
	req := &inference.Request{
		Messages: []inference.Message{{Content: strings.Repeat("x", 300), Reasoning: strings.Repeat("y", 300)}, {ToolCalls: []inference.ToolCall{{Arguments: strings.Repeat("z", 300)}}}},
		Tools:    []inference.Tool{{Name: "a", Description: strings.Repeat("d", 299)}},
	}
	for _, tc := range []struct {
		tokens int
		rate   budget.Rate
		want   int64
	}{{50, budget.Rate{Longest: 70}, 50}, {0, budget.Rate{Longest: 70}, 70}, {0, budget.Rate{}, 32 << 10}} {
		req.Params.MaxTokens = tc.tokens
		if got := budget.Estimate(req, tc.rate); got.Output != tc.want || got.Uncached < 400 || got.Uncached > 500 || got.Cached != 0 {
			t.Errorf("%+v: %+v", tc, got)
		}
	}
	if got := budget.Estimate(&inference.Request{Prompt: &inference.Prompt{Tokens: make([]int32, 70)}}, budget.Rate{}); got.Uncached < 70 {
		t.Errorf("%+v", got)
	}
}

func TestStatement(t *testing.T) {
	own := local
	own.Host = "192.168.1.5:8484"
	terms := budget.Terms{Rates: map[string]budget.Rate{"lead": cloud, "planner": cloud, "worker": local, "judge": {Model: "tiny"}, "merger": own},
		Caps: budget.Caps{Cloud: budget.Cap{Money: 5 * budget.Dollar, Tokens: 2e6}}}
	const want = `What leaves this machine:
  to 192.168.1.5:8484 (your own, as models.yaml says)
    merger (small): both sides of a conflict with the files around it, the tasks they come from, and what its commands print
      US dollars per million tokens: $0.100000 read, $0.010000 cached, $0.400000 written
  to api.example.com
    lead (large): the specification, plans, tasks, messages of the team, and what it reads of the repository
      US dollars per million tokens: $3.000000 read, $0.300000 cached, $15.000000 written
    planner (large): the specification, plans, tasks, messages of the team, and what it reads of the repository
      US dollars per million tokens: $3.000000 read, $0.300000 cached, $15.000000 written
What stays here: judge, worker.
Ceilings: cloud $5.000000 and 2000000 tokens; local none; in all none.
`
	if d := cmp.Diff(want, terms.Statement()); d != "" {
		t.Error(d)
	}
	terms = budget.Terms{Rates: map[string]budget.Rate{"worker": local}, Caps: budget.Caps{Run: budget.Cap{Tokens: 9}, Local: budget.Cap{Money: budget.Dollar}}}
	if got := terms.Statement(); got != "Nothing leaves this machine: all models run on it.\nCeilings: cloud none; local $1.000000; in all 9 tokens.\n" {
		t.Errorf("%s", got)
	}
	for host, away := range map[string]bool{"": false, "localhost": false, "localhost:1": false, "127.0.0.1": false, "127.9.0.1:80": false, "[::1]:80": false, "[::1]": false,
		"example.com": true, "localhost.example.com": true, "10.0.0.1:80": true, "[fe80::1]:80": true} {
		if got := (budget.Rate{Host: host, Local: true}).Away(); got != away {
			t.Errorf("%s: away is %v", host, got)
		}
	}
}
