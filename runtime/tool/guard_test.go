package tool_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dure/runtime/event"
	"dure/runtime/event/sqlite"
	"dure/runtime/gate"
	"dure/runtime/tool"
)

// counted is a tool that counts what it carries out.
type counted struct {
	mu  sync.Mutex
	ran map[string]int
	run func(ctx context.Context, call tool.Call) (tool.Result, error)
}

func (c *counted) Spec() tool.Spec {
	return tool.Spec{Name: "shell", Description: "Runs a command.", Fields: []tool.Field{
		{Name: "command", Description: "what to run", Required: true}, {Name: "timeout", Description: "seconds"}}}
}

func (c *counted) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	c.mu.Lock()
	c.ran[call.ID]++
	c.mu.Unlock()
	if c.run != nil {
		return c.run(ctx, call)
	}
	return tool.Result{Outcome: tool.Done, Output: "ran " + call.ID}, nil
}

// judge is a function as a judge.
type judge func(ctx context.Context, call tool.Call) (tool.Verdict, error)

func (j judge) Judge(ctx context.Context, call tool.Call) (tool.Verdict, error) { return j(ctx, call) }

func allow(context.Context, tool.Call) (tool.Verdict, error) {
	return tool.Verdict{Decision: tool.Allow, By: "rules"}, nil
}

// words blocks what has a bad word in it.
func words(_ context.Context, call tool.Call) (tool.Verdict, error) {
	if strings.Contains(call.Arguments, "bad") {
		return tool.Verdict{Decision: tool.Block, By: "rules", Rule: "bad", Reason: "it is bad"}, nil
	}
	return tool.Verdict{Decision: tool.Allow, By: "rules"}, nil
}

type bench struct {
	log   event.Log
	gate  *gate.Gate
	tool  *counted
	guard *tool.Guard
}

func openLog(t testing.TB, path string) event.Log {
	t.Helper()
	log, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log
}

func setUp(t testing.TB, log event.Log, j judge) *bench {
	t.Helper()
	g, err := gate.Open(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{log: log, gate: g, tool: &counted{ran: map[string]int{}}}
	b.guard = &tool.Guard{Tools: []tool.Tool{b.tool}, Judge: j, Patience: time.Minute, Gate: g, Log: log, Now: time.Now}
	return b
}

func newBench(t testing.TB, j judge) *bench {
	return setUp(t, openLog(t, filepath.Join(t.TempDir(), "log")), j)
}

func call(id, command string) tool.Call {
	return tool.Call{Agent: "noether", Turn: 1, ID: id, Tool: "shell", Arguments: fmt.Sprintf(`{"command":%q}`, command)}
}

// story lists an agent's events: the types, the calls, and how they ended.
func story(t testing.TB, log event.Log, agent string) []string {
	t.Helper()
	var lines []string
	for e, err := range log.Read(t.Context(), tool.Stream(agent), 0) {
		if err != nil {
			t.Fatal(err)
		}
		payload, err := tool.Registry.Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		switch p := payload.(type) {
		case tool.Judged:
			lines = append(lines, fmt.Sprintf("judged %s %s", p.Call, p.Decision))
		case tool.Started:
			lines = append(lines, fmt.Sprintf("started %s %v", p.Call, p.Overruled))
		case tool.Ended:
			lines = append(lines, fmt.Sprintf("ended %s %s", p.Call, p.Outcome))
		}
	}
	return lines
}

func expectStory(t *testing.T, log event.Log, want ...string) {
	t.Helper()
	if got := story(t, log, "noether"); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestACallIsJudgedCarriedOutAndRecorded(t *testing.T) {
	b := newBench(t, words)
	r, err := b.guard.Run(t.Context(), call("c1", "ls"))
	if err != nil || r.Outcome != tool.Done || r.Output != "ran c1" {
		t.Fatal(r, err)
	}
	expectStory(t, b.log, "judged c1 allow", "started c1 false", "ended c1 done")
	// The same call again, as after a restart: what it had, and nothing is carried out.
	again, err := b.guard.Run(t.Context(), call("c1", "ls"))
	if err != nil || again != r || b.tool.ran["c1"] != 1 {
		t.Errorf("again: %v %v, carried out %d times", again, err, b.tool.ran["c1"])
	}
}

// Row 14: no verdict, or a late one, and nothing is carried out.
func TestNoVerdictNoCall(t *testing.T) {
	late := func(ctx context.Context, c tool.Call) (tool.Verdict, error) {
		<-ctx.Done()
		return tool.Verdict{Decision: tool.Allow}, nil // decided, too late
	}
	silent := func(context.Context, tool.Call) (tool.Verdict, error) { return tool.Verdict{}, nil }
	broken := func(context.Context, tool.Call) (tool.Verdict, error) {
		return tool.Verdict{Decision: tool.Allow}, errors.New("the model is gone")
	}
	for name, j := range map[string]judge{"late": late, "broken": broken, "silent": silent} {
		b := newBench(t, j)
		b.guard.Patience = time.Millisecond
		r, err := b.guard.Run(t.Context(), call("c1", "ls"))
		if err != nil || r.Outcome != tool.Unjudged || len(b.tool.ran) != 0 {
			t.Errorf("%s: %v %v, carried out %v", name, r, err, b.tool.ran)
		}
		expectStory(t, b.log, "ended c1 unjudged")
	}
}

func TestInvalidCallsAreNotCarriedOut(t *testing.T) {
	b := newBench(t, allow)
	for arguments, want := range map[string]string{
		`{"command":"ls"`:                 "not a JSON object",
		`[]`:                              "not a JSON object",
		``:                                "not a JSON object",
		`{"command":"ls"} {}`:             "more than one",
		`{}`:                              `needs the argument "command"`,
		`{"comand":"ls"}`:                 `no argument "comand"`,
		`{"command":["ls"]}`:              "must be text",
		`{"command":null}`:                "not null",
		`{"command":"ls","command":"rm"}`: "twice",
		`{"command":"` + strings.Repeat("x", 600<<10) + `"}`: "in parts",
	} {
		c := call("c"+want+arguments[:min(3, len(arguments))], "")
		c.Arguments = arguments
		r, err := b.guard.Run(t.Context(), c)
		if err != nil || r.Outcome != tool.Invalid || !strings.Contains(r.Output, want) {
			t.Errorf("%.40s: %v %v, want %q", arguments, r, err, want)
		}
	}
	c := call("c9", "ls")
	c.Tool = "bash"
	if r, _ := b.guard.Run(t.Context(), c); r.Outcome != tool.Invalid || !strings.Contains(r.Output, "shell") {
		t.Errorf("unknown tool: %v", r)
	}
	if len(b.tool.ran) != 0 {
		t.Errorf("carried out: %v", b.tool.ran)
	}
}

// What a model misspells is put right before the judge reads it: judge, log and tool
// see one call.
func TestTheJudgeReadsWhatIsCarriedOut(t *testing.T) {
	var judged, ran tool.Call
	b := newBench(t, func(ctx context.Context, c tool.Call) (tool.Verdict, error) {
		judged = c
		return words(ctx, c)
	})
	b.tool.run = func(_ context.Context, c tool.Call) (tool.Result, error) {
		ran = c
		return tool.Result{Outcome: tool.Done}, nil
	}
	c := call("c1", "")
	c.Tool, c.Arguments = "Shell", "{\"arguments\":{\"Command\":\"ls\\u0020-l\",\"timeout\":5}}"
	if r, err := b.guard.Run(t.Context(), c); err != nil || r.Outcome != tool.Done {
		t.Fatal(r, err)
	}
	const want = `{"command":"ls -l","timeout":"5"}`
	if judged.Tool != "shell" || judged.Arguments != want || ran.Tool != "shell" || ran.Arguments != want {
		t.Errorf("the judge read %s %s, the tool %s %s", judged.Tool, judged.Arguments, ran.Tool, ran.Arguments)
	}
	for e, err := range b.log.Read(t.Context(), tool.Stream("noether"), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if j, err := tool.Events.Judged.Decode(e); e.Type == tool.Events.Judged.Name() && (err != nil || j.Tool != "shell" || string(j.Arguments) != want) {
			t.Errorf("the log has %s %s %v", j.Tool, j.Arguments, err)
		}
	}
}

// again is a tool whose calls may be carried out a second time.
type again struct{ *counted }

func (a again) Spec() tool.Spec {
	s := a.counted.Spec()
	s.Again = true
	return s
}

// A process that dies while a call is carried out: what may be done again is, the rest
// ends as interrupted.
func TestAgainAfterDeath(t *testing.T) {
	for _, harmless := range []bool{true, false} {
		log := openLog(t, filepath.Join(t.TempDir(), "log"))
		first := setUp(t, log, allow)
		end := &mortal{Log: log}
		end.left.Store(3) // it cannot write how the call ended
		first.guard.Log = end
		if _, err := first.guard.Run(t.Context(), call("c1", "ls")); !errors.Is(err, errDied) || first.tool.ran["c1"] != 1 {
			t.Fatal(err, first.tool.ran)
		}
		second := setUp(t, log, allow)
		want := []string{"judged c1 allow", "started c1 false", "ended c1 interrupted"}
		runs := 0
		if harmless {
			second.guard.Tools = []tool.Tool{again{second.tool}}
			want[2], runs = "ended c1 done", 1
		}
		if _, err := second.guard.Run(t.Context(), call("c1", "ls")); err != nil || second.tool.ran["c1"] != runs {
			t.Errorf("%v, carried out %d times, want %d", err, second.tool.ran["c1"], runs)
		}
		expectStory(t, log, want...)
	}
}

// Rows 15 and 16: a block stops everybody; a person lets the call through or not.
func TestABlockedCallWaitsForAPerson(t *testing.T) {
	for _, overrule := range []bool{true, false} {
		b := newBench(t, words)
		done := make(chan tool.Result, 1)
		go func() {
			r, err := b.guard.Run(t.Context(), call("c1", "bad"))
			if err != nil {
				t.Error(err)
			}
			done <- r
		}()
		s, err := b.gate.Wait(t.Context(), gate.PhaseOpen)
		if err != nil {
			t.Fatal(err)
		}
		for len(s.Blocks) == 0 {
			s = b.gate.State()
		}
		// Another agent's call waits.
		ctx, cancel := context.WithCancel(t.Context())
		other := call("c1", "ls")
		other.Agent = "gauss"
		waited := make(chan error, 1)
		go func() {
			_, err := b.guard.Run(ctx, other)
			waited <- err
		}()
		for len(story(t, b.log, "gauss")) == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
		if err := <-waited; !errors.Is(err, context.Canceled) {
			t.Errorf("a call while the team is stopped: %v", err)
		}
		if len(b.tool.ran) != 0 {
			t.Errorf("carried out while stopped: %v", b.tool.ran)
		}
		if overrule {
			err = b.gate.Overrule(t.Context(), "person", s.Blocks[0].CallID, "a test")
		} else {
			err = b.gate.Resume(t.Context(), "person", "no")
		}
		if err != nil {
			t.Fatal(err)
		}
		r := <-done
		if overrule {
			expectStory(t, b.log, "judged c1 block", "started c1 true", "ended c1 done")
		} else {
			expectStory(t, b.log, "judged c1 block", "ended c1 blocked")
			if !strings.Contains(r.Output, "it is bad") {
				t.Errorf("the agent is told %q", r.Output)
			}
		}
		// The other agent goes on at the same call.
		if r, err := b.guard.Run(t.Context(), other); err != nil || r.Outcome != tool.Done {
			t.Errorf("after the stop: %v %v", r, err)
		}
	}
}

func TestARefusedCallStopsNobody(t *testing.T) {
	b := newBench(t, func(context.Context, tool.Call) (tool.Verdict, error) {
		return tool.Verdict{Decision: tool.Refuse, Reason: "there is no sudo here"}, nil
	})
	r, err := b.guard.Run(t.Context(), call("c1", "sudo ls"))
	if err != nil || r.Outcome != tool.Refused || !strings.Contains(r.Output, "no sudo") || len(b.tool.ran) != 0 {
		t.Errorf("%v %v, carried out %v", r, err, b.tool.ran)
	}
	if s := b.gate.State(); s.Phase != gate.PhaseOpen {
		t.Errorf("the gate is %s", s.Phase)
	}
}

func TestAnEndedTeamCallsNothing(t *testing.T) {
	b := newBench(t, allow)
	if err := b.gate.End(t.Context(), "person", "enough"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.guard.Run(t.Context(), call("c1", "ls")); !errors.Is(err, gate.ErrEnded) || len(b.tool.ran) != 0 {
		t.Errorf("%v, carried out %v", err, b.tool.ran)
	}
}

func TestACancelledCallIsRecordedAsInterrupted(t *testing.T) {
	b := newBench(t, allow)
	ctx, cancel := context.WithCancel(t.Context())
	b.tool.run = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		cancel()
		return tool.Result{Output: "half"}, ctx.Err()
	}
	if _, err := b.guard.Run(ctx, call("c1", "ls")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	expectStory(t, b.log, "judged c1 allow", "started c1 false", "ended c1 interrupted")
}

var errDied = errors.New("the process died")

// mortal is a log of a process that dies at its n-th append: before it, or after it
// and before its caller learns of it.
type mortal struct {
	event.Log
	left  atomic.Int64
	after bool
}

func (m *mortal) Append(ctx context.Context, stream string, expected event.Sequence, events ...event.Event) (event.Sequence, error) {
	n := m.left.Add(-1)
	if n > 0 || n == 0 && m.after {
		s, err := m.Log.Append(ctx, stream, expected, events...)
		if n == 0 && err == nil {
			err = errDied
		}
		return s, err
	}
	return 0, errDied
}

// Row 16: whatever moment a process dies at, and however often, no call is carried
// out twice, none without a verdict before it, and each ends once.
func TestDeathAtEveryMoment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	log, round := openLog(t, path), 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		agent := fmt.Sprint("agent", round)
		ran, calls := map[string]int{}, rapid.IntRange(1, 4).Draw(rt, "calls")
		finish := func(guard *tool.Guard) error {
			for i := range calls {
				c := call(fmt.Sprint("c", i), "ls")
				c.Agent = agent
				if _, err := guard.Run(t.Context(), c); err != nil {
					return err
				}
			}
			return nil
		}
		for {
			m := &mortal{Log: log, after: rapid.Bool().Draw(rt, "after")}
			m.left.Store(int64(rapid.IntRange(1, 3*calls+2).Draw(rt, "appends")))
			b := setUp(t, m, allow)
			err := finish(b.guard)
			for id, n := range b.tool.ran {
				ran[id] += n
			}
			if err == nil {
				break
			}
			if !errors.Is(err, errDied) {
				rt.Fatal(err)
			}
		}
		judged, started, ended := map[string]int{}, map[string]int{}, map[string]int{}
		for _, line := range story(t, log, agent) {
			f := strings.Fields(line)
			switch f[0] {
			case "judged":
				judged[f[1]]++
			case "started":
				if started[f[1]]++; judged[f[1]] != 1 {
					rt.Fatalf("%s before its verdict", line)
				}
			case "ended":
				if ended[f[1]]++; f[2] == string(tool.Done) && ran[f[1]] != 1 {
					rt.Fatalf("%s, and carried out %d times", line, ran[f[1]])
				}
			}
		}
		for i := range calls {
			id := fmt.Sprint("c", i)
			if judged[id] != 1 || started[id] != 1 || ended[id] != 1 || ran[id] > 1 {
				rt.Fatalf("%s: %d verdicts, %d starts, %d ends, carried out %d times", id, judged[id], started[id], ended[id], ran[id])
			}
		}
	})
}

func BenchmarkGuard(b *testing.B) {
	s := newBench(b, allow)
	s.tool.run = func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{Outcome: tool.Done}, nil }
	var n atomic.Int64
	b.SetParallelism(100)
	b.RunParallel(func(pb *testing.PB) {
		agent := fmt.Sprint("a", n.Add(1))
		for i := 0; pb.Next(); i++ {
			c := call(fmt.Sprint("c", i), "ls")
			c.Agent = agent
			if _, err := s.guard.Run(b.Context(), c); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}
