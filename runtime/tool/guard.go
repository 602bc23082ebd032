package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dure/inference"
	"dure/runtime/event"
	"dure/runtime/gate"
)

// Decision is what a judge says of a call.
type Decision string

// Decisions.
const (
	Allow  Decision = "allow"
	Refuse Decision = "refuse" // not carried out, the agent is told why, and all goes on
	Block  Decision = "block"  // not carried out, and the whole team stops until a person has looked
)

// A Verdict says whether a call may be carried out.
type Verdict struct {
	Decision Decision `json:"decision"`
	By       string   `json:"by"` // rules, or a model's name
	Rule     string   `json:"rule,omitempty"`
	Reason   string   `json:"reason,omitempty"`
}

// A Judge decides before a call is carried out. An error is no verdict.
type Judge interface {
	Judge(ctx context.Context, call Call) (Verdict, error)
}

// Sizes of what is recorded. An event holds a MiB.
const (
	maxArguments = 512 << 10
	maxReasoning = 16 << 10
	maxOutput    = 256 << 10
)

// A Guard stands in front of an agent's tools. Its fields are set once. What the log
// held of an agent's calls when the guard met the agent is remembered, so that a call
// which was judged or started before is not judged anew.
type Guard struct {
	Tools []Tool
	Judge Judge
	// Patience is how long the judge may take.
	Patience time.Duration
	Gate     *gate.Gate
	Log      event.Log
	Now      func() time.Time

	mu   sync.Mutex
	past map[string]map[string]past // by agent and call
}

// Specs are the tools as models are told of them, in their order.
func (g *Guard) Specs() []inference.Tool {
	specs := make([]inference.Tool, len(g.Tools))
	for i, t := range g.Tools {
		specs[i] = t.Spec().Tool()
	}
	return specs
}

// Run carries a call out, or says in the result why it was not. A call that was
// ended before has the result that it had. Errors: gate.ErrEnded, ctx's, those of the
// log, and a tool's own, after which the call is in the log as interrupted.
func (g *Guard) Run(ctx context.Context, call Call) (Result, error) {
	before, err := g.before(ctx, call)
	switch {
	case err != nil:
		return Result{}, err
	case before.ended:
		return g.recall(ctx, call)
	}
	t, call, why := g.find(call)
	if before.started && (why != "" || !t.Spec().Again) {
		return g.end(ctx, call, interrupted, g.Now())
	}
	if why != "" {
		return g.end(ctx, call, Result{Outcome: Invalid, Output: why}, g.Now())
	}
	verdict := before.verdict
	if verdict.Decision == "" {
		var no error
		verdict, no, err = g.judge(ctx, call)
		switch {
		case err != nil:
			return Result{}, err
		case no != nil && ctx.Err() != nil:
			return Result{}, ctx.Err()
		case no != nil:
			return g.end(ctx, call, Result{Outcome: Unjudged, Output: "not carried out: no verdict about this call: " + no.Error()}, g.Now())
		}
	} else if verdict.Decision == Block {
		if err := g.block(ctx, call, verdict); err != nil {
			return Result{}, err
		}
	}
	if verdict.Decision == Refuse {
		return g.end(ctx, call, Result{Outcome: Refused, Output: "not carried out: " + verdict.Reason}, g.Now())
	}
	overruled := false
	if id := (gate.CallID{Agent: call.Agent, Call: call.ID}); verdict.Decision == Block || g.Gate.Blocked(id) {
		decision, err := g.Gate.Decided(ctx, id)
		if err != nil {
			return Result{}, err
		}
		if decision != gate.Allowed {
			return g.end(ctx, call, Result{Outcome: Blocked, Output: "not carried out: blocked: " + verdict.Reason}, g.Now())
		}
		overruled = true
	}
	return g.carryOut(ctx, call, t, overruled)
}

// interrupted is what an agent is told of a call that was started in a process that
// died.
var interrupted = Result{Outcome: Interrupted,
	Output: "the machine stopped while this was carried out; it may have happened in whole or in part: look before you do it again"}

// find returns the tool and the call as it is meant, or what is wrong with it. From
// here on, judge, log and tool see the same name and the same arguments, whatever the
// model's spelling was.
func (g *Guard) find(call Call) (t Tool, meant Call, why string) {
	named := func(same func(a, b string) bool) int {
		return slices.IndexFunc(g.Tools, func(t Tool) bool { return same(t.Spec().Name, call.Tool) })
	}
	i := named(func(a, b string) bool { return a == b })
	if i < 0 {
		i = named(Same)
	}
	if i < 0 {
		names := make([]string, len(g.Tools))
		for i, t := range g.Tools {
			names[i] = t.Spec().Name
		}
		return nil, call, fmt.Sprintf("there is no tool %q; there are %s", call.Tool, strings.Join(names, ", "))
	}
	if len(call.Arguments) > maxArguments {
		return nil, call, fmt.Sprintf("arguments of %d bytes; a call takes %d at most: do it in parts", len(call.Arguments), maxArguments)
	}
	spec := g.Tools[i].Spec()
	arguments, err := spec.meant(call.Arguments)
	if err != nil {
		return nil, call, err.Error()
	}
	call.Tool, call.Arguments = spec.Name, arguments
	return g.Tools[i], call, ""
}

// judge gets a verdict and records it; no says why there is none. A block stops the
// gate before it is recorded.
func (g *Guard) judge(ctx context.Context, call Call) (v Verdict, no, err error) {
	asked := g.Now()
	if v, no = g.ask(ctx, call); no != nil {
		return v, no, nil
	}
	if v.Decision == Block {
		if err := g.block(ctx, call, v); err != nil {
			return v, nil, err
		}
	}
	e, err := Events.Judged.New(Judged{
		Agent: call.Agent, Turn: call.Turn, Call: call.ID, Tool: call.Tool, Arguments: json.RawMessage(call.Arguments),
		Reasoning: brief(call.Reasoning, maxReasoning), Verdict: v, LatencyMS: milliseconds(g.Now().Sub(asked)),
	})
	if err == nil {
		_, err = g.append(ctx, e, call)
	}
	return v, nil, err
}

// ask is the judge's word, in time. A judge that breaks has said nothing.
func (g *Guard) ask(ctx context.Context, call Call) (v Verdict, no error) {
	defer func() {
		if r := recover(); r != nil {
			no = fmt.Errorf("the judge broke: %v", r)
		}
	}()
	limited, cancel := context.WithTimeout(ctx, g.Patience)
	defer cancel()
	v, no = g.Judge.Judge(limited, call)
	if no == nil {
		no = limited.Err() // late is no verdict
	}
	if no != nil {
		return Verdict{}, no
	}
	switch v.Decision {
	case Allow, Refuse, Block:
		return v, nil
	}
	return v, fmt.Errorf("the judge said %q", v.Decision)
}

func (g *Guard) block(ctx context.Context, call Call, v Verdict) error {
	return g.Gate.Block(ctx, gate.Block{
		CallID: gate.CallID{Agent: call.Agent, Call: call.ID}, Turn: call.Turn, Tool: call.Tool,
		Arguments: json.RawMessage(call.Arguments), Rule: v.Rule, Reason: v.Reason,
	})
}

// carryOut is the only place where a tool runs.
func (g *Guard) carryOut(ctx context.Context, call Call, t Tool, overruled bool) (Result, error) {
	leave, err := g.Gate.Enter(ctx)
	if err != nil {
		return Result{}, err
	}
	defer leave()
	e, err := Events.Started.New(Started{Agent: call.Agent, Turn: call.Turn, Call: call.ID, Tool: call.Tool, Overruled: overruled})
	if err != nil {
		return Result{}, err
	}
	started := g.Now()
	fresh, err := g.append(ctx, e, call)
	if err != nil {
		return Result{}, err
	}
	if !fresh && !t.Spec().Again {
		return g.end(ctx, call, interrupted, started)
	}
	r, err := t.Run(ctx, call)
	if err != nil {
		r.Outcome = Interrupted
		r.Output = strings.TrimLeft(r.Output+"\n[stopped: "+err.Error()+"; it may have happened in part]", "\n")
		_, endErr := g.end(ctx, call, r, started)
		return Result{}, errors.Join(err, endErr)
	}
	return g.end(ctx, call, r, started)
}

// end records how a call ended. What was recorded first counts.
func (g *Guard) end(ctx context.Context, call Call, r Result, started time.Time) (Result, error) {
	r.Bytes = max(r.Bytes, int64(len(r.Output)))
	whole := strings.ToValidUTF8(r.Output, "\uFFFD")
	r.Output = brief(whole, maxOutput)
	ended := Ended{
		Agent: call.Agent, Turn: call.Turn, Call: call.ID, Tool: call.Tool,
		Outcome: r.Outcome, Bytes: r.Bytes, ElapsedMS: milliseconds(g.Now().Sub(started)),
	}
	ended.Output = r.Output
	e, err := Events.Ended.New(ended)
	// As JSON a byte may take six.
	for limit := maxOutput / 2; err == nil && len(e.Payload) > event.MaxPayload; limit /= 2 {
		r.Output = brief(whole, limit)
		ended.Output = r.Output
		e, err = Events.Ended.New(ended)
	}
	if err != nil {
		return Result{}, err
	}
	// What happened is told even when the agent is being stopped.
	ctx = context.WithoutCancel(ctx)
	fresh, err := g.append(ctx, e, call)
	if err != nil || fresh {
		return r, err
	}
	return g.recall(ctx, call)
}

// append writes an event of a call; fresh is false where the call has one of that
// type already.
func (g *Guard) append(ctx context.Context, e event.Event, call Call) (fresh bool, err error) {
	e.ID = id(e.Type, call)
	_, err = g.Log.Append(ctx, Stream(call.Agent), event.Any, e)
	if errors.Is(err, event.ErrDuplicate) {
		return false, nil
	}
	return err == nil, err
}

// past is what the log held of a call when the guard met its agent.
type past struct {
	verdict        Verdict
	started, ended bool
}

// before is what happened to a call before this process.
func (g *Guard) before(ctx context.Context, call Call) (past, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.past[call.Agent] == nil {
		calls, err := g.read(ctx, call.Agent)
		if err != nil {
			return past{}, err
		}
		if g.past == nil {
			g.past = map[string]map[string]past{}
		}
		g.past[call.Agent] = calls
	}
	return g.past[call.Agent][call.ID], nil
}

func (g *Guard) read(ctx context.Context, agent string) (map[string]past, error) {
	calls := map[string]past{}
	for e, err := range g.Log.Read(ctx, Stream(agent), 0) {
		if err != nil {
			return nil, err
		}
		payload, err := Registry.Decode(e)
		if err != nil {
			return nil, err
		}
		switch p := payload.(type) {
		case Judged:
			c := calls[p.Call]
			c.verdict = p.Verdict
			calls[p.Call] = c
		case Started:
			c := calls[p.Call]
			c.started = true
			calls[p.Call] = c
		case Ended:
			calls[p.Call] = past{ended: true}
		}
	}
	return calls, nil
}

// recall is the result of a call that the log holds the end of.
func (g *Guard) recall(ctx context.Context, call Call) (Result, error) {
	for e, err := range g.Log.Read(ctx, Stream(call.Agent), 0) {
		if err != nil {
			return Result{}, err
		}
		if e.ID == id(Events.Ended.Name(), call) {
			ended, err := Events.Ended.Decode(e)
			return ended.Result(), err
		}
	}
	return Result{}, fmt.Errorf("call %s of agent %s: its end is not in the log", call.ID, call.Agent)
}

func brief(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return cut(s, limit, "")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
