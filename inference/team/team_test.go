package team

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dure/inference"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// check proves that the table is whole.
func (t *Team) check() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	idle := 0
	for id, a := range t.agents {
		if a.id != id || a.parent != nil && (t.agents[a.parent.id] != a.parent || a.parent.children[id] != a) {
			return fmt.Errorf("row %q is not linked", id)
		}
		steps := 0
		for above := a.parent; above != nil; above = above.parent {
			if steps++; steps > len(t.agents) {
				return fmt.Errorf("row %q is in a cycle", id)
			}
		}
		for name, child := range a.children {
			if t.agents[name] != child || child.parent != a {
				return fmt.Errorf("child %q of %q is not linked", name, id)
			}
		}
		if may := len(a.runs) == 0 && len(a.children) == 0; may != (a.idle != nil) {
			return fmt.Errorf("row %q: may be forgotten %v, listed %v", id, may, a.idle != nil)
		}
		if a.idle != nil {
			idle++
		}
	}
	if idle != t.idle.Len() || len(t.agents) > t.limit {
		return fmt.Errorf("%d idle of %d, %d listed", idle, len(t.agents), t.idle.Len())
	}
	return nil
}

// clocked is a table whose clock stands at the time it returns.
func clocked() (*Team, *time.Time) {
	t, now := New(), time.Unix(1_000_000, 0)
	t.now = func() time.Time { return now }
	return t, &now
}

func enter(t *testing.T, team *Team, id, parent string) (context.Context, func()) {
	t.Helper()
	ctx, leave, err := team.Enter(t.Context(), inference.Caller{Agent: id, Parent: parent})
	if err != nil {
		t.Fatal(err)
	}
	return ctx, leave
}

func TestStopReachesAllBelow(t *testing.T) {
	team := New()
	lead, _ := enter(t, team, "lead", "")
	a, _ := enter(t, team, "a", "lead")
	a2, _ := enter(t, team, "a", "")
	_, leaveB := enter(t, team, "b", "lead")
	leaveB() // between two turns, and still the way down
	c, _ := enter(t, team, "c", "b")
	other, _ := enter(t, team, "other", "")

	rows, ok := team.Stop("lead")
	want := []Stopped{{"lead", 1}, {"a", 2}, {"b", 0}, {"c", 1}}
	if diff := cmp.Diff(want, rows); !ok || diff != "" {
		t.Error(diff)
	}
	for name, ctx := range map[string]context.Context{"lead": lead, "a": a, "a2": a2, "c": c} {
		err := Cause(ctx)
		if !errors.Is(err, inference.ErrAgentStopped) || name != "lead" && !strings.Contains(err.Error(), `with "lead"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if Cause(other) != nil || other.Err() != nil {
		t.Error("another agent was stopped")
	}
	if again, _ := enter(t, team, "c", "b"); again.Err() != nil {
		t.Error("a later request is not answered")
	}
	if _, ok := team.Stop("nobody"); ok {
		t.Error("an agent that nobody knows was stopped")
	}
	if err := team.check(); err != nil {
		t.Error(err)
	}
}

// The parent of a request is known even if it never asked anything itself.
func TestParentWithoutRequests(t *testing.T) {
	team := New()
	ctx, _ := enter(t, team, "worker", "lead")
	if rows, ok := team.Stop("lead"); !ok || len(rows) != 2 || Cause(ctx) == nil {
		t.Errorf("%v %v", rows, ok)
	}
}

func TestLinksThatAreRefused(t *testing.T) {
	team := New()
	_, leave := enter(t, team, "b", "a")
	enter(t, team, "c", "b")
	for _, tc := range []struct{ id, parent, want string }{
		{"a", "a", "its own parent"},
		{"a", "b", "below the agent"},
		{"a", "c", "below the agent"},
		{"b", "z", `runs under "a"`},
	} {
		_, _, err := team.Enter(t.Context(), inference.Caller{Agent: tc.id, Parent: tc.parent})
		var e *inference.Error
		if !errors.As(err, &e) || e.Code != inference.CodeInvalidRequest || e.Param != "parent" || !strings.Contains(e.Message, tc.want) {
			t.Errorf("%s under %s: %v", tc.id, tc.parent, err)
		}
	}
	if got := len(team.Agents()); got != 3 {
		t.Errorf("%d agents: a refused request left something", got)
	}
	leave()
	enter(t, team, "b", "z") // idle now: it moves, with all below it
	if rows, _ := team.Stop("z"); len(rows) != 3 {
		t.Errorf("%v", rows)
	}
	if rows, _ := team.Stop("a"); len(rows) != 1 {
		t.Errorf("%v", rows)
	}
}

func TestDepth(t *testing.T) {
	team := New()
	for i := 1; i < MaxDepth; i++ {
		enter(t, team, fmt.Sprint(i), fmt.Sprint(i-1))
	}
	_, _, err := team.Enter(t.Context(), inference.Caller{Agent: "deep", Parent: fmt.Sprint(MaxDepth - 1)})
	if !errors.Is(err, inference.ErrInvalidRequest) || !strings.Contains(err.Error(), "64") {
		t.Error(err)
	}
}

func TestIdleAgentsAreForgotten(t *testing.T) {
	team, now := clocked()
	_, leaveChild := enter(t, team, "child", "parent")
	_, leaveOld := enter(t, team, "old", "")
	leaveOld()
	*now = now.Add(Keep - 1)
	if n := len(team.Agents()); n != 3 {
		t.Errorf("%d agents before the time", n)
	}
	*now = now.Add(1)
	if n := len(team.Agents()); n != 2 {
		t.Errorf("%d agents: only the idle one is to be forgotten", n)
	}
	leaveChild()
	for _, want := range []int{2, 1, 0} {
		if n := len(team.Agents()); n != want {
			t.Errorf("%d agents, not %d", n, want)
		}
		*now = now.Add(Keep)
	}
}

func TestLimit(t *testing.T) {
	team, _ := clocked()
	team.limit = 3
	_, leave := enter(t, team, "idle", "")
	leave()
	enter(t, team, "busy", "")
	enter(t, team, "b", "a") // two rows: the idle one gives way
	if _, ok := team.Stop("idle"); ok {
		t.Error("more agents than the limit are known")
	}
	_, _, err := team.Enter(t.Context(), inference.Caller{Agent: "more"})
	var e *inference.Error
	if !errors.As(err, &e) || e.Code != inference.CodeQueueFull || e.RetryAfter == 0 {
		t.Errorf("%v", err)
	}
	if _, _, err := team.Enter(t.Context(), inference.Caller{Agent: "busy", Parent: "a"}); err != nil {
		t.Errorf("known agents: %v", err)
	}
	// A row that is needed does not give way to its own request.
	pair := New()
	pair.limit = 2
	_, leave = enter(t, pair, "x", "y")
	leave()
	enter(t, pair, "z", "y")
	if err := pair.check(); err != nil {
		t.Error(err)
	}
	if rows, _ := pair.Stop("y"); len(rows) != 2 {
		t.Errorf("%v", rows)
	}
}

// Any order of operations leaves the table whole, and a stop reaches exactly what
// a plain walk over the links says.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		team, now := clocked()
		team.limit = rapid.IntRange(2, 12).Draw(t, "limit")
		type entered struct {
			ctx   context.Context
			leave func()
			id    string
		}
		var all []entered
		name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"})
		t.Repeat(map[string]func(*rapid.T){
			"enter": func(t *rapid.T) {
				c := inference.Caller{Agent: name.Draw(t, "agent")}
				if rapid.Bool().Draw(t, "has a parent") {
					c.Parent = name.Draw(t, "parent")
				}
				ctx, leave, err := team.Enter(context.Background(), c)
				if err == nil {
					all = append(all, entered{ctx, leave, c.Agent})
				}
			},
			"leave": func(t *rapid.T) {
				if len(all) > 0 {
					i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
					all[i].leave()
					all[i].leave()
					all = slices.Delete(all, i, i+1)
				}
			},
			"wait": func(t *rapid.T) {
				*now = now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "minutes")) * time.Minute)
			},
			"stop": func(t *rapid.T) {
				id := name.Draw(t, "agent")
				parents := map[string]string{}
				for _, a := range team.Agents() {
					parents[a.ID] = a.Parent
				}
				below := func(x string) bool {
					for ; x != ""; x = parents[x] {
						if x == id {
							return true
						}
					}
					return false
				}
				_, known := parents[id]
				rows, ok := team.Stop(id)
				if ok != known {
					t.Fatalf("stop %s: %v", id, ok)
				}
				count := map[string]int{}
				for _, e := range all {
					if known && below(e.id) {
						count[e.id]++
						if Cause(e.ctx) == nil {
							t.Fatalf("%s goes on", e.id)
						}
					}
				}
				for _, row := range rows {
					if row.Cancelled != count[row.ID] || !below(row.ID) {
						t.Fatalf("%+v, counted %v", row, count)
					}
					delete(count, row.ID)
				}
				if len(count) > 0 {
					t.Fatalf("%v are not told", slices.Collect(maps.Keys(count)))
				}
			},
			"": func(t *rapid.T) {
				if err := team.check(); err != nil {
					t.Fatal(err)
				}
			},
		})
	})
}

// endless says one word again and again until it is cancelled.
type endless struct{ said chan struct{} }

func (endless) Info() inference.Info { return inference.Info{Name: "m"} }

func (m endless) Generate(ctx context.Context, _ *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		if !yield(inference.Event{Kind: inference.EventStarted}, nil) {
			return
		}
		for ctx.Err() == nil {
			if !yield(inference.Event{Kind: inference.EventText, Text: "x"}, nil) {
				return
			}
			select {
			case m.said <- struct{}{}:
			default:
			}
		}
		yield(inference.Event{}, ctx.Err())
	}
}

func TestModelEndsWithAgentStopped(t *testing.T) {
	team, m := New(), endless{make(chan struct{}, 1)}
	wrapped := team.Model(m)
	if _, ok := wrapped.(inference.Tokenizer); ok {
		t.Error("a tokenizer came from nowhere")
	}
	const agents, each = 8, 4
	var wg sync.WaitGroup
	errs := make(chan error, agents*each)
	for i := range agents * each {
		wg.Go(func() {
			c := inference.Caller{Agent: fmt.Sprint("agent-", i%agents), Parent: "lead"}
			var last error
			for _, err := range wrapped.Generate(t.Context(), &inference.Request{Caller: c}) {
				last = err
			}
			errs <- last
		})
	}
	for running := 0; running < agents*each; {
		<-m.said
		running = 0
		for _, a := range team.Agents() {
			running += a.Running
		}
	}
	rows, _ := team.Stop("lead")
	wg.Wait()
	sum := 0
	for _, row := range rows {
		sum += row.Cancelled
	}
	if sum != agents*each || len(rows) != agents+1 {
		t.Errorf("%d of %d requests: %v", sum, agents*each, rows)
	}
	for range agents * each {
		if err := <-errs; !errors.Is(err, inference.ErrAgentStopped) {
			t.Errorf("%v", err)
		}
	}
	for _, a := range team.Agents() {
		if a.Running != 0 {
			t.Errorf("%+v", a)
		}
	}
}

// done answers at once.
type done struct{ inference.Tokenizer }

func (done) Info() inference.Info { return inference.Info{} }

func (done) Generate(context.Context, *inference.Request) iter.Seq2[inference.Event, error] {
	return func(yield func(inference.Event, error) bool) {
		yield(inference.Event{Kind: inference.EventDone, Usage: &inference.Usage{PromptTokens: 5, CompletionTokens: 3}}, nil)
	}
}

func TestModelCountsAndKeepsItsKind(t *testing.T) {
	team, now := clocked()
	wrapped := team.Model(done{})
	if _, ok := wrapped.(inference.Tokenizer); !ok {
		t.Error("the tokenizer is lost")
	}
	drain := func(ctx context.Context, c inference.Caller) {
		for range wrapped.Generate(ctx, &inference.Request{Caller: c}) {
		}
	}
	drain(t.Context(), inference.Caller{})
	drain(t.Context(), inference.Caller{Agent: "a"})
	// A surface that entered already is counted once, and goes on after it.
	ctx, leave := enter(t, team, "a", "")
	drain(ctx, inference.Caller{Agent: "a"})
	if got := team.Agents(); len(got) != 1 || got[0].Running != 1 {
		t.Errorf("%+v", got)
	}
	*now = now.Add(time.Second)
	leave()
	want := []Agent{{ID: "a", PromptTokens: 10, CompletionTokens: 6, Seen: *now}}
	if diff := cmp.Diff(want, team.Agents()); diff != "" {
		t.Error(diff)
	}
}

// An answer that was whole in the moment of the stop counts as stopped.
func TestStopBeatsTheEnd(t *testing.T) {
	team := New()
	ctx, _ := enter(t, team, "a", "")
	team.Stop("a")
	for _, err := range team.Model(done{}).Generate(ctx, &inference.Request{Caller: inference.Caller{Agent: "a"}}) {
		if !errors.Is(err, inference.ErrAgentStopped) {
			t.Error(err)
		}
	}
	if got := team.Agents(); got[0].CompletionTokens != 0 {
		t.Errorf("%+v", got)
	}
}

func BenchmarkEnterFullTable(b *testing.B) {
	team := New()
	for i := 0; b.Loop(); i++ {
		_, leave, err := team.Enter(b.Context(), inference.Caller{Agent: fmt.Sprint(i), Parent: "lead"})
		if err != nil {
			b.Fatal(err)
		}
		leave()
	}
}
