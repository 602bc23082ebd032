package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// A Guard stands in front of an agent's tools. Its fields are set once.
type Guard struct {
	Tools []Tool
	Judge Judge
	// Patience is how long the judge may take.
	Patience time.Duration
	Gate     *gate.Gate
	Log      event.Log
	Now      func() time.Time
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
	t, why := g.find(call)
	if why != "" {
		return g.end(ctx, call, Result{Outcome: Invalid, Output: why}, g.Now())
	}
	verdict, err := g.judge(ctx, call)
	if err != nil {
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		return g.end(ctx, call, Result{Outcome: Unjudged, Output: "not carried out: no verdict about this call: " + err.Error()}, g.Now())
	}
	overruled := false
	if verdict.Decision == Refuse {
		return g.end(ctx, call, Result{Outcome: Refused, Output: "not carried out: " + verdict.Reason}, g.Now())
	}
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

// find returns the tool, or what is wrong with the call.
func (g *Guard) find(call Call) (t Tool, why string) {
	i := slices.IndexFunc(g.Tools, func(t Tool) bool { return t.Spec().Name == call.Tool })
	if i < 0 {
		names := make([]string, len(g.Tools))
		for i, t := range g.Tools {
			names[i] = t.Spec().Name
		}
		return nil, fmt.Sprintf("there is no tool %q; there are %s", call.Tool, strings.Join(names, ", "))
	}
	if len(call.Arguments) > maxArguments {
		return nil, fmt.Sprintf("arguments of %d bytes; a call takes %d at most: do it in parts", len(call.Arguments), maxArguments)
	}
	spec := g.Tools[i].Spec()
	var err error
	if spec.Schema == nil {
		_, err = spec.Parse(call.Arguments)
	} else {
		_, err = object(call.Arguments)
	}
	if err != nil {
		return nil, err.Error()
	}
	return g.Tools[i], ""
}

// judge gets a verdict and records it. A call that has one in the log keeps it. A
// block stops the gate before it is recorded.
func (g *Guard) judge(ctx context.Context, call Call) (Verdict, error) {
	asked := g.Now()
	limited, cancel := context.WithTimeout(ctx, g.Patience)
	defer cancel()
	verdict, err := g.Judge.Judge(limited, call)
	if err == nil {
		err = limited.Err() // late is no verdict
	}
	if err != nil {
		return Verdict{}, err
	}
	switch verdict.Decision {
	case Allow, Refuse:
	case Block:
		if err := g.block(ctx, call, verdict); err != nil {
			return Verdict{}, err
		}
	default:
		return Verdict{}, fmt.Errorf("the judge said %q", verdict.Decision)
	}
	e, err := Events.Judged.New(Judged{
		Agent: call.Agent, Turn: call.Turn, Call: call.ID, Tool: call.Tool, Arguments: json.RawMessage(call.Arguments),
		Reasoning: brief(call.Reasoning, maxReasoning), Verdict: verdict, LatencyMS: milliseconds(g.Now().Sub(asked)),
	})
	if err != nil {
		return Verdict{}, err
	}
	fresh, err := g.append(ctx, e, call)
	if err != nil || fresh {
		return verdict, err
	}
	past, err := g.recall(ctx, call)
	if err != nil {
		return Verdict{}, err
	}
	if past.judged.Decision == Block {
		err = g.block(ctx, call, past.judged.Verdict)
	}
	return past.judged.Verdict, err
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
	if !fresh {
		return g.end(ctx, call, Result{Outcome: Interrupted,
			Output: "the machine stopped while this was carried out; it may have happened in whole or in part: look before you do it again"}, started)
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
	r.Output = brief(strings.ToValidUTF8(r.Output, "\uFFFD"), maxOutput)
	e, err := Events.Ended.New(Ended{
		Agent: call.Agent, Turn: call.Turn, Call: call.ID, Tool: call.Tool,
		Outcome: r.Outcome, Output: r.Output, Bytes: r.Bytes, ElapsedMS: milliseconds(g.Now().Sub(started)),
	})
	if err != nil {
		return Result{}, err
	}
	// What happened is told even when the agent is being stopped.
	ctx = context.WithoutCancel(ctx)
	fresh, err := g.append(ctx, e, call)
	if err != nil || fresh {
		return r, err
	}
	past, err := g.recall(ctx, call)
	return past.ended.Result(), err
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

// past is what the log holds of a call.
type past struct {
	judged Judged
	ended  Ended
}

// recall reads an agent's calls; needed only after a restart.
func (g *Guard) recall(ctx context.Context, call Call) (past, error) {
	var p past
	for e, err := range g.Log.Read(ctx, Stream(call.Agent), 0) {
		if err != nil {
			return p, err
		}
		switch e.ID {
		case id(Events.Judged.Name(), call):
			p.judged, err = Events.Judged.Decode(e)
		case id(Events.Ended.Name(), call):
			p.ended, err = Events.Ended.Decode(e)
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

func brief(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return cut(s, limit, "")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
