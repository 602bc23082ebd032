package inference

import "encoding/json"

import "time"

// Roles of a chat message, as the chat templates of the models know them.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool" // what a tool returned
)

// Message is one turn of a conversation. Content is text; other kinds of
// content are refused by the surfaces before a Message is made.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	// Name is the optional name of the participant (OpenAI's field of that
	// name), of a tool's result that of the tool; templates that know it print it.
	Name string `json:"name,omitempty"`
	// Reasoning is what an assistant thought before Content. Templates decide
	// whether the model sees it again.
	Reasoning string `json:"reasoning,omitempty"`
	// Proof is what the answer's maker gave with it and wants to see again, so that it
	// takes its own thinking back. It means something to that maker only; others leave it
	// out. It holds for the message as it was, and for none that was changed.
	Proof json.RawMessage `json:"proof,omitempty"`
	// ToolCalls are those an assistant made, after Content.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// ToolCallID is the call whose result Content is; of RoleTool only.
	ToolCallID string `json:"tool_call_id,omitempty"`
}

// Request asks for one completion, either of a conversation (Messages, through
// the model's chat template) or of a raw Prompt; exactly one of them is set.
type Request struct {
	// ID names the request in logs and answers. The caller makes it.
	ID       string    `json:"id"`
	Messages []Message `json:"messages,omitempty"`
	// Continue: the last message, an assistant's, is the beginning of the answer, which
	// goes on from there.
	Continue bool    `json:"continue,omitempty"`
	Prompt   *Prompt `json:"prompt,omitempty"`
	Params   Params  `json:"params"`
	Caller   Caller  `json:"caller,omitzero"`
	// Tools that the answer may call, and whether it has to; of conversations only.
	Tools      []Tool     `json:"tools,omitempty"`
	ToolChoice ToolChoice `json:"tool_choice,omitzero"`
	// Format is the form that the text of the answer must have; nil for any.
	Format *Format `json:"format,omitempty"`
	// Reasoning says how much the model thinks before it answers.
	Reasoning Reasoning `json:"reasoning,omitzero"`
}

// Caller says who asks, how urgent it is and what follows: what a scheduler and
// a prefix cache can use. All of it may be left out.
type Caller struct {
	// Session names the conversation that the prompt continues: its state is
	// looked for first, and kept with a view to the next turn.
	Session string `json:"session,omitempty"`
	// Agent that asks, and the agent that started it.
	Agent  string `json:"agent,omitempty"`
	Parent string `json:"parent,omitempty"`
	// Priority is PriorityInteractive where it is empty.
	Priority Priority `json:"priority,omitempty"`
	// DeadlineMS is how many milliseconds after its arrival a request is of no
	// more use: it then ends with CodeDeadline. 0 = never.
	DeadlineMS int `json:"deadline_ms,omitempty"`
	// Next is what the session does after this answer.
	Next Phase `json:"next,omitempty"`
	// PinPrefix keeps the state of everything before the last message (of a raw
	// prompt: of all of it) until the model is unloaded, or later pins need its
	// room: all of them together take half of the memory for states at most.
	PinPrefix bool `json:"pin_prefix,omitempty"`
	// KeepAlive is how long the model stays loaded after this request if no other
	// comes, for whoever loads models; 0 = the model's own time, negative = for ever.
	KeepAlive time.Duration `json:"keep_alive,omitempty"`
}

// Priority of a request. Waiting raises it by and by.
type Priority string

// Priorities, the most urgent first.
const (
	PriorityInteractive Priority = "interactive" // a person waits
	PriorityPlanner     Priority = "planner"     // an agent that others wait for
	PriorityMerge       Priority = "merge"       // mergers and judges
	PriorityWorker      Priority = "worker"
	PriorityBackground  Priority = "background"
)

// Phase is what a session does after an answer.
type Phase string

// Phases. The empty one says nothing.
const (
	PhaseWaiting Phase = "waiting" // for a tool or another agent; it comes back
	PhaseIdle    Phase = "idle"    // alive, nothing is announced
	PhaseEnded   Phase = "ended"   // nobody comes back
)

// Prompt is what a model continues without a chat template: text, or where
// Tokens is not nil exactly those tokens and nothing added.
type Prompt struct {
	Text   string  `json:"text,omitempty"`
	Tokens []int32 `json:"tokens,omitempty"`
}
