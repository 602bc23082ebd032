package gate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"dure/runtime/event"
)

// Phase is what the gate lets through.
type Phase string

// Phases.
const (
	PhaseOpen    Phase = "open"    // whoever comes
	PhaseStopped Phase = "stopped" // nobody until a person decides
	PhaseEnded   Phase = "ended"   // nobody ever again
)

// Decision is what became of a blocked call.
type Decision string

// Decisions. The empty one is not taken yet.
const (
	Refused Decision = "refused" // it is not carried out; its agent is told why
	Allowed Decision = "allowed" // a person overruled the judge
)

// CallID names a call of a tool: calls of one agent have different names.
type CallID struct {
	Agent string `json:"agent"`
	Call  string `json:"call"`
}

// Block is a call that was not carried out, and why.
type Block struct {
	CallID
	Turn      int             `json:"turn"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Rule      string          `json:"rule,omitempty"` // of the judge
	Reason    string          `json:"reason"`
	At        time.Time       `json:"at,omitzero"` // of its event
}

// Stop is a stop that a person, or a limit, asked for.
type Stop struct {
	By     string    `json:"by"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at,omitzero"`
}

// State is what the gate's events add up to.
type State struct {
	Phase Phase `json:"phase"`
	// Blocks without a decision, the oldest first.
	Blocks []Block `json:"blocks,omitempty"`
	// Stop that was asked for; nil where only blocks stopped the gate. Of an ended
	// gate, who ended it.
	Stop *Stop `json:"stop,omitempty"`
	// Stops counts those that were: how often an open gate stopped.
	Stops int `json:"stops"`

	decided map[CallID]Decision
	last    event.Sequence
}

// NewState is the state before the first event.
func NewState() State { return State{Phase: PhaseOpen, decided: map[CallID]Decision{}} }

// Decision is what became of a call, empty where nobody decided or blocked it.
func (s State) Decision(id CallID) Decision { return s.decided[id] }

// The types of the gate's events.
type (
	resumed struct {
		By   string `json:"by"`
		Note string `json:"note,omitempty"`
	}
	overruled struct {
		CallID
		By   string `json:"by"`
		Note string `json:"note,omitempty"`
	}
)

// types of events that the gate writes.
type types struct {
	registry  *event.Registry
	blocked   event.Type[Block]
	stopped   event.Type[Stop]
	resumed   event.Type[resumed]
	overruled event.Type[overruled]
	ended     event.Type[Stop]
}

var kinds = register(event.NewRegistry())

func register(r *event.Registry) types {
	return types{
		registry:  r,
		blocked:   event.MustRegister[Block](r, "gate.blocked", 1),
		stopped:   event.MustRegister[Stop](r, "gate.stopped", 1),
		resumed:   event.MustRegister[resumed](r, "gate.resumed", 1),
		overruled: event.MustRegister[overruled](r, "gate.overruled", 1),
		ended:     event.MustRegister[Stop](r, "gate.ended", 1),
	}
}

// Apply returns the state after an event of the gate's stream; s is not changed.
func (s State) Apply(e event.Event) (State, error) {
	if e.Sequence != s.last+1 {
		return s, fmt.Errorf("gate: %w: event %d after %d", event.ErrDamaged, e.Sequence, s.last)
	}
	payload, err := kinds.registry.Decode(e)
	if err != nil {
		return s, fmt.Errorf("gate: %w", err)
	}
	s.last = e.Sequence
	if s.Phase == PhaseEnded {
		return s, nil
	}
	s.decided, s.Blocks = maps.Clone(s.decided), slices.Clone(s.Blocks)
	switch e.Type {
	case kinds.blocked.Name():
		s = s.block(payload.(Block), e.Time)
	case kinds.stopped.Name():
		stop := payload.(Stop)
		stop.At = e.Time
		s.Stop = &stop
		s = s.settle()
	case kinds.resumed.Name():
		s = s.refuseAll()
		s.Stop = nil
		s = s.settle()
	case kinds.overruled.Name():
		id := payload.(overruled).CallID
		s.Blocks = slices.DeleteFunc(s.Blocks, func(b Block) bool { return b.CallID == id })
		s.decided[id] = Allowed
		s = s.settle()
	case kinds.ended.Name():
		stop := payload.(Stop)
		stop.At = e.Time
		s = s.refuseAll()
		s.Phase, s.Stop = PhaseEnded, &stop
	}
	return s, nil
}

func (s State) block(b Block, at time.Time) State {
	if s.decided[b.CallID] != "" {
		return s
	}
	b.At = at
	s.Blocks = append(s.Blocks, b)
	return s.settle()
}

func (s State) refuseAll() State {
	for _, b := range s.Blocks {
		s.decided[b.CallID] = Refused
	}
	s.Blocks = nil
	return s
}

// settle derives the phase of a gate that did not end.
func (s State) settle() State {
	next := PhaseOpen
	if len(s.Blocks) > 0 || s.Stop != nil {
		next = PhaseStopped
	}
	if s.Phase == PhaseOpen && next == PhaseStopped {
		s.Stops++
	}
	s.Phase = next
	return s
}
