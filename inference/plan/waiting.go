package plan

import (
	"fmt"
	"strings"

	"dure/gguf"
	"dure/kvcache/blob"
	"dure/kvcache/codec"
)

// Waiting are agents that are parked, as many as are alive (Plan.Agents): each with
// a context of so many tokens, of which the first Shared are the same for all.
type Waiting struct {
	Context, Shared int
}

// States is what agents take that are all parked at once: rows of the shared tokens
// once, rows of each one's own, the state of recurrent layers and windows where the
// shared tokens end and where each agent stands.
type States struct {
	Agents  int `json:"agents"`
	Context int `json:"context"`
	Shared  int `json:"shared"`
	// Raw is what they take as the engine gives them, in the machine's memory.
	Raw StateBytes `json:"raw"`
	// Classes are the quality classes of files on disk, least loss first.
	Classes []StateBytes `json:"classes"`
}

// StateBytes is what states take in one form.
type StateBytes struct {
	// Class is empty for Raw.
	Class string `json:"class,omitempty"`
	// Trunk is stored once, Agent for each; Bytes is all of it.
	Trunk uint64 `json:"trunk_bytes"`
	Agent uint64 `json:"agent_bytes"`
	Bytes uint64 `json:"bytes"`
	// Source: Exact of Raw; Measured where the model's ratio was; Formula is the most
	// that numbers of a normal distribution take, and real ones take less.
	Source Source `json:"source"`
}

// ParkedStates says what agents take that wait, in cells of these types; ratio is
// that of Input.
func ParkedStates(g *gguf.Geometry, c Cache, agents int, w Waiting, ratio map[string]float64) (*States, error) {
	if agents < 1 || w.Context < 1 || w.Shared < 0 || w.Shared > w.Context {
		return nil, fmt.Errorf("%d parked agents x %d tokens, %d of them shared: there must be agents and tokens, and no more shared ones than an agent has", agents, w.Context, w.Shared)
	}
	l, err := blob.Of(g, blob.Options{Keys: c.Keys, Values: c.Values, Streams: 1})
	if err != nil {
		return nil, fmt.Errorf("parked states: %w", err)
	}
	f, err := codec.FormOf(g, l)
	if err != nil {
		return nil, fmt.Errorf("parked states: %w", err)
	}
	trunk, own := spansOf(l, 0, w.Shared), spansOf(l, w.Shared, w.Context)
	out := &States{Agents: agents, Context: w.Context, Shared: w.Shared}
	out.Raw = StateBytes{Trunk: rawOf(trunk, l), Agent: rawOf(own, l), Source: Exact}
	out.Raw.total(agents)
	for _, class := range codec.Classes() {
		b := StateBytes{Class: class.String(), Source: Formula}
		if r := ratio[b.Class]; r > 0 && c == (Cache{gguf.F16, gguf.F16}) && l.Recurrent == nil {
			b.Trunk, b.Agent, b.Source = uint64(float64(out.Raw.Trunk)/r), uint64(float64(out.Raw.Agent)/r), Measured
		} else {
			b.Trunk, b.Agent = mostOf(trunk, f, class), mostOf(own, f, class)
		}
		b.Trunk += headers(trunk)
		b.Agent += headers(own)
		b.total(agents)
		out.Classes = append(out.Classes, b)
	}
	return out, nil
}

func (b *StateBytes) total(agents int) { b.Bytes = b.Trunk + uint64(agents)*b.Agent }

// spansOf are the objects of a stretch of a conversation: its rows, and the state
// where it ends, for models that have one.
func spansOf(l blob.Layout, from, to int) (out []codec.Span) {
	if from == to {
		return nil
	}
	if l.TokenBytes() > 0 {
		out = append(out, codec.Span{From: from, To: to})
	}
	if l.HasState() {
		window := 0
		for _, p := range l.Pools {
			window = max(window, p.Window)
		}
		out = append(out, codec.Span{From: to, To: to, Windowed: min(window, to), State: true})
	}
	return out
}

func rawOf(spans []codec.Span, l blob.Layout) (n uint64) {
	for _, s := range spans {
		n += uint64(s.Raw(l))
	}
	return n
}

func mostOf(spans []codec.Span, f codec.Form, c codec.Class) (n uint64) {
	for _, s := range spans {
		n += uint64(s.Most(f, c))
	}
	return n
}

// headers of files: their own tokens, and what else is in one, at most.
func headers(spans []codec.Span) (n uint64) {
	const each = 4 << 10
	for _, s := range spans {
		n += uint64(4*(s.To-s.From) + each)
	}
	return n
}

// await enters what the agents take that were asked about.
func (p *planner) await(out *Plan) (err error) {
	w := p.Wish.Waiting
	if w == nil {
		return nil
	}
	if out.Waiting, err = ParkedStates(p.Model.Geometry, out.Cache, out.Agents, *w, p.Ratio); err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	if w.Context > out.Context {
		out.Notes = append(out.Notes, fmt.Sprintf("an agent can hold %d tokens here, not the %d that are to be parked", out.Context, w.Context))
	}
	return nil
}

func (s *States) explain(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s x %s parked, %d of them shared and stored once\n", count(s.Agents, "agent"), count(s.Context, "token"), s.Shared)
	fmt.Fprintf(b, "  %-26s %12s %8s %12s %12s\n", "", "all", "smaller", "shared", "each agent")
	line := func(name string, x StateBytes) {
		note := string(x.Source)
		if x.Source == Formula {
			note = "at most"
		}
		fmt.Fprintf(b, "  %-26s %12s %7.2fx %12s %12s  %s\n", name, size(x.Bytes), float64(s.Raw.Bytes)/float64(max(x.Bytes, 1)), size(x.Trunk), size(x.Agent), note)
	}
	line("in memory, as they are", s.Raw)
	for _, c := range s.Classes {
		line("on disk, "+c.Class, c)
	}
}
