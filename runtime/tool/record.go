package tool

import (
	"encoding/json"

	"dure/runtime/event"
)

// Stream is the stream of the log that holds an agent's calls.
func Stream(agent string) string { return "calls/" + agent }

// Judged is the payload of tool.judged: what was asked for, and the verdict.
type Judged struct {
	Agent     string          `json:"agent"`
	Turn      int             `json:"turn"`
	Call      string          `json:"call"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Reasoning string          `json:"reasoning,omitempty"`
	Verdict
	LatencyMS float64 `json:"latency_ms"`
}

// Started is the payload of tool.started.
type Started struct {
	Agent string `json:"agent"`
	Turn  int    `json:"turn"`
	Call  string `json:"call"`
	Tool  string `json:"tool"`
	// Overruled: a person allowed what the judge had blocked.
	Overruled bool `json:"overruled,omitempty"`
}

// Ended is the payload of tool.ended.
type Ended struct {
	Agent     string  `json:"agent"`
	Turn      int     `json:"turn"`
	Call      string  `json:"call"`
	Tool      string  `json:"tool"`
	Outcome   Outcome `json:"outcome"`
	Output    string  `json:"output"`
	Bytes     int64   `json:"bytes"`
	ElapsedMS float64 `json:"elapsed_ms"`
}

// Result is what the agent saw.
func (e Ended) Result() Result { return Result{e.Outcome, e.Output, e.Bytes} }

// Events are the types of this package's events, for who reads them.
var Events = struct {
	Judged  event.Type[Judged]
	Started event.Type[Started]
	Ended   event.Type[Ended]
}{
	event.MustRegister[Judged](Registry, "tool.judged", 1),
	event.MustRegister[Started](Registry, "tool.started", 1),
	event.MustRegister[Ended](Registry, "tool.ended", 1),
}

// Registry knows this package's events.
var Registry = event.NewRegistry()

// id makes the event's ID one that only this call's event of this type has: writing it
// twice is then ErrDuplicate.
func id(kind string, call Call) event.ID { return event.DerivedID(kind, call.Agent, call.ID) }
