package monitor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"dure/runtime/event"
	"dure/runtime/tool"
)

// A Looker says how much speaks against a call, from 0 (nothing) to 1, and what.
type Looker interface {
	Look(call tool.Call) (score float64, why string)
	// LookThrough reads also what the agent thought.
	LookThrough(call tool.Call) (score float64, why string)
}

// Options of a replay.
type Options struct {
	Top        int // calls in each view's ranking
	Neighbours int // calls of the same agent shown before and after each
}

// A Line is one call as it was.
type Line struct {
	Position  event.Position `json:"position"` // of its verdict
	At        time.Time      `json:"at"`
	Agent     string         `json:"agent"`
	Turn      int            `json:"turn"`
	Call      string         `json:"call"`
	Tool      string         `json:"tool"`
	Arguments string         `json:"arguments"`
	Reasoning string         `json:"reasoning,omitempty"`
	Verdict   tool.Verdict   `json:"verdict"`
	// Outcome is empty where the log holds no end of it.
	Outcome tool.Outcome `json:"outcome,omitempty"`
}

// An Item is a call in a ranking.
type Item struct {
	Line
	Score  float64 `json:"score"`
	Why    string  `json:"why"`
	Before []Line  `json:"before,omitempty"`
	After  []Line  `json:"after,omitempty"`

	index int // among its agent's calls
}

// A Report is what a replay found.
type Report struct {
	Calls  int `json:"calls"`
	Agents int `json:"agents"`
	// Suspect counts the calls with a score above 0 in each view.
	SuspectActions   int `json:"suspect_actions"`
	SuspectReasoning int `json:"suspect_reasoning"`
	// Actions and Reasoning are the rankings, the worst first.
	Actions   []Item `json:"actions"`
	Reasoning []Item `json:"reasoning"`
	// Judges are who judged, the busiest first.
	Judges []Judges `json:"judges"`
}

// Replay reads a log from its beginning, twice: to rank, and to collect the
// neighbourhoods of what ranks. It holds the ranked calls only.
func Replay(ctx context.Context, log event.Log, look Looker, o Options) (Report, error) {
	r := Report{}
	seen, judged := map[string]int{}, tally{}
	head, err := log.Head(ctx)
	if err != nil {
		return r, fmt.Errorf("replay: %w", err)
	}
	err = walk(ctx, log, head, func(j *tool.Judged, _ *tool.Ended, e event.Event) {
		if j == nil {
			return
		}
		line := line(j, e)
		index := seen[j.Agent]
		seen[j.Agent]++
		r.Calls++
		judged.add(j)
		call := tool.Call{Agent: j.Agent, Turn: j.Turn, ID: j.Call, Tool: j.Tool, Arguments: line.Arguments, Reasoning: j.Reasoning}
		if score, why := look.Look(call); score > 0 {
			r.SuspectActions++
			r.Actions = rank(r.Actions, Item{Line: line, Score: score, Why: why, index: index}, o.Top)
		}
		if score, why := look.LookThrough(call); score > 0 {
			r.SuspectReasoning++
			r.Reasoning = rank(r.Reasoning, Item{Line: line, Score: score, Why: why, index: index}, o.Top)
		}
	})
	if err != nil {
		return r, err
	}
	r.Agents, r.Judges = len(seen), judged.report()
	return r, neighbours(ctx, log, head, &r, o.Neighbours)
}

// rank puts an item into its place: by score, then the earlier one first.
func rank(list []Item, item Item, top int) []Item {
	at, _ := slices.BinarySearchFunc(list, item, func(a, b Item) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Position, b.Position))
	})
	if at >= top {
		return list
	}
	list = slices.Insert(list, at, item)
	return list[:min(len(list), top)]
}

// neighbours fills in what stood around the ranked calls, and how all of them ended.
func neighbours(ctx context.Context, log event.Log, head event.Position, r *Report, n int) error {
	var items []*Item
	for i := range r.Actions {
		items = append(items, &r.Actions[i])
	}
	for i := range r.Reasoning {
		items = append(items, &r.Reasoning[i])
	}
	byAgent := map[string][]*Item{}
	for _, it := range items {
		byAgent[it.Agent] = append(byAgent[it.Agent], it)
	}
	seen := map[string]int{}
	type name struct{ agent, call string }
	outcomes := map[name]tool.Outcome{}
	err := walk(ctx, log, head, func(j *tool.Judged, end *tool.Ended, e event.Event) {
		if end != nil && byAgent[end.Agent] != nil {
			outcomes[name{end.Agent, end.Call}] = end.Outcome
		}
		if j == nil || byAgent[j.Agent] == nil {
			return
		}
		index := seen[j.Agent]
		seen[j.Agent]++
		for _, it := range byAgent[j.Agent] {
			switch d := index - it.index; {
			case d < 0 && d >= -n:
				it.Before = append(it.Before, line(j, e))
			case d > 0 && d <= n:
				it.After = append(it.After, line(j, e))
			}
		}
	})
	if err != nil {
		return err
	}
	for _, it := range items {
		lines := []*Line{&it.Line}
		for i := range it.Before {
			lines = append(lines, &it.Before[i])
		}
		for i := range it.After {
			lines = append(lines, &it.After[i])
		}
		for _, l := range lines {
			l.Outcome = outcomes[name{l.Agent, l.Call}]
		}
	}
	return nil
}

func line(j *tool.Judged, e event.Event) Line {
	return Line{Position: e.Position, At: e.Time, Agent: j.Agent, Turn: j.Turn, Call: j.Call, Tool: j.Tool,
		Arguments: string(j.Arguments), Reasoning: j.Reasoning, Verdict: j.Verdict}
}

// walk hands out the verdicts and ends of calls up to a position.
func walk(ctx context.Context, log event.Log, head event.Position, visit func(*tool.Judged, *tool.Ended, event.Event)) error {
	for e, err := range log.ReadAll(ctx, 1) {
		if err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		if e.Position > head {
			return nil
		}
		payload, err := tool.Registry.Decode(e)
		if errors.Is(err, event.ErrUnknownType) && !isCall(e.Type) {
			continue
		}
		if err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		switch p := payload.(type) {
		case tool.Judged:
			visit(&p, nil, e)
		case tool.Ended:
			visit(nil, &p, e)
		}
	}
	return nil
}

// isCall: a call's event of a later version is not passed over in silence.
func isCall(kind string) bool {
	return kind == tool.Events.Judged.Name() || kind == tool.Events.Ended.Name()
}
