package agent

import (
	"encoding/json"

	"dure/inference"
	"dure/runtime/event"
)

// Stream is the stream of the log that holds an agent's conversation, one for each
// thread.
func Stream(name, thread string) string {
	if thread == "" {
		return "agent/" + name
	}
	return "agent/" + name + "/" + thread
}

// Born is the payload of agent.born: what never changes of an agent.
type Born struct {
	Name string `json:"name"`
	// Thread tells conversations of one agent apart: letters, digits, and "-". An agent
	// that has one only may have it empty.
	Thread string `json:"thread,omitempty"`
	Parent string `json:"parent,omitempty"`
	Role   string `json:"role"`
	System string `json:"system"`
	Task   string `json:"task"`
	// Finish is the tool whose successful call ends the agent.
	Finish string `json:"finish"`
	// Base is the commit that its workspace stands on, if it has one.
	Base string `json:"base,omitempty"`
	// Mail is the last letter to the agent that is from before the thread.
	Mail event.Sequence `json:"mail,omitempty"`
}

// Again is the payload of agent.again: an agent that had ended goes on, since what it
// did came back.
type Again struct {
	Round int    `json:"round"` // counts up; the first, of agent.born, is 0
	Text  string `json:"text"`  // why: words of the harness
}

// Turned is the payload of agent.turned: one answer of the model.
type Turned struct {
	Turn      int    `json:"turn"` // from 1
	Content   string `json:"content,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	// Proof is inference.Message.Proof.
	Proof  json.RawMessage        `json:"proof,omitempty"`
	Calls  []inference.ToolCall   `json:"calls,omitempty"`
	Finish inference.FinishReason `json:"finish"`
	// Unread says why something that looked like a call could not be read as one.
	Unread string          `json:"unread,omitempty"`
	Model  string          `json:"model"`
	Usage  inference.Usage `json:"usage"`
}

// Relation says who speaks to an agent, as the harness knows it.
type Relation string

// Relations.
const (
	Harness Relation = "harness" // the program around the agent
	Person  Relation = "person"  // who owns the machine
	Team    Relation = "team"    // another agent of the same swarm
	Foreign Relation = "foreign" // anybody else
)

// Told is the payload of agent.told: what was said to the agent.
type Told struct {
	From     string   `json:"from"`
	Relation Relation `json:"relation"`
	Text     string   `json:"text"`
	// Ref names the message where it comes from, so that it is told once.
	Ref string `json:"ref,omitempty"`
}

// Outcome says how an agent ended.
type Outcome string

// Outcomes.
const (
	Done    Outcome = "done"    // it said so; whether that is true is for others to check
	Silent  Outcome = "silent"  // it stopped calling tools
	TooLong Outcome = "turns"   // it had as many turns as it may have
	Stopped Outcome = "stopped" // from outside
)

// Ended is the payload of agent.ended.
type Ended struct {
	Outcome Outcome `json:"outcome"`
	Text    string  `json:"text,omitempty"` // what it said of its work
}

// Registry knows this package's events.
var Registry = event.NewRegistry()

// Events are the types of this package's events.
var Events = struct {
	Born   event.Type[Born]
	Turned event.Type[Turned]
	Told   event.Type[Told]
	Ended  event.Type[Ended]
	Again  event.Type[Again]

	Compacted event.Type[Compacted]
}{
	event.MustRegister[Born](Registry, "agent.born", 1),
	event.MustRegister[Turned](Registry, "agent.turned", 1),
	event.MustRegister[Told](Registry, "agent.told", 1),
	event.MustRegister[Ended](Registry, "agent.ended", 1),
	event.MustRegister[Again](Registry, "agent.again", 1),

	event.MustRegister[Compacted](Registry, "agent.compacted", 1),
}
